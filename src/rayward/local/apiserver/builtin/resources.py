"""Names and amounts of resources: cpu, memory, storage, huge pages, what devices offer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, Reason, duplicate, forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_qualified_name
from rayward.kube.machinery.quantity import ZERO, Quantity, QuantityError, parse
from rayward.kube.machinery.resourcenames import is_extended, is_huge_page, is_native
from rayward.local.apiserver.builtin.check import NEGATIVE, Errors, dns_label
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING

Spec = Mapping[str, Any]
NameCheck = Callable[[str, str, Errors], None]

_QUOTA_COUNTED = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
_QUOTA_MEASURED = frozenset(
    {
        "cpu",
        "ephemeral-storage",
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
        "requests.storage",
    }
)
QUOTA_NAMES = _QUOTA_COUNTED | _QUOTA_MEASURED
_STANDARD = QUOTA_NAMES | {"storage"}
_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def is_whole(value: str) -> bool:
    """Whether an amount has no fraction."""
    return parse(value).milli() % 1000 == 0


def can_be_overcommitted(name: str) -> bool:
    """Whether limits may exceed requests."""
    return is_native(name) and not is_huge_page(name)


def is_quota_name(name: str) -> bool:
    """Whether a quota without a domain may name it."""
    return name in QUOTA_NAMES or name.startswith(_HUGE_PAGES)


def check_name(name: str, at: str, out: Errors) -> bool:
    """A resource that is standard or has a domain; says whether the text was a name at all."""
    messages = check_qualified_name(name)
    for message in messages:
        out.append(invalid(at, name, message))
    if messages:
        return False
    if "/" not in name and name not in _STANDARD and not name.startswith(_HUGE_PAGES):
        out.append(invalid(at, name, "must be a standard resource type or fully qualified"))
        return False
    return True


def check_container_name(name: str, at: str, out: Errors) -> None:
    """A resource that a container may ask for."""
    if name in _OF_CONTAINERS:
        return
    check_name(name, at, out)
    if "/" not in name:
        if not is_huge_page(name):
            out.append(invalid(at, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        out.append(invalid(at, name, "doesn't follow extended resource name standard"))


def check_pod_name(name: str, at: str, out: Errors) -> None:
    """A resource that a pod as a whole may ask for."""
    if check_name(name, at, out) and name not in ("cpu", "memory") and not is_huge_page(name):
        out.append(not_supported(at, name, ["cpu", "hugepages-", "memory"]))


def check_quota_name(name: str, at: str, out: Errors) -> None:
    """A resource that a quota may limit."""
    check_name(name, at, out)
    if "/" not in name and not is_quota_name(name):
        out.append(invalid(at, name, "must be a standard resource for quota"))


def check_quantity(name: str, value: str, at: str, out: Errors) -> None:
    """An amount that is not negative, and whole where the resource is counted."""
    if parse(value).unscaled < 0:
        out.append(invalid(at, value, NEGATIVE))
    counted = name in _QUOTA_COUNTED or ("/" in name and is_extended(name))
    if counted and not is_whole(value):
        out.append(invalid(at, value, "must be an integer"))


def check_requirements(
    resources: Spec, claims: Collection[str], at: str, out: Errors, check: NameCheck = check_container_name
) -> None:
    """Requests and limits, and the device claims of a container."""
    limits, requests = resources.get("limits") or NOTHING, resources.get("requests") or NOTHING
    for name, value in limits.items():
        here = f"{at}.limits[{name}]"
        check(name, here, out)
        check_quantity(name, value, here, out)
        _check_pages(name, value, here, out)
    for name, value in requests.items():
        here = f"{at}.requests[{name}]"
        check(name, here, out)
        check_quantity(name, value, here, out)
        _check_against_limit(name, value, limits.get(name), at, out)
        _check_pages(name, value, here, out)
    names = limits.keys() | requests.keys()
    if any(map(is_huge_page, names)) and not names & {"cpu", "memory"}:
        out.append(forbidden(at, "HugePages require cpu or memory"))
    check_claims(resources.get("claims") or NO_ITEMS, claims, f"{at}.claims", out)


def _check_against_limit(name: str, value: str, limit: str | None, at: str, out: Errors) -> None:
    if limit is None:
        if not can_be_overcommitted(name):
            out.append(required(f"{at}.limits", "Limit must be set for non overcommitable resources"))
    elif value == limit:
        return
    elif parse(value) != parse(limit) and not can_be_overcommitted(name):
        out.append(invalid(f"{at}.requests", value, f"must be equal to {name} limit of {limit}"))
    elif parse(value) > parse(limit):
        out.append(invalid(f"{at}.requests", value, f"must be less than or equal to {name} limit of {limit}"))


def _check_pages(name: str, value: str, at: str, out: Errors) -> None:
    if not is_huge_page(name):
        return
    try:
        size = parse(name.removeprefix("hugepages-"))
    except QuantityError:
        size = ZERO
    if size.unscaled <= 0 or size.milli() % 1000 or parse(value).as_int() % size.as_int():
        out.append(invalid(at, value, f"{value} is not positive integer multiple of {name}"))


def check_claims(claims: Sequence[Spec], known: Collection[str], at: str, out: Errors) -> None:
    """Devices of a container, each named by a claim of the pod."""
    taken: set[str] = set()
    requested: Counter[str] = Counter()
    listed = f": {', '.join(sorted(known))}" if known else " which is empty"
    unknown = f"must be one of the names in pod.spec.resourceClaims{listed}"
    for index, claim in enumerate(claims):
        here, name, request = f"{at}[{index}]", claim.get("name") or "", claim.get("request") or ""
        if not name:
            out.append(required(here))
            continue
        if name in taken:
            out.append(duplicate(here, name))
        else:
            key = name
            if request:
                dns_label(request, f"{here}.request", out)
                key = f"{name}/{request}"
            if key in taken:
                out.append(duplicate(here, key))
            elif not request:
                out += [duplicate(here, name)] * requested[name]
            else:
                requested[name] += 1
            taken.add(key)
        if name not in known:
            out.append(FieldError(Reason.NOT_FOUND, here, name, unknown))


def round_list(amounts: dict[str, str]) -> None:
    """Round amounts up to thousandths, the finest that is kept."""
    for name, value in amounts.items():
        if value[-1] in "un" or "e-" in value:
            exact = parse(value)
            amounts[name] = str(Quantity(exact.scaled(-3), -3, exact.format))
