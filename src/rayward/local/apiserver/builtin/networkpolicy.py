"""Network policies: stored and served, not enforced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_port_name, check_port_number
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.address import cidr_warnings, legacy_cidr, parse_cidr
from rayward.local.apiserver.builtin.check import Errors, label_selector
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, name_of, selector_text

Spec = Mapping[str, Any]

_DIRECTIONS = (("ingress", "from"), ("egress", "to"))


def networkpolicy_behaviour() -> Behaviour:
    """The rules of ``networking.k8s.io/v1/networkpolicies``."""
    return behaviour(
        "io.k8s.api.networking.v1.NetworkPolicy",
        "networking.k8s.io/v1/networkpolicies",
        cells,
        default=default,
        validate=lambda obj: _check(obj, ()),
        validate_update=lambda new, old: _check(new, list(_cidrs(old))),
        warnings=warnings,
        counts_generation=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a policy."""
    spec = obj.setdefault("spec", {})
    for direction, _ in _DIRECTIONS:
        for rule in spec.get(direction) or NO_ITEMS:
            for port in rule.get("ports") or NO_ITEMS:
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _cidrs(obj: Object) -> Any:
    for direction, peers in _DIRECTIONS:
        for rule in (obj.get("spec") or NOTHING).get(direction) or NO_ITEMS:
            for peer in rule.get(peers) or NO_ITEMS:
                block = peer.get("ipBlock")
                if block is not None:
                    yield block.get("cidr") or ""
                    yield from block.get("except") or NO_ITEMS


def _check(obj: Object, known: Collection[str]) -> list[FieldError]:
    out: Errors = []
    spec = obj.get("spec") or NOTHING
    label_selector(spec.get("podSelector"), "spec.podSelector", out)
    for direction, peers in _DIRECTIONS:
        for index, rule in enumerate(spec.get(direction) or NO_ITEMS):
            at = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports") or NO_ITEMS):
                _check_port(port, f"{at}.ports[{number}]", out)
            for number, peer in enumerate(rule.get(peers) or NO_ITEMS):
                _check_peer(peer, f"{at}.{peers}[{number}]", known, out)
    types = spec.get("policyTypes") or NO_ITEMS
    if len(types) > 2:
        out.append(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"))
        return out
    for index, kind in enumerate(types):
        if kind not in ("Ingress", "Egress"):
            out.append(not_supported(f"spec.policyTypes[{index}]", kind, ["Ingress", "Egress"]))
    return out


def _check_port(port: Spec, at: str, out: Errors) -> None:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in ("TCP", "UDP", "SCTP"):
        out.append(not_supported(f"{at}.protocol", protocol, ["TCP", "UDP", "SCTP"]))
    if isinstance(number, int):
        out += [invalid(f"{at}.port", number, text) for text in check_port_number(number)]
        if end is not None:
            if end < number:
                out.append(invalid(f"{at}.endPort", number, "must be greater than or equal to `port`"))
            out += [invalid(f"{at}.endPort", end, text) for text in check_port_number(end)]
    elif number is not None:
        if end is not None:
            out.append(invalid(f"{at}.endPort", end, "may not be specified when `port` is non-numeric"))
        out += [invalid(f"{at}.port", number, text) for text in check_port_name(number)]
    elif end is not None:
        out.append(invalid(f"{at}.endPort", end, "may not be specified when `port` is not specified"))


def _check_peer(peer: Spec, at: str, known: Collection[str], out: Errors) -> None:
    label_selector(peer.get("podSelector"), f"{at}.podSelector", out)
    label_selector(peer.get("namespaceSelector"), f"{at}.namespaceSelector", out)
    block = peer.get("ipBlock")
    if block is not None:
        _check_block(block, f"{at}.ipBlock", known, out)
    count = sum(peer.get(field) is not None for field in ("podSelector", "namespaceSelector", "ipBlock"))
    if not count:
        out.append(required(at, "must specify a peer"))
    elif count > 1 and block is not None:
        out.append(forbidden(at, "may not specify both ipBlock and another peer"))


def _check_block(block: Spec, at: str, known: Collection[str], out: Errors) -> None:
    whole = block.get("cidr") or ""
    if not whole:
        out.append(required(f"{at}.cidr"))
        return
    legacy_cidr(whole, f"{at}.cidr", out, known)
    outer = parse_cidr(whole)
    if outer is None:
        return
    for index, part in enumerate(block.get("except") or NO_ITEMS):
        here = f"{at}.except[{index}]"
        legacy_cidr(part, here, out, known)
        inner = parse_cidr(part)
        if inner is None:
            continue
        network, part_network = outer[1], inner[1]
        inside = network.version == part_network.version and part_network.network_address in network
        if not inside or network.prefixlen >= part_network.prefixlen:
            out.append(invalid(here, part, "must be a strict subset of `cidr`"))


def warnings(new: Object, _old: Object | None) -> list[str]:
    """Doubts about address ranges."""
    found: list[str] = []
    for direction, peers in _DIRECTIONS:
        for index, rule in enumerate((new.get("spec") or NOTHING).get(direction) or NO_ITEMS):
            for number, peer in enumerate(rule.get(peers) or NO_ITEMS):
                block, at = peer.get("ipBlock"), f"spec.{direction}[{index}].{peers}[{number}].ipBlock"
                if block is None:
                    continue
                found += cidr_warnings(block.get("cidr") or "", f"{at}.cidr")
                for position, part in enumerate(block.get("except") or NO_ITEMS):
                    found += cidr_warnings(part, f"{at}.except[{position}]")
    return found


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Pod-Selector, Age."""
    return [name_of(obj), selector_text((obj.get("spec") or NOTHING).get("podSelector") or NOTHING), age_of(obj, now)]
