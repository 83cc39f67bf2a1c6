"""The status that a node reports for a pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from rayward.kube.machinery.names import check_dns1123_subdomain
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.address import is_dual_stack, legacy_ip
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors, fits, qualified_name
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.formats import unix_id
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.podspec.annotations import check_annotation_changes

Spec = Mapping[str, Any]

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_OWN_CONDITIONS = frozenset({"PodScheduled", "Ready", "Initialized"})
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_NOT_NEGATIVE = "must be a non-negative integer"


def keep_observed_generations(status: Object, before: Spec) -> None:
    """A writer that does not know observedGeneration does not clear it."""
    if not status.get("observedGeneration") and before.get("observedGeneration"):
        status["observedGeneration"] = before["observedGeneration"]
    known: dict[str, list[int]] = {}
    for condition in before.get("conditions") or NO_ITEMS:
        known.setdefault(condition.get("type") or "", []).append(condition.get("observedGeneration") or 0)
    for condition in status.get("conditions") or NO_ITEMS:
        generations = known.get(condition.get("type") or "")
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def check_status(new: Object, old: Object) -> list[FieldError]:
    """A change through the status endpoint."""
    out: Errors = []
    check_annotation_changes(new, old, out)
    status, before, spec = new.get("status") or NOTHING, old.get("status") or NOTHING, old.get("spec") or NOTHING
    _check_conditions(status.get("conditions") or NO_ITEMS, out)
    _check_nominated(status, before, spec, out)
    generation = status.get("observedGeneration") or 0
    if generation < 0:
        out.append(invalid("status.observedGeneration", generation, _NOT_NEGATIVE))
    quality = status.get("qosClass") or ""
    if quality != (before.get("qosClass") or ""):
        out.append(invalid("status.qosClass", quality, IMMUTABLE))
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        _check_restarts(status, before, field, spec, spec.get(containers) or NO_ITEMS, out)
    _check_restarts(status, before, "ephemeralContainerStatuses", spec, None, out)
    _check_claims(status.get("resourceClaimStatuses") or NO_ITEMS, spec, out)
    _check_addresses(status, before, "podIPs", "PodIP", out)
    _check_host_addresses(status, before, out)
    for field in _STATUSES:
        _check_users(status.get(field) or NO_ITEMS, spec, f"status.{field}", out)
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        _check_allocated(status.get(field) or NO_ITEMS, spec.get(containers) or NO_ITEMS, f"status.{field}", out)
    for index, container in enumerate(status.get("ephemeralContainerStatuses") or NO_ITEMS):
        if container.get("allocatedResourcesStatus"):
            path = f"status.ephemeralContainerStatuses[{index}].allocatedResourcesStatus"
            out.append(forbidden(path, "must not be specified in container status"))
    return out


def _check_conditions(conditions: Sequence[Spec], out: Errors) -> None:
    for index, condition in enumerate(conditions):
        generation = condition.get("observedGeneration") or 0
        if generation < 0:
            out.append(invalid(f"status.conditions[{index}].observedGeneration", generation, _NOT_NEGATIVE))
        kind = condition.get("type") or ""
        if kind not in _OWN_CONDITIONS:
            qualified_name(kind, f"status.conditions[{index}].Type", out)


def _check_nominated(status: Spec, before: Spec, spec: Spec, out: Errors) -> None:
    at, name = "status.nominatedNodeName", status.get("nominatedNodeName") or ""
    if not name or name == (before.get("nominatedNodeName") or ""):
        return
    fits(check_dns1123_subdomain, name, at, out)
    if spec.get("nodeName"):
        out.append(forbidden(at, "may not be set on pods that are already bound to a node"))


def _check_restarts(
    status: Spec, before: Spec, field: str, spec: Spec, containers: Sequence[Spec] | None, out: Errors
) -> None:
    """A container that ended stays so unless its pod restarts it."""
    if containers is not None and _all_may_restart(spec):
        return
    now: Sequence[Spec] = status.get(field) or NO_ITEMS
    for index, then in enumerate(before.get(field) or NO_ITEMS):
        ended = (then.get("state") or NOTHING).get("terminated")
        if ended is None:
            continue
        for current in now:
            if (
                current.get("name") != then.get("name")
                or (current.get("state") or NOTHING).get("terminated") is not None
            ):
                continue
            container = next((c for c in containers or NO_ITEMS if c.get("name") == then.get("name")), None)
            if container is None or not _restarts(container, spec, ended.get("exitCode") or 0):
                text = "may not be transitioned to non-terminated state"
                out.append(forbidden(f"status.{field}[{index}].state", text))
            break


def _all_may_restart(spec: Spec) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for field in ("containers", "initContainers")
        for container in spec.get(field) or NO_ITEMS
        for rule in container.get("restartPolicyRules") or NO_ITEMS
    )


def _restarts(container: Spec, spec: Spec, code: int) -> bool:
    own = container.get("restartPolicy")
    for rule in container.get("restartPolicyRules") or NO_ITEMS if own is not None else ():
        codes = rule.get("exitCodes") or NOTHING
        listed = code in (codes.get("values") or NO_ITEMS)
        if listed == (codes.get("operator") == "In"):
            return True
    policy = own or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _check_claims(statuses: Sequence[Spec], spec: Spec, out: Errors) -> None:
    names = {claim.get("name") for claim in spec.get("resourceClaims") or NO_ITEMS}
    seen: set[str] = set()
    for index, status in enumerate(statuses):
        here, name = f"status.resourceClaimStatuses[{index}]", status.get("name") or ""
        if name not in names:
            out.append(invalid(f"{here}.name", name, "must match the name of an entry in `spec.resourceClaims`"))
        if name in seen:
            out.append(duplicate(f"{here}.name", name))
        seen.add(name)
        if status.get("resourceClaimName") is not None:
            fits(check_dns1123_subdomain, status["resourceClaimName"], f"{here}.resourceClaimName", out)


def _check_addresses(status: Spec, before: Spec, field: str, kind: str, out: Errors) -> None:
    now = [address.get("ip") or "" for address in status.get(field) or NO_ITEMS]
    known = {address.get("ip") or "" for address in before.get(field) or NO_ITEMS}
    for index, address in enumerate(now):
        legacy_ip(address, f"status.{field}[{index}]", out, known)
    if len(now) > 2 or (len(now) == 2 and not is_dual_stack(now)):
        text = "may specify no more than one IP for each IP family"
        out.append(shown(f"[]{kind}", status[field], f"status.{field}", text))


def _check_host_addresses(status: Spec, before: Spec, out: Errors) -> None:
    addresses = status.get("hostIPs") or NO_ITEMS
    if not addresses:
        return
    first = addresses[0].get("ip") or ""
    if (status.get("hostIP") or "") != first:
        out.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    _check_addresses(status, before, "hostIPs", "HostIP", out)


def _check_users(statuses: Sequence[Spec], spec: Spec, at: str, out: Errors) -> None:
    system = (spec.get("os") or NOTHING).get("name") or "linux"
    for index, status in enumerate(statuses):
        user = (status.get("user") or NOTHING).get("linux")
        here = f"{at}[{index}].user.linux"
        if user is None:
            continue
        if system == "windows":
            out.append(forbidden(here, "cannot be set for a windows pod"))
            continue
        for field in ("uid", "gid"):
            for message in unix_id(user.get(field) or 0):
                out.append(invalid(f"{here}.{field}", user.get(field) or 0, message))
        for number, group in enumerate(user.get("supplementalGroups") or NO_ITEMS):
            for message in unix_id(group):
                out.append(invalid(f"{here}.supplementalGroups[{number}]", group, message))


def _check_allocated(statuses: Sequence[Spec], containers: Sequence[Spec], at: str, out: Errors) -> None:
    for index, status in enumerate(statuses):
        container = next((c for c in containers if c.get("name") == status.get("name")), None)
        for number, allocated in enumerate(status.get("allocatedResourcesStatus") or NO_ITEMS):
            here, name = f"{at}[{index}].allocatedResourcesStatus[{number}]", allocated.get("name") or ""
            if container is not None:
                _check_allocated_name(name, container.get("resources") or NOTHING, here, out)
            seen: set[str] = set()
            for position, device in enumerate(allocated.get("resources") or NO_ITEMS):
                path, ident = f"{here}.resources[{position}]", device.get("resourceID") or ""
                if (device.get("health") or "") not in _HEALTH:
                    out.append(not_supported(f"{path}.health", device.get("health") or "", list(_HEALTH)))
                message = device.get("message")
                if message == "":
                    out.append(required(f"{path}.message", "must be non-empty if specified"))
                elif message is not None and len(message.encode()) > 1024:
                    out.append(too_long(f"{path}.message", 1024))
                if ident in seen:
                    out.append(duplicate(f"{path}.resourceID", ident))
                seen.add(ident)


def _check_allocated_name(name: str, resources: Spec, at: str, out: Errors) -> None:
    if name.startswith("claim:"):
        known = {
            f"claim:{claim.get('name') or ''}" + (f"/{claim['request']}" if claim.get("request") else "")
            for claim in resources.get("claims") or NO_ITEMS
        }
        text = (
            "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
            "'claim:<claimName>' if request is empty"
        )
    else:
        known = set(resources.get("requests") or NO_ITEMS)
        text = "must match one of the container's resource requests"
    if name not in known:
        out.append(invalid(f"{at}.name", name, text))
