"""What kube-apiserver fills in, refuses and shows of Services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.names import label_name
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.address import cidr_warnings, ip_warnings
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import (
    age_of,
    behaviour,
    keep_spec,
    keep_status,
    labels_text,
    meta_of,
    name_of,
)
from rayward.local.apiserver.builtin.service.check import (
    HINTS,
    TOPOLOGY_MODE,
    validate,
    validate_status,
    validate_update,
)
from rayward.local.apiserver.builtin.service.spec import (
    is_externally_accessible,
    needs_cluster_ip,
    needs_health_check,
    needs_node_port,
    node_ports,
    spec_of,
)

Spec = Mapping[str, Any]


def service_behaviour() -> Behaviour:
    """The rules of ``v1/services``."""
    return behaviour(
        "io.k8s.api.core.v1.Service",
        "v1/services",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=validate_update,
        validate_status=validate_status,
        check_name=label_name,
        warnings=warnings,
        fields=fields,
        selectable=frozenset({"spec.clusterIP", "spec.type"}),
        has_status=True,
        create_on_update=True,
        returns_deleted=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a service."""
    spec = obj.setdefault("spec", {})
    fill = spec.setdefault
    affinity = fill("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = spec.get("sessionAffinityConfig") or NOTHING
        if (config.get("clientIP") or NOTHING).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
    kind = fill("type", "ClusterIP")
    for port in spec.get("ports") or NO_ITEMS:
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port") or 0
    if is_externally_accessible(spec):
        fill("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        fill("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        fill("allocateLoadBalancerNodePorts", True)
        for point in ((obj.get("status") or NOTHING).get("loadBalancer") or NOTHING).get("ingress") or NO_ITEMS:
            if point.get("ip"):
                point.setdefault("ipMode", "VIP")


def prepare_create(obj: Object) -> None:
    """A new service has no status of its own."""
    obj["status"] = {"loadBalancer": {}}
    _forget_inside_traffic(obj["spec"])


def _forget_inside_traffic(spec: Object) -> None:
    """A name elsewhere has no traffic inside, so the field is never shown; a bad value is still refused."""
    if spec.get("type") == "ExternalName" and spec.get("internalTrafficPolicy") in ("Cluster", "Local"):
        del spec["internalTrafficPolicy"]


def prepare_update(new: Object, old: Object) -> None:
    """Forget what a former type needed, unless the writer changed it too."""
    keep_status(new, old)
    spec, before = new["spec"], spec_of(old)
    _forget_inside_traffic(spec)
    if needs_cluster_ip(before) and not needs_cluster_ip(spec):
        if _same(spec, before, "clusterIP", "clusterIPs"):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for field in ("ipFamilies", "ipFamilyPolicy"):
            if _same(spec, before, field):
                spec.pop(field, None)
    if needs_node_port(before) and not needs_node_port(spec) and set(node_ports(spec)) <= set(node_ports(before)):
        for port in spec.get("ports") or NO_ITEMS:
            port.pop("nodePort", None)
    if needs_health_check(before) and not needs_health_check(spec) and _same(spec, before, "healthCheckNodePort"):
        spec.pop("healthCheckNodePort", None)
    if before.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        for field in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if field in before and _same(spec, before, field):
                spec.pop(field, None)
    was_outside = is_externally_accessible(before)
    if was_outside and not is_externally_accessible(spec) and _same(spec, before, "externalTrafficPolicy"):
        spec.pop("externalTrafficPolicy", None)
    if spec.get("type") != "LoadBalancer":
        new["status"] = {**(new.get("status") or NOTHING), "loadBalancer": {}}


def _same(spec: Spec, before: Spec, *fields: str) -> bool:
    return all(spec.get(field) == before.get(field) for field in fields)


def warnings(new: Object, _old: Object | None) -> list[str]:
    """Doubts about a service."""
    spec, found = spec_of(new), list[str]()
    kind, outside = spec.get("type"), spec.get("externalIPs") or NO_ITEMS
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if HINTS in (meta_of(new).get("annotations") or NOTHING):
        found.append(f"annotation {HINTS} is deprecated, please use {TOPOLOGY_MODE} instead")
    if spec.get("clusterIP") not in (None, "", "None"):
        for index, address in enumerate(spec.get("clusterIPs") or NO_ITEMS):
            found += ip_warnings(address, f"spec.clusterIPs[{index}]")
    if headless:
        if spec.get("loadBalancerIP"):
            found.append("spec.loadBalancerIP is ignored for headless services")
        if outside:
            found.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            found.append("spec.SessionAffinity is ignored for headless services")
    for index, address in enumerate(outside):
        found += ip_warnings(address, f"spec.externalIPs[{index}]")
    if outside and not headless and kind != "ExternalName":
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        found += ip_warnings(spec["loadBalancerIP"], "spec.loadBalancerIP")
    for index, value in enumerate(spec.get("loadBalancerSourceRanges") or NO_ITEMS):
        found += cidr_warnings(value, f"spec.loadBalancerSourceRanges[{index}]")
    if kind == "ExternalName" and outside:
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if kind != "ExternalName" and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def fields(obj: Object) -> dict[str, str]:
    """What services can be selected by."""
    spec = spec_of(obj)
    return {"spec.clusterIP": spec.get("clusterIP") or "", "spec.type": spec.get("type") or ""}


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector."""
    spec = spec_of(obj)
    addresses = spec.get("clusterIPs") or NO_ITEMS
    return [
        name_of(obj),
        spec.get("type") or "",
        addresses[0] if addresses else "<none>",
        _outside(obj, spec),
        ",".join(map(_port, spec.get("ports") or NO_ITEMS)) or "<none>",
        age_of(obj, now),
        labels_text(spec.get("selector")),
    ]


def _port(port: Spec) -> str:
    number = str(port.get("port") or 0)
    if port.get("nodePort"):
        number = f"{number}:{port['nodePort']}"
    return f"{number}/{port.get('protocol') or ''}"


def balancer_points(obj: Spec) -> Sequence[Spec]:
    """Where a load balancer says that it can be reached."""
    return ((obj.get("status") or NOTHING).get("loadBalancer") or NOTHING).get("ingress") or NO_ITEMS


def balancer_addresses(obj: Spec) -> str:
    """Where a load balancer can be reached, in one line."""
    points = balancer_points(obj)
    addresses = {point.get("ip") or point.get("hostname") or "" for point in points}
    return ",".join(sorted(addresses - {""}))


def _outside(obj: Object, spec: Spec) -> str:
    kind, outside = spec.get("type"), spec.get("externalIPs") or NO_ITEMS
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(outside) or "<none>"
    if kind == "LoadBalancer":
        balanced = balancer_addresses(obj)
        return ",".join([*([balanced] if balanced else []), *outside]) or "<pending>"
    return (spec.get("externalName") or "") if kind == "ExternalName" else "<unknown>"
