"""Resources of a pod as a whole, and the devices it claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import duplicate, forbidden, invalid, required
from rayward.kube.machinery.names import check_dns1123_subdomain
from rayward.kube.machinery.quantity import Quantity, parse
from rayward.kube.machinery.resourcenames import is_huge_page
from rayward.local.apiserver.builtin.check import Errors, dns_label, fits
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.resources import check_pod_name, check_requirements

Spec = Mapping[str, Any]
Amounts = dict[str, Quantity]


def total(spec: Spec, field: str) -> Amounts:
    """What the containers need together: all that run at once, or the init container that needs most."""
    sums: Amounts = {}
    for container in spec.get("containers") or NO_ITEMS:
        _add(sums, _amounts(container, field))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or NO_ITEMS:
        own = _amounts(container, field)
        if container.get("restartPolicy") == "Always":
            _add(sums, own)
            _add(sidecars, own)
            own = dict(sidecars)
        else:
            _add(own, sidecars)
        _raise(peak, own)
    _raise(sums, peak)
    return sums


def _amounts(container: Spec, field: str) -> Amounts:
    return {
        name: parse(value) for name, value in ((container.get("resources") or NOTHING).get(field) or NOTHING).items()
    }


def _add(target: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        target[name] = target[name] + value if name in target else value


def _raise(target: Amounts, others: Amounts) -> None:
    for name, value in others.items():
        if name not in target or target[name] < value:
            target[name] = value


def check_pod_resources(spec: Spec, at: str, out: Errors) -> None:
    """Requests and limits of the pod, against those of its containers."""
    resources = spec.get("resources")
    if resources is None:
        return
    here = f"{at}.resources"
    if (spec.get("os") or NOTHING).get("name") == "windows":
        out.append(forbidden(here, "may not be set for a windows pod"))
        return
    if resources.get("claims") is not None:
        out.append(forbidden(f"{here}.claims", "claims may not be set for Resources at pod-level"))
    claims = claim_names(spec)
    check_requirements(resources, claims, here, out, check_pod_name)
    requests, limits = resources.get("requests") or NOTHING, resources.get("limits") or NOTHING
    for name, needed in total(spec, "requests").items():
        if name in requests and needed > parse(requests[name]):
            text = f"must be greater than or equal to aggregate container requests of {needed}"
            out.append(invalid(f"{here}.requests[{name}]", requests[name], text))
    for name, needed in total(spec, "limits").items():
        if is_huge_page(name) and name in limits and needed > parse(limits[name]):
            text = f"must be greater than or equal to aggregate container limits of {needed}"
            out.append(invalid(f"{here}.limits[{name}]", limits[name], text))
    for index, container in enumerate(spec.get("containers") or NO_ITEMS):
        for name, limit in ((container.get("resources") or NOTHING).get("limits") or NOTHING).items():
            if name in limits and parse(limit) > parse(limits[name]):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                out.append(invalid(f"{here}.containers[{index}][{name}].limits", limit, text))


def claim_names(spec: Spec) -> set[str]:
    """Names under which containers may use the pod's device claims."""
    return {claim["name"] for claim in spec.get("resourceClaims") or NO_ITEMS if claim.get("name")}


def check_resource_claims(spec: Spec, at: str, out: Errors) -> None:
    """Device claims: each has a name and one source."""
    names: set[str] = set()
    for index, claim in enumerate(spec.get("resourceClaims") or NO_ITEMS):
        here, name = f"{at}[{index}]", claim.get("name") or ""
        if not name:
            out.append(required(f"{here}.name"))
        elif name in names:
            out.append(duplicate(f"{here}.name", name))
        else:
            dns_label(name, f"{here}.name", out)
            names.add(name)
        sources = [f for f in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(f) is not None]
        if len(sources) == 2:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            out.append(shown("PodResourceClaim", claim, here, text))
        if not sources:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            out.append(shown("PodResourceClaim", claim, here, text))
        for field in sources:
            fits(check_dns1123_subdomain, claim[field], f"{here}.{field}", out)
