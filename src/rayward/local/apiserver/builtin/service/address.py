"""The cluster IPs of a service and their families."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import duplicate, invalid, not_supported, required
from rayward.local.apiserver.builtin.address import is_dual_stack, is_ipv6, legacy_ip
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.service.spec import is_headless

Spec = Mapping[str, Any]

FAMILIES = ("IPv4", "IPv6")
POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_ONCE = "may not change once set"


def check_addresses(spec: Spec, before: Spec | None, out: Errors) -> None:
    """Addresses and families fit together."""
    if spec.get("type") == "ExternalName":
        return
    addresses: list[str] = spec.get("clusterIPs") or []
    first = spec.get("clusterIP") or ""
    if first and not addresses:
        out.append(required("spec.clusterIPs"))
    elif first and addresses[0] != first:
        out.append(invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`"))
    elif not first and addresses:
        out.append(invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified"))
    _check_families(spec, out)
    known = (before or NOTHING).get("clusterIPs") or NO_ITEMS
    bad = False
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                bad = True
                out.append(invalid("spec.clusterIPs", addresses, "'None' must be the first and only value"))
            continue
        count = len(out)
        legacy_ip(address, f"spec.clusterIPs[{index}]", out, known)
        bad = bad or len(out) > count
    if len(addresses) > 2:
        out.append(invalid("spec.clusterIPs", addresses, "may only hold up to 2 values"))
    if bad:
        return
    if len(addresses) > 1 and not is_dual_stack(addresses):
        out.append(invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family"))
    if is_headless(spec):
        return
    for index, (address, family) in enumerate(zip(addresses, spec.get("ipFamilies") or NO_ITEMS, strict=False)):
        if family in FAMILIES and (family == "IPv6") != is_ipv6(address):
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            out.append(invalid(f"spec.clusterIPs[{index}]", address, text))


def _check_families(spec: Spec, out: Errors) -> None:
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or NO_ITEMS):
        if family not in FAMILIES:
            out.append(not_supported(f"spec.ipFamilies[{index}]", family, list(FAMILIES)))
        if family in seen:
            out.append(duplicate(f"spec.ipFamilies[{index}]", family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        out.append(not_supported("spec.ipFamilyPolicy", policy, list(POLICIES)))


def check_address_change(spec: Spec, before: Spec, out: Errors) -> None:
    """Addresses stay; a second one may come and go."""
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    headless, was_headless = is_headless(spec), is_headless(before)
    if not (headless and was_headless):
        _check_address_list(spec, before, out)
    if not headless and not was_headless:
        _check_family_list(spec, before, out)


def _check_address_list(spec: Spec, before: Spec, out: Errors) -> None:
    now: list[str] = spec.get("clusterIPs") or []
    then: list[str] = before.get("clusterIPs") or []
    if len(now) == len(then):
        for index, address in enumerate(then):
            if address != now[index]:
                out.append(invalid(f"spec.clusterIPs[{index}]", now, _ONCE))
        return
    if len(now) < len(then):
        if not now:
            out.append(invalid("spec.clusterIPs[0]", now, "primary clusterIP can not be unset"))
        elif now[0] != then[0]:
            out.append(invalid("spec.clusterIPs[0]", now, _ONCE))
        if len(now) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
            text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
            out.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), text))
    elif then and now[0] != then[0]:
        out.append(invalid("spec.clusterIPs[0]", now, _ONCE))


def _check_family_list(spec: Spec, before: Spec, out: Errors) -> None:
    now: list[str] = spec.get("ipFamilies") or []
    then: list[str] = before.get("ipFamilies") or []
    addresses: list[str] = spec.get("clusterIPs") or []
    if len(now) == len(then):
        for index, family in enumerate(then):
            if family != now[index]:
                out.append(invalid("spec.ipFamilies[0]", now, _ONCE))
    elif len(now) < len(then):
        if not addresses:
            out.append(invalid("spec.ipFamilies[0]", now, "primary ipFamily can not be unset"))
        if now and now[0] != then[0]:
            out.append(invalid("spec.ipFamilies[0]", addresses, _ONCE))
        if len(now) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
            text = "must be set to 'SingleStack' when releasing the secondary ipFamily"
            out.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), text))
    elif then and now and now[0] != then[0]:
        out.append(invalid("spec.ipFamilies[0]", addresses, _ONCE))
