"""What kube-apiserver fills in, refuses and shows of Ingresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid, not_supported, required
from rayward.kube.machinery.names import (
    check_dns1123_label,
    check_dns1123_subdomain,
    check_path_segment,
    check_port_name,
    check_port_number,
    check_wildcard_dns1123_subdomain,
)
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.address import legacy_ip, parse
from rayward.local.apiserver.builtin.check import Errors, fits
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, keep_spec, keep_status, meta_of, name_of
from rayward.local.apiserver.builtin.service.strategy import balancer_addresses

Spec = Mapping[str, Any]

_CLASS = "kubernetes.io/ingress.class"
_PATH_TYPES = ["Exact", "ImplementationSpecific", "Prefix"]
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_SHOWN = 3


def ingress_behaviour() -> Behaviour:
    """The rules of ``networking.k8s.io/v1/ingresses``."""
    return behaviour(
        "io.k8s.api.networking.v1.Ingress",
        "networking.k8s.io/v1/ingresses",
        cells,
        prepare_create=prepare_create,
        prepare_update=keep_status,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=lambda new, _old: check_spec(new.get("spec") or NOTHING),
        validate_status=validate_status,
        warnings=warnings,
        has_status=True,
        counts_generation=True,
        kube_finalizers=True,
    )


def prepare_create(obj: Object) -> None:
    """A new ingress has no status of its own."""
    obj["status"] = {"loadBalancer": {}}


def validate(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or NOTHING
    out = check_spec(spec)
    annotation, name = (meta_of(obj).get("annotations") or NOTHING).get(_CLASS), spec.get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        text = "must match `ingressClassName` when both are specified"
        out.append(invalid(f"annotations.{_CLASS}", annotation, text))
    return out


def check_spec(spec: Spec) -> list[FieldError]:
    out: Errors = []
    rules, backend = spec.get("rules"), spec.get("defaultBackend")
    if not rules and backend is None:
        out.append(invalid("spec", rules, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        _check_backend(backend, "spec.defaultBackend", out)
    for index, rule in enumerate(rules or NO_ITEMS):
        _check_rule(rule, f"spec.rules[{index}]", out)
    for index, tls in enumerate(spec.get("tls") or NO_ITEMS):
        for number, host in enumerate(tls.get("hosts") or NO_ITEMS):
            _check_host(host, f"spec.tls[{index}].hosts[{number}]", out)
        if tls.get("secretName"):
            fits(check_dns1123_subdomain, tls["secretName"], f"spec.tls[{index}].secretName", out)
    if spec.get("ingressClassName") is not None:
        fits(check_dns1123_subdomain, spec["ingressClassName"], "spec.ingressClassName", out)
    return out


def _check_host(host: str, at: str, out: Errors) -> None:
    fits(check_wildcard_dns1123_subdomain if "*" in host else check_dns1123_subdomain, host, at, out)


def _check_rule(rule: Spec, at: str, out: Errors) -> None:
    host = rule.get("host") or ""
    if host:
        if parse(host) is not None:
            out.append(invalid(f"{at}.host", host, "must be a DNS name, not an IP address"))
        _check_host(host, f"{at}.host", out)
    if rule.get("http") is None:
        return
    paths = rule["http"].get("paths") or NO_ITEMS
    if not paths:
        out.append(required(f"{at}.http.paths"))
    for index, path in enumerate(paths):
        _check_path(path, f"{at}.http.paths[{index}]", out)


def _check_path(entry: Spec, at: str, out: Errors) -> None:
    kind, path = entry.get("pathType"), entry.get("path") or ""
    if kind is None:
        out.append(required(f"{at}.pathType", "pathType must be specified"))
        return
    if kind in ("Exact", "Prefix"):
        if not path.startswith("/"):
            out.append(invalid(f"{at}.path", path, "must be an absolute path"))
        for bad in _BAD_SEQUENCES:
            if bad in path:
                out.append(invalid(f"{at}.path", path, f"must not contain '{bad}'"))
        for bad in _BAD_ENDS:
            if path.endswith(bad):
                out.append(invalid(f"{at}.path", path, f"cannot end with '{bad}'"))
    elif kind == "ImplementationSpecific":
        if path and not path.startswith("/"):
            out.append(invalid(f"{at}.path", path, "must be an absolute path"))
    else:
        out.append(not_supported(f"{at}.pathType", kind, _PATH_TYPES))
    _check_backend(entry.get("backend") or NOTHING, f"{at}.backend", out)


def _check_backend(backend: Spec, at: str, out: Errors) -> None:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        out.append(invalid(at, "", "cannot set both resource and service backends"))
    elif resource is not None:
        _check_reference(resource, f"{at}.resource", out)
    elif service is not None:
        _check_service(service, at, out)
    else:
        out.append(invalid(at, "", "resource or service backend is required"))


def _check_reference(reference: Spec, at: str, out: Errors) -> None:
    if reference.get("apiGroup") is not None:
        fits(check_dns1123_subdomain, reference["apiGroup"], f"{at}.apiGroup", out)
    for field in ("kind", "name"):
        if not reference.get(field):
            out.append(required(f"{at}.{field}"))
        else:
            fits(check_path_segment, reference[field], f"{at}.{field}", out)


def _check_service(service: Spec, at: str, out: Errors) -> None:
    if not service.get("name"):
        out.append(required(f"{at}.service.name"))
    else:
        fits(check_dns1123_label, service["name"], f"{at}.service.name", out)
    port = service.get("port") or NOTHING
    name, number = port.get("name"), port.get("number")
    if name and number:
        out.append(invalid(at, "", "cannot set both port name & port number"))
    elif name:
        fits(check_port_name, name, f"{at}.service.port.name", out)
    elif number:
        out += [invalid(f"{at}.service.port.number", number, text) for text in check_port_number(number)]
    else:
        out.append(required(at, "port name or number is required"))


def validate_status(new: Object, old: Object) -> list[FieldError]:
    """What a load balancer reports."""
    out: Errors = []
    at = "status.loadBalancer.ingress"
    points, before = (
        ((o.get("status") or NOTHING).get("loadBalancer") or NOTHING).get("ingress") or NO_ITEMS for o in (new, old)
    )
    known = {point["ip"] for point in before if point.get("ip")}
    for index, point in enumerate(points):
        if point.get("ip"):
            legacy_ip(point["ip"], f"{at}[{index}].ip", out, known)
        host = point.get("hostname")
        if host:
            fits(check_dns1123_subdomain, host, f"{at}[{index}].hostname", out)
            if parse(host) is not None:
                out.append(invalid(f"{at}[{index}].hostname", host, "must be a DNS name, not an IP address"))
    return out


def warnings(new: Object, old: Object | None) -> list[str]:
    """Doubts about an ingress."""
    if old is None and _CLASS in (meta_of(new).get("annotations") or NOTHING):
        return [f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Class, Hosts, Address, Ports, Age."""
    spec = obj.get("spec") or NOTHING
    return [
        name_of(obj),
        spec.get("ingressClassName", "<none>"),
        _hosts(spec.get("rules") or NO_ITEMS),
        balancer_addresses(obj),
        "80, 443" if spec.get("tls") else "80",
        age_of(obj, now),
    ]


def _hosts(rules: Any) -> str:
    shown: list[str] = []
    more = False
    for rule in rules:
        more = more or len(shown) == _SHOWN
        if not more and rule.get("host"):
            shown.append(rule["host"])
    text = ",".join(shown) or "*"
    return f"{text} + {len(rules) - _SHOWN} more..." if more else text
