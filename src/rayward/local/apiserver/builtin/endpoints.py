"""Endpoints, the older form of endpoint slices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid, required
from rayward.kube.machinery.names import check_dns1123_subdomain, check_port_number
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.address import endpoint_ip, ip_warnings, legacy_ip
from rayward.local.apiserver.builtin.check import Errors, dns_label, fits, one_of_required, qualified_name
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, meta_of, name_of
from rayward.local.apiserver.builtin.podspec.container import PROTOCOLS

Spec = Mapping[str, Any]

_SHOWN = 3


def endpoints_behaviour() -> Behaviour:
    """The rules of ``v1/endpoints``."""
    return behaviour(
        "io.k8s.api.core.v1.Endpoints",
        "v1/endpoints",
        cells,
        default=default,
        validate=validate,
        validate_update=lambda new, old: [] if new.get("subsets") == old.get("subsets") else validate(new),
        warnings=warnings,
        create_on_update=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    for subset in obj.get("subsets") or NO_ITEMS:
        for port in subset.get("ports") or NO_ITEMS:
            port.setdefault("protocol", "TCP")


def validate(obj: Object) -> list[FieldError]:
    """Endpoints, new or changed."""
    out: Errors = []
    for index, subset in enumerate(obj.get("subsets") or NO_ITEMS):
        at, ports = f"subsets[{index}]", subset.get("ports") or NO_ITEMS
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            out.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field) or NO_ITEMS):
                _check_address(address, f"{at}.{field}[{number}]", out)
        for number, port in enumerate(ports):
            _check_port(port, f"{at}.ports[{number}]", out, needs_name=len(ports) > 1)
    return out


def _check_address(address: Spec, at: str, out: Errors) -> None:
    ip = address.get("ip") or ""
    legacy_ip(ip, f"{at}.ip", out)
    if address.get("hostname"):
        dns_label(address["hostname"], f"{at}.hostname", out)
    if address.get("nodeName") is not None:
        fits(check_dns1123_subdomain, address["nodeName"], f"{at}.nodeName", out)
    endpoint_ip(ip, f"{at}.ip", out)


def _check_port(port: Spec, at: str, out: Errors, *, needs_name: bool) -> None:
    name, number = port.get("name") or "", port.get("port") or 0
    if name:
        dns_label(name, f"{at}.name", out)
    elif needs_name:
        out.append(required(f"{at}.name"))
    for message in check_port_number(number):
        out.append(invalid(f"{at}.port", number, message))
    one_of_required(port.get("protocol") or "", PROTOCOLS, f"{at}.protocol", out)
    if port.get("appProtocol") is not None:
        qualified_name(port["appProtocol"], f"{at}.appProtocol", out)


def warnings(new: Object, _old: Object | None) -> list[str]:
    """Doubts about addresses; a controller's own are trusted."""
    if (meta_of(new).get("labels") or NOTHING).get("endpoints.kubernetes.io/managed-by") == "endpoint-controller":
        return []
    found: list[str] = []
    for index, subset in enumerate(new.get("subsets") or NO_ITEMS):
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field) or NO_ITEMS):
                found += ip_warnings(address.get("ip") or "", f"subsets[{index}].{field}[{number}].ip")
    return found


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Endpoints, Age."""
    return [name_of(obj), _addresses(obj), age_of(obj, now)]


def _addresses(obj: Object) -> str:
    subsets = obj.get("subsets") or NO_ITEMS
    if not subsets:
        return "<none>"
    shown: list[str] = []
    for subset in subsets:
        addresses = [address.get("ip") or "" for address in subset.get("addresses") or NO_ITEMS]
        ports = subset.get("ports") or NO_ITEMS
        if not ports:
            shown += addresses
        for port in ports:
            shown += [_joined(address, port.get("port") or 0) for address in addresses]
    text = ",".join(shown[:_SHOWN])
    return f"{text} + {len(shown) - _SHOWN} more..." if len(shown) > _SHOWN else text


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
