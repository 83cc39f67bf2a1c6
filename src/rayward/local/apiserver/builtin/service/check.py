"""What is wrong with a service."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, duplicate, forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_dns1123_subdomain, check_port_number
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.address import endpoint_ip, legacy_cidr, legacy_ip, parse
from rayward.local.apiserver.builtin.check import (
    IMMUTABLE,
    Errors,
    annotation_at,
    dns_label,
    dns_subdomain,
    labels,
    one_of_required,
    port_number_or_name,
    qualified_name,
)
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.inner import duplicated
from rayward.local.apiserver.builtin.kind import meta_of
from rayward.local.apiserver.builtin.service.address import check_address_change, check_addresses
from rayward.local.apiserver.builtin.service.spec import (
    is_externally_accessible,
    is_headless,
    needs_health_check,
    spec_of,
)

Spec = Mapping[str, Any]

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")
HINTS = "service.kubernetes.io/topology-aware-hints"
TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")


def validate(obj: Object) -> list[FieldError]:
    out: Errors = []
    _check(obj, None, out)
    return out


def validate_update(new: Object, old: Object) -> list[FieldError]:
    out: Errors = []
    spec, before = spec_of(new), spec_of(old)
    check_address_change(spec, before, out)
    if spec.get("type") == before.get("type") == "LoadBalancer":
        class_ = spec.get("loadBalancerClass")
        if class_ != before.get("loadBalancerClass"):
            out.append(invalid("spec.loadBalancerClass", class_, "may not change once set"))
    _check_balancer_class(spec, out)
    moved = (spec.get("healthCheckNodePort") or 0) != (before.get("healthCheckNodePort") or 0)
    if moved and needs_health_check(before) and needs_health_check(spec):
        out.append(forbidden("spec.healthCheckNodePort", IMMUTABLE))
    _check(new, old, out)
    return out


def validate_status(new: Object, old: Object) -> list[FieldError]:
    """What a load balancer reports."""
    out: Errors = []
    at = "status.loadBalancer.ingress"
    points: Sequence[Spec] = ((new.get("status") or NOTHING).get("loadBalancer") or NOTHING).get("ingress") or NO_ITEMS
    before: Sequence[Spec] = ((old.get("status") or NOTHING).get("loadBalancer") or NOTHING).get("ingress") or NO_ITEMS
    if spec_of(new).get("type") != "LoadBalancer":
        if points:
            out.append(forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'"))
        return out
    known = {point["ip"] for point in before if point.get("ip")}
    for index, point in enumerate(points):
        _check_ingress_point(point, f"{at}[{index}]", known, out)
    return out


def _check_ingress_point(point: Spec, at: str, known: Collection[str], out: Errors) -> None:
    address, mode, host = point.get("ip") or "", point.get("ipMode"), point.get("hostname") or ""
    if address:
        legacy_ip(address, f"{at}.ip", out, known)
    if mode is None:
        if address:
            out.append(required(f"{at}.ipMode", "must be specified when `ip` is set"))
    elif not address:
        out.append(forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
    elif mode not in ("Proxy", "VIP"):
        out.append(not_supported(f"{at}.ipMode", mode, ["Proxy", "VIP"]))
    if host:
        for message in check_dns1123_subdomain(host):
            out.append(invalid(f"{at}.hostname", host, message))
        if parse(host) is not None:
            out.append(invalid(f"{at}.hostname", host, "must be a DNS name, not an IP address"))


def _check(service: Object, old: Object | None, out: Errors) -> None:
    spec, before = spec_of(service), spec_of(old) if old is not None else None
    annotations: Mapping[str, str] = meta_of(service).get("annotations") or NOTHING
    if HINTS in annotations and annotations.get(TOPOLOGY_MODE, annotations[HINTS]) != annotations[HINTS]:
        text = f"must match annotations[{HINTS}] when both are specified"
        out.append(invalid(annotation_at(TOPOLOGY_MODE), annotations[TOPOLOGY_MODE], text))
    _check_type(spec, out)
    _check_ports(spec, out)
    labels(spec.get("selector"), "spec.selector", out)
    _check_affinity(spec, out)
    check_addresses(spec, before, out)
    for index, address in enumerate(spec.get("externalIPs") or NO_ITEMS):
        count = len(out)
        legacy_ip(address, f"spec.externalIPs[{index}]", out, (before or NOTHING).get("externalIPs") or NO_ITEMS)
        if len(out) == count:
            endpoint_ip(address, f"spec.externalIPs[{index}]", out)
    one_of_required(spec.get("type") or "", TYPES, "spec.type", out)
    _check_repeated_ports(spec, out)
    _check_source_ranges(spec, before, annotations, old, out)
    if spec.get("allocateLoadBalancerNodePorts") is not None and spec.get("type") != "LoadBalancer":
        out.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED))
    if spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        out.append(required("allocateLoadBalancerNodePorts"))
    _check_balancer_class(spec, out)
    _check_traffic(spec, out)


def _check_type(spec: Spec, out: Errors) -> None:
    kind, headless = spec.get("type"), is_headless(spec)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        out.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and headless:
        out.append(invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    if kind != "ExternalName":
        return
    for field in ("clusterIPs", "ipFamilies"):
        if spec.get(field):
            out.append(forbidden(f"spec.{field}", "may not be set for ExternalName services"))
    if spec.get("ipFamilyPolicy") is not None:
        out.append(forbidden("spec.ipFamilyPolicy", "may not be set for ExternalName services"))
    name = (spec.get("externalName") or "").removesuffix(".")
    if name:
        dns_subdomain(name, "spec.externalName", out)
    else:
        out.append(required("spec.externalName"))


def _check_ports(spec: Spec, out: Errors) -> None:
    ports: Sequence[Spec] = spec.get("ports") or NO_ITEMS
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name, number = f"spec.ports[{index}]", port.get("name") or "", port.get("port") or 0
        if not name and len(ports) > 1:
            out.append(required(f"{at}.name"))
        elif name:
            dns_label(name, f"{at}.name", out)
            if name in names:
                out.append(duplicate(f"{at}.name", name))
            names.add(name)
        for message in check_port_number(number):
            out.append(invalid(f"{at}.port", number, message))
        one_of_required(port.get("protocol") or "", PROTOCOLS, f"{at}.protocol", out)
        port_number_or_name(port.get("targetPort", 0), f"{at}.targetPort", out)
        if port.get("appProtocol") is not None:
            qualified_name(port["appProtocol"], f"{at}.appProtocol", out)


def _check_affinity(spec: Spec, out: Errors) -> None:
    affinity, config = spec.get("sessionAffinity") or "", spec.get("sessionAffinityConfig")
    one_of_required(affinity, ("ClientIP", "None"), "spec.sessionAffinity", out)
    at, when = "spec.sessionAffinityConfig", "when session affinity type is ClientIP"
    if affinity == "None" and config is not None:
        out.append(forbidden(at, "must not be set when session affinity is None"))
    if affinity != "ClientIP":
        return
    if config is None:
        out.append(required(at, when))
    elif config.get("clientIP") is None:
        out.append(required(f"{at}.clientIP", when))
    elif config["clientIP"].get("timeoutSeconds") is None:
        out.append(required(f"{at}.clientIP.timeoutSeconds", when))
    elif not 0 < config["clientIP"]["timeoutSeconds"] <= 86400:
        seconds = config["clientIP"]["timeoutSeconds"]
        text = "must be greater than 0 and less than 86400"
        out.append(invalid(f"{at}.clientIP.timeoutSeconds", seconds, text))


def _check_repeated_ports(spec: Spec, out: Errors) -> None:
    ports: Sequence[Spec] = spec.get("ports") or NO_ITEMS
    if spec.get("type") == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                out.append(forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'"))
    nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol") or "", port.get("nodePort") or 0)
        if key[1] and key in nodes:
            out.append(duplicate(f"spec.ports[{index}].nodePort", key[1]))
        nodes.add(key)
    numbers: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol") or "", port.get("port") or 0)
        if key in numbers:
            out.append(duplicated("ServicePort", {"protocol": key[0], "port": key[1]}, f"spec.ports[{index}]"))
        numbers.add(key)


def _check_source_ranges(
    spec: Spec, before: Spec | None, annotations: Mapping[str, str], old: Object | None, out: Errors
) -> None:
    balanced = spec.get("type") == "LoadBalancer"
    ranges: Sequence[str] = spec.get("loadBalancerSourceRanges") or NO_ITEMS
    if ranges:
        at = "spec.LoadBalancerSourceRanges"
        if not balanced:
            out.append(forbidden(at, _ONLY_BALANCED))
        known = {value.strip() for value in (before or NOTHING).get("loadBalancerSourceRanges") or NO_ITEMS}
        for index, value in enumerate(ranges):
            legacy_cidr(value.strip(), f"{at}[{index}]", out, known)
    elif _SOURCE_RANGES in annotations:
        at, value = annotation_at(_SOURCE_RANGES), annotations[_SOURCE_RANGES]
        if not balanced:
            out.append(forbidden(at, _ONLY_BALANCED))
        unchanged = old is not None and (meta_of(old).get("annotations") or NOTHING).get(_SOURCE_RANGES) == value
        for part in value.strip().split(",") if value.strip() and not unchanged else ():
            legacy_cidr(part.strip(), at, out)


def _check_balancer_class(spec: Spec, out: Errors) -> None:
    value = spec.get("loadBalancerClass")
    if value is None:
        return
    if spec.get("type") == "LoadBalancer":
        qualified_name(value, "spec.loadBalancerClass", out)
    else:
        out.append(forbidden("spec.loadBalancerClass", _ONLY_BALANCED))


def _check_traffic(spec: Spec, out: Errors) -> None:
    outside, port = spec.get("externalTrafficPolicy") or "", spec.get("healthCheckNodePort") or 0
    if is_externally_accessible(spec):
        one_of_required(outside, ("Cluster", "Local"), "spec.externalTrafficPolicy", out)
    elif outside:
        text = "may only be set for externally-accessible services"
        out.append(invalid("spec.externalTrafficPolicy", outside, text))
    if not needs_health_check(spec):
        if port:
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            out.append(invalid("spec.healthCheckNodePort", port, text))
    elif not port:
        out.append(required("spec.healthCheckNodePort"))
    else:
        for message in check_port_number(port):
            out.append(invalid("spec.healthCheckNodePort", port, message))
    inside = spec.get("internalTrafficPolicy")
    if inside is None:
        if spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP"):
            out.append(required("spec.internalTrafficPolicy"))
    elif inside not in ("Cluster", "Local"):
        out.append(not_supported("spec.internalTrafficPolicy", inside, ["Cluster", "Local"]))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        out.append(not_supported("spec.trafficDistribution", distribution, list(_DISTRIBUTIONS)))
