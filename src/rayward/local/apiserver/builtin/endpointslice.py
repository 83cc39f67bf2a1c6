"""What kube-apiserver fills in, refuses and shows of EndpointSlices."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, duplicate, invalid, required, too_many
from rayward.kube.machinery.names import check_dns1123_label, check_dns1123_subdomain, check_label_value
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.address import endpoint_ip, is_ipv6, legacy_ip
from rayward.local.apiserver.builtin.check import (
    IMMUTABLE,
    Errors,
    dns_label,
    fits,
    labels,
    one_of,
    one_of_required,
    qualified_name,
)
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, meta_of, name_of
from rayward.local.apiserver.builtin.podspec.container import PROTOCOLS

Spec = Mapping[str, Any]

_SHOWN = 3


def endpointslice_behaviour() -> Behaviour:
    """The rules of ``discovery.k8s.io/v1/endpointslices``."""
    return behaviour(
        "io.k8s.api.discovery.v1.EndpointSlice",
        "discovery.k8s.io/v1/endpointslices",
        cells,
        default=default,
        prepare_update=prepare_update,
        validate=lambda obj: validate(obj, None),
        validate_update=validate,
        counts_generation=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    for port in obj.get("ports") or NO_ITEMS:
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def prepare_update(new: Object, old: Object) -> None:
    """New labels make a new generation too."""
    if (meta_of(new).get("labels") or NOTHING) != (meta_of(old).get("labels") or NOTHING):
        new["metadata"]["generation"] = (meta_of(old).get("generation") or 0) + 1


def validate(obj: Object, old: Object | None) -> list[FieldError]:
    """A slice, new or changed."""
    out: Errors = []
    kind = obj.get("addressType") or ""
    one_of_required(kind, ("FQDN", "IPv4", "IPv6"), "addressType", out)
    _check_ports(obj.get("ports") or NO_ITEMS, out)
    if old is None or obj.get("endpoints") != old.get("endpoints"):
        _check_endpoints(obj.get("endpoints") or NO_ITEMS, kind, out)
    if old is not None and kind != old.get("addressType"):
        out.append(invalid("addressType", kind, IMMUTABLE))
    return out


def _check_ports(ports: Sequence[Spec], out: Errors) -> None:
    if len(ports) > 20000:
        out.append(too_many("ports", len(ports), 20000))
        return
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"ports[{index}]", port.get("name") or ""
        if name:
            dns_label(name, f"{at}.name", out)
        if name in names:
            out.append(duplicate(f"{at}.name", name))
        names.add(name)
        if port.get("protocol") is None:
            out.append(required(f"{at}.protocol"))
        else:
            one_of(port["protocol"], PROTOCOLS, f"{at}.protocol", out)
        if port.get("appProtocol") is not None:
            qualified_name(port["appProtocol"], f"{at}.appProtocol", out)


def _check_endpoints(endpoints: Sequence[Spec], kind: str, out: Errors) -> None:
    if len(endpoints) > 1000:
        out.append(too_many("endpoints", len(endpoints), 1000))
        return
    for index, endpoint in enumerate(endpoints):
        at, addresses = f"endpoints[{index}]", endpoint.get("addresses") or NO_ITEMS
        if not addresses:
            out.append(required(f"{at}.addresses", "must contain at least 1 address"))
        elif len(addresses) > 100:
            out.append(too_many(f"{at}.addresses", len(addresses), 100))
        for number, address in enumerate(addresses):
            _check_address(address, kind, f"{at}.addresses", number, out)
        if endpoint.get("nodeName") is not None:
            fits(check_dns1123_subdomain, endpoint["nodeName"], f"{at}.nodeName", out)
        labels(endpoint.get("deprecatedTopology"), f"{at}.deprecatedTopology", out)
        if endpoint.get("hostname") is not None:
            dns_label(endpoint["hostname"], f"{at}.hostname", out)
        hints = endpoint.get("hints") or NOTHING
        _check_hints(hints.get("forZones") or NO_ITEMS, f"{at}.hints.forZones", out, check_label_value)
        _check_hints(hints.get("forNodes") or NO_ITEMS, f"{at}.hints.forNodes", out, check_dns1123_subdomain)


def _check_address(address: str, kind: str, at: str, number: int, out: Errors) -> None:
    here, count = f"{at}[{number}]", len(out)
    if kind == "FQDN":
        _check_domain(address, here, out)
    elif kind in ("IPv4", "IPv6"):
        legacy_ip(address, here, out)
        if len(out) == count and kind == "IPv6" and address != str(ipaddress.ip_address(address)):
            canonical = ipaddress.ip_address(address)
            out.append(invalid(here, address, f'must be in canonical form ("{canonical}")'))
        if len(out) > count:
            return
        if (kind == "IPv6") != is_ipv6(address):
            out.append(invalid(at, address, f"must be an {kind} address"))
        endpoint_ip(address, here, out)


def _check_domain(name: str, at: str, out: Errors) -> None:
    if not name:
        out.append(required(at))
        return
    bare = name.removesuffix(".")
    messages = check_dns1123_subdomain(bare)
    if messages:
        out += [invalid(at, bare, message) for message in messages]
        return
    if "." not in bare:
        out.append(invalid(at, bare, "should be a domain with at least two segments separated by dots"))
        return
    for label in bare.split("."):
        out += [invalid(at, label, message) for message in check_dns1123_label(label)]


def _check_hints(hints: Sequence[Spec], at: str, out: Errors, check: Any) -> None:
    if len(hints) > 8:
        out.append(too_many(at, len(hints), 8))
        return
    names: set[str] = set()
    for index, hint in enumerate(hints):
        here, name = f"{at}[{index}].name", hint.get("name") or ""
        if name in names:
            out.append(duplicate(here, name))
        names.add(name)
        out += [invalid(here, name, message) for message in check(name)]


def cells(obj: Object, now: float) -> list[Any]:
    """Name, AddressType, Ports, Endpoints, Age."""
    ports = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or NO_ITEMS]
    addresses = [a for endpoint in obj.get("endpoints") or NO_ITEMS for a in endpoint.get("addresses") or NO_ITEMS]
    return [name_of(obj), obj.get("addressType") or "", _some(ports), _some(addresses), age_of(obj, now)]


def _some(values: Sequence[str]) -> str:
    text = ",".join(values[:_SHOWN])
    return f"{text} + {len(values) - _SHOWN} more..." if len(values) > _SHOWN else text or "<unset>"
