"""What kube-apiserver fills in, refuses and shows of Nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, Reason, forbidden, invalid, required
from rayward.kube.machinery.names import check_label_value
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.address import cidr_warnings, is_dual_stack, legacy_cidr, parse_cidr
from rayward.local.apiserver.builtin.check import Errors, one_of, positive, qualified_name
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.inner import duplicated
from rayward.local.apiserver.builtin.kind import age_of, behaviour, keep_spec, keep_status, meta_of, name_of
from rayward.local.apiserver.builtin.podspec.scheduling import EFFECTS
from rayward.local.apiserver.builtin.resources import check_quantity, round_list

Spec = Mapping[str, Any]

_NOT_READY = "node.kubernetes.io/not-ready"
_ROLE_LABEL = "node-role.kubernetes.io/"


def node_behaviour() -> Behaviour:
    """The rules of ``v1/nodes``."""
    return behaviour(
        "io.k8s.api.core.v1.Node",
        "v1/nodes",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=lambda new, old: validate(new) + check_change(new, old),
        validate_status=check_change,
        warnings=warnings,
        fields=lambda obj: {"spec.unschedulable": str(bool((obj.get("spec") or NOTHING).get("unschedulable"))).lower()},
        selectable=frozenset({"spec.unschedulable"}),
        has_status=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a node: what it has can all be used unless said otherwise."""
    spec, status = obj.setdefault("spec", {}), obj.setdefault("status", {})
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])
    for field in ("capacity", "allocatable"):
        if status.get(field):
            round_list(status[field])
    one, several = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not several or several[0] != one):
        spec["podCIDRs"] = [one]
    elif several and not one:
        spec["podCIDR"] = several[0]


def admit(obj: Object) -> None:
    """A new node takes no pods until something says that it is ready."""
    taints = obj["spec"].setdefault("taints", [])
    if all((taint.get("key"), taint.get("effect")) != (_NOT_READY, "NoSchedule") for taint in taints):
        taints.append({"key": _NOT_READY, "effect": "NoSchedule"})


def prepare_create(obj: Object) -> None:
    """Nodes may be created with a status; a configuration from elsewhere is no more."""
    obj["spec"].pop("configSource", None)
    obj["status"].pop("config", None)


def prepare_update(new: Object, old: Object) -> None:
    """The status changes only through its own endpoint."""
    keep_status(new, old)
    if (old.get("spec") or NOTHING).get("configSource") is None:
        new["spec"].pop("configSource", None)


def check_taints(taints: Sequence[Spec], at: str, out: Errors) -> None:
    """Taints are unique by key and effect."""
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        here, key, effect = f"{at}[{index}]", taint.get("key") or "", taint.get("effect") or ""
        qualified_name(key, f"{here}.key", out)
        messages = check_label_value(taint.get("value") or "")
        if messages:
            out.append(invalid(f"{here}.value", taint.get("value") or "", ";".join(messages)))
        if not effect:
            out.append(required(f"{here}.effect"))
        else:
            one_of(effect, EFFECTS, f"{here}.effect", out)
        if (effect, key) in seen:
            out.append(duplicated("Taint", taint, here, "taints must be unique by key and effect pair"))
        seen.add((effect, key))


def _check_resources(obj: Object, out: Errors) -> None:
    for field in ("capacity", "allocatable"):
        for name, value in ((obj.get("status") or NOTHING).get(field) or NOTHING).items():
            check_quantity(name, value, f"status.{field}.{name}", out)


def validate(obj: Object) -> list[FieldError]:
    """A node, new or changed."""
    out: Errors = []
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    check_taints(spec.get("taints") or NO_ITEMS, "metadata.taints", out)
    _check_resources(obj, out)
    swap = ((status.get("nodeInfo") or NOTHING).get("swap") or NOTHING).get("capacity")
    if swap is not None:
        positive(swap, "metadata.nodeSwapStatus.capacity", out)
    ranges = spec.get("podCIDRs") or NO_ITEMS
    for index, value in enumerate(ranges):
        legacy_cidr(value, f"spec.podCIDRs[{index}]", out)
    wrong = [index for index, value in enumerate(ranges) if parse_cidr(value) is None] if len(ranges) > 1 else ()
    if wrong:
        text = "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR"
        text += f"[{wrong[0]}]: <nil> (invalid CIDR address: {ranges[wrong[0]]})"
        out.append(FieldError(Reason.INTERNAL, "spec.podCIDRs", detail=text))
    if len(ranges) > 2 or (len(ranges) == 2 and not is_dual_stack([value.partition("/")[0] for value in ranges])):
        out.append(invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"))
    return out


def check_change(new: Object, old: Object) -> list[FieldError]:
    """What stays once a node has it."""
    out: Errors = []
    spec, before = new.get("spec") or NOTHING, old.get("spec") or NOTHING
    _check_resources(new, out)
    seen: list[Any] = []
    for index, address in enumerate((new.get("status") or NOTHING).get("addresses") or NO_ITEMS):
        if address in seen:
            out.append(duplicated("NodeAddress", address, f"status.addresses[{index}]"))
        seen.append(address)
    ranges = before.get("podCIDRs") or NO_ITEMS
    if ranges and ranges != (spec.get("podCIDRs") or []):
        out.append(forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'))
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        out.append(forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid'))
    check_taints(spec.get("taints") or NO_ITEMS, "metadata.taints", out)
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        out.append(forbidden("spec.externalID", "may not be updated"))
    return out


def warnings(new: Object, _old: Object | None) -> list[str]:
    """Doubts about a node."""
    spec, found = new.get("spec") or NOTHING, list[str]()
    if spec.get("configSource") is not None:
        found.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, value in enumerate(spec.get("podCIDRs") or NO_ITEMS):
        found += cidr_warnings(value, f"spec.podCIDRs[{index}]")
    return found


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Status, Roles, Age, Version, Internal-IP, External-IP, OS-Image, Kernel-Version, Container-Runtime."""
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    info = status.get("nodeInfo") or NOTHING
    kernel = info.get("kernelVersion") or "<unknown>"
    if info.get("architecture"):
        kernel = f"{kernel} ({info['architecture']})"
    addresses = status.get("addresses") or NO_ITEMS
    return [
        name_of(obj),
        _state(spec, status),
        _roles(meta_of(obj).get("labels") or NOTHING),
        age_of(obj, now),
        info.get("kubeletVersion") or "",
        _address(addresses, "InternalIP"),
        _address(addresses, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _state(spec: Spec, status: Spec) -> str:
    ready = {c.get("type"): c.get("status") for c in status.get("conditions") or NO_ITEMS}.get("Ready")
    state = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if spec.get("unschedulable") else state


def _roles(labels: Mapping[str, str]) -> str:
    roles = {key.removeprefix(_ROLE_LABEL) for key in labels if key.startswith(_ROLE_LABEL)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(roles - {""})) or "<none>"


def _address(addresses: Sequence[Spec], kind: str) -> str:
    return next((a.get("address") or "" for a in addresses if a.get("type") == kind), "<none>")
