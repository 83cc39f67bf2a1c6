"""Cluster IPs and node ports: what only the server can give to a service."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.address import is_ipv6, parse
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.service.address import check_addresses
from rayward.local.apiserver.builtin.service.spec import (
    allocates_node_ports,
    needs_cluster_ip,
    needs_health_check,
    needs_node_port,
    node_ports,
    spec_of,
)

Spec = Mapping[str, Any]
Pick = Callable[[int], int]
"""A random number below the given one."""

FIRST_PORT, LAST_PORT = 30000, 32767


class NotAssigned(Exception):  # noqa: N818
    """The service cannot have what it asks for; the errors are for an Invalid Status."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = errors


class Exhausted(Exception):  # noqa: N818
    """Nothing is left to give; the text is for an InternalError Status."""


@dataclass(frozen=True, slots=True)
class Pool:
    """What is given out, and what is in use by services other than the one at hand."""

    network: ipaddress.IPv4Network
    pick: Pick
    taken_ips: frozenset[str] | set[str] = frozenset()
    taken_ports: frozenset[int] | set[int] = frozenset()
    dry_run: bool = False
    _given: set[int] = field(default_factory=set[int])

    def ip(self) -> str:
        """A free address, from the part of the network that is not meant for fixed ones."""
        if self.dry_run:
            return str(self.network.network_address)
        size = self.network.num_addresses - 2
        fixed = min(max(16, self.network.num_addresses // 16), 256)
        for low, high in ((min(fixed, size), size), (0, size)):
            start = self.pick(high - low) if high > low else 0
            for step in range(high - low):
                address = str(self.network.network_address + 1 + low + (start + step) % (high - low))
                if address not in self.taken_ips:
                    return address
        raise Exhausted("range is full")

    def refuse_ip(self, text: str) -> str:
        """Why an address cannot be given; empty if it can."""
        address = parse(text)
        last = self.network.broadcast_address
        if address is None or address not in self.network or address in (self.network.network_address, last):
            if not self.dry_run:
                return "the provided network does not match the current range"
            return f"the provided IP ({text}) is not in the valid range. The range of valid IPs is {self.network}"
        return "" if self.dry_run or text not in self.taken_ips else "provided IP is already allocated"

    def port(self) -> int:
        """A free node port."""
        if self.dry_run:
            port = max(self._given, default=LAST_PORT + 1) + 1
            self._given.add(port)
            return port
        count = LAST_PORT - FIRST_PORT + 1
        start = self.pick(count)
        for step in range(count):
            port = FIRST_PORT + (start + step) % count
            if port not in self.taken_ports and port not in self._given:
                self._given.add(port)
                return port
        raise Exhausted("range is full")

    def refuse_port(self, port: int) -> str:
        """Why a node port cannot be given; empty if it can."""
        if self.dry_run and port not in self._given:
            self._given.add(port)
            return ""
        if not self.dry_run and not FIRST_PORT <= port <= LAST_PORT:
            return f"provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{LAST_PORT}"
        if port in self.taken_ports or port in self._given:
            return "provided port is already allocated"
        self._given.add(port)
        return ""


def assign(new: Object, old: Spec | None, pool: Pool) -> None:
    """Give a new or changed service its addresses and ports, in place.

    Raises:
        NotAssigned: what it asks for is in use, out of range or of the wrong family.
        Exhausted: nothing is left.
    """
    spec = new.setdefault("spec", {})
    before = spec_of(old) if old is not None else None
    if before is not None:
        _keep_assigned(spec, before)
    _settle_addresses(spec, before)
    _settle_families(spec, before)
    if before is None or (not needs_cluster_ip(before) and needs_cluster_ip(spec)):
        _assign_ip(spec, pool)
    _assign_ports(spec, before, pool)
    if needs_health_check(spec) and not (before is not None and needs_health_check(before)):
        _assign_health_port(spec, pool)


def _keep_assigned(spec: Object, before: Spec) -> None:
    if needs_cluster_ip(before) and needs_cluster_ip(spec):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
    if needs_node_port(before) and needs_node_port(spec):
        used = set(node_ports(before)) & set(node_ports(spec))
        known = {port.get("name") or "": port.get("nodePort") or 0 for port in before.get("ports") or NO_ITEMS}
        for port in spec.get("ports") or NO_ITEMS:
            former = known.get(port.get("name") or "", 0)
            if not port.get("nodePort") and former and former not in used:
                port["nodePort"] = former
    port = before.get("healthCheckNodePort")
    if port and needs_health_check(before) and needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = port


def _settle_addresses(spec: Object, before: Spec | None) -> None:
    """``clusterIP`` and ``clusterIPs`` say the same, whichever the writer set."""
    first, all_ = spec.get("clusterIP") or "", spec.get("clusterIPs") or NO_ITEMS
    if before is None:
        if first and not all_:
            spec["clusterIPs"] = [first]
        return
    former, former_all = before.get("clusterIP") or "", before.get("clusterIPs") or NO_ITEMS
    if former_all and not all_ and former == first:
        spec["clusterIPs"] = all_ = former_all
    if former == first or all_ != former_all:
        return
    if former and not first:
        spec.pop("clusterIPs", None)
    else:
        spec["clusterIPs"] = [first]


def _settle_families(spec: Object, before: Spec | None) -> None:
    if not needs_cluster_ip(spec):
        return
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        inherited = (before or NOTHING).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = inherited or ("RequireDualStack" if headless else "SingleStack")
    out: Errors = []
    check_addresses(spec, before, out)
    if out:
        raise NotAssigned(out)
    policy = spec["ipFamilyPolicy"]
    addresses: list[str] = list(spec.get("clusterIPs") or NO_ITEMS)
    families: list[str] = list(spec.get("ipFamilies") or NO_ITEMS)
    if before is not None and policy == "SingleStack":
        addresses, families = _released(spec, before, addresses, families)
    elif before is not None:
        for name, now, then in (
            ("cluster IP", addresses, before.get("clusterIPs") or NO_ITEMS),
            ("IP family", families, before.get("ipFamilies") or NO_ITEMS),
        ):
            if now and len(now) < len(then):
                text = f"must be 'SingleStack' to release the secondary {name}"
                out.append(invalid("spec.ipFamilyPolicy", policy, text))
    if policy == "SingleStack":
        for name, values in (("cluster IPs", addresses), ("IP families", families)):
            if len(values) == 2:
                text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {name} are specified"
                out.append(invalid("spec.ipFamilyPolicy", policy, text))
    for index, address in enumerate(addresses[len(families) :] if addresses[:1] != ["None"] else ()):
        if is_ipv6(address):
            here = f"spec.clusterIPs[{len(families) + index}]"
            out.append(invalid(here, addresses, "IPv6 is not configured on this cluster"))
        else:
            families.append("IPv4")
    if out:
        raise NotAssigned(out)
    if headless:
        families = families or ["IPv4"]
        if len(families) < 2 and policy != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        spec["ipFamilies"] = families
        return
    if policy == "RequireDualStack":
        out.append(invalid("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services"))
    for index, family in enumerate(families):
        if family != "IPv4":
            out.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    if out:
        raise NotAssigned(out)
    spec["ipFamilies"] = families or ["IPv4"]


def _released(spec: Object, before: Spec, addresses: list[str], families: list[str]) -> tuple[list[str], list[str]]:
    """A service that goes back to one family gives up the second address."""
    if len(addresses) > 1 and addresses == before.get("clusterIPs"):
        addresses = spec["clusterIPs"] = addresses[:1]
    if len(families) > 1 and families == before.get("ipFamilies"):
        families = families[:1]
    return addresses, families


def _assign_ip(spec: Object, pool: Pool) -> None:
    addresses: list[str] = spec.get("clusterIPs") or []
    if not needs_cluster_ip(spec) or addresses[:1] == ["None"]:
        return
    if not addresses:
        spec["clusterIP"] = pool.ip()
        spec["clusterIPs"] = [spec["clusterIP"]]
        return
    problem = pool.refuse_ip(addresses[0])
    if problem:
        text = f"failed to allocate IP {addresses[0]}: {problem}"
        raise NotAssigned([invalid("spec.clusterIPs", addresses, text)])


def _assign_ports(spec: Object, before: Spec | None, pool: Pool) -> None:
    if not needs_node_port(spec):
        return
    former = set(node_ports(before or NOTHING))
    by_number: dict[int, int] = {}
    for index, port in enumerate(spec.get("ports") or NO_ITEMS):
        number, node = port.get("port") or 0, port.get("nodePort") or 0
        if not node and not allocates_node_ports(spec):
            continue
        if before is None:
            # One service port with several protocols uses one node port.
            node = node or by_number.get(number) or _asked_for(spec, number)
            known = node == by_number.get(number)
        else:
            known = node in former or node in by_number.values()
        if not node:
            node = pool.port()
        elif not known:
            problem = pool.refuse_port(node)
            if problem:
                raise NotAssigned([invalid(f"spec.ports[{index}].nodePort", node, problem)])
        port["nodePort"] = by_number[number] = node


def _asked_for(spec: Spec, number: int) -> int:
    ports = spec.get("ports") or NO_ITEMS
    return next((p["nodePort"] for p in ports if p.get("port") == number and p.get("nodePort")), 0)


def _assign_health_port(spec: Object, pool: Pool) -> None:
    port = spec.get("healthCheckNodePort") or 0
    if not port:
        spec["healthCheckNodePort"] = pool.port()
        return
    problem = pool.refuse_port(port)
    if problem:
        raise Exhausted(f"failed to allocate requested HealthCheck NodePort {port}: {problem}")
