"""What a cluster adds to a pod on its way in: service account, priority, tolerations. Also binding and eviction.

The state this needs (accounts, priority classes) is passed in; nothing is looked up here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, not_supported, required
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin import runtimeclass
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import meta_of, name_of
from rayward.local.apiserver.builtin.podspec.annotations import MIRROR

Spec = Mapping[str, Any]

_TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path, not a secret
_TOKEN_VOLUME = "kube-api-access-"  # noqa: S105 - a name, not a secret
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class Refused(Exception):  # noqa: N818
    """The pod may not be created; the text is for a Forbidden Status."""


def account_of(pod: Spec) -> str:
    """The service account whose object ``admit`` needs; empty if it needs none."""
    if MIRROR in (meta_of(pod).get("annotations") or NOTHING):
        return ""
    return (pod.get("spec") or NOTHING).get("serviceAccountName") or "default"


def admit(
    pod: Object, account: Spec | None, classes: Iterable[Spec], suffix: str, runtime_class: Spec | None = None
) -> None:
    """Complete a new pod.

    ``account`` is the object named by ``account_of``, or None if there is none; ``classes`` are all priority classes;
    ``suffix`` is random and makes the name of the token's volume; ``runtime_class`` is the one that the pod names, if
    there is one.

    Raises:
        Refused: the account or a class does not exist, or the pod claims another priority or overhead.
    """
    admit_account(pod, account, suffix)
    admit_scheduling(pod, classes, runtime_class)


def admit_scheduling(pod: Object, classes: Iterable[Spec], runtime_class: Spec | None = None) -> None:
    """Give a new pod its priority, the tolerations that every pod has, and what its runtime class says.

    Raises:
        Refused: there is no such class, or the pod claims another priority or overhead.
    """
    _admit_priority(pod["spec"], classes)
    add_tolerations(pod["spec"])
    _admit_runtime_class(pod["spec"], runtime_class)


def _admit_runtime_class(spec: Object, runtime_class: Spec | None) -> None:
    name = spec.get("runtimeClassName")
    if name is not None:
        if runtime_class is None:
            raise Refused(f'pod rejected: RuntimeClass "{name}" not found')
        if why := runtimeclass.complete(spec, runtime_class):
            raise Refused(why)
    if why := runtimeclass.refusal(spec, runtime_class):
        raise Refused(f"pod rejected: {why}")


def admit_change(new: Object, old: Spec) -> None:
    """Keep what ``admit`` gave to a pod when a writer leaves it out."""
    spec, before = new["spec"], old.get("spec") or NOTHING
    for field in ("priority", "preemptionPolicy"):
        if field not in spec and field in before:
            spec[field] = before[field]
    add_tolerations(spec)


def admit_account(pod: Object, account: Spec | None, suffix: str) -> None:
    """Name the service account of a new pod and mount its token.

    Raises:
        Refused: there is no such account.
    """
    spec, meta = pod["spec"], meta_of(pod)
    if MIRROR in (meta.get("annotations") or NOTHING):
        if spec.get("serviceAccountName"):
            raise Refused("a mirror pod may not reference service accounts")
        return
    name = account_of(pod)
    if account is None:
        namespace = meta.get("namespace") or ""
        raise Refused(f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found')
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    wanted = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken"))
    if wanted is None or wanted:
        _mount_token(spec, suffix)
    secrets = [{"name": s["name"]} for s in account.get("imagePullSecrets") or NO_ITEMS if s.get("name")]
    if secrets and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = secrets


def _mount_token(spec: Object, suffix: str) -> None:
    existing = next(
        (v["name"] for v in spec.get("volumes") or NO_ITEMS if v.get("name", "").startswith(_TOKEN_VOLUME)), ""
    )
    name = existing or f"{_TOKEN_VOLUME}{suffix}"
    needed = False
    for field in ("initContainers", "containers"):
        for container in spec.get(field) or NO_ITEMS:
            mounts = container.get("volumeMounts") or NO_ITEMS
            if any(mount.get("mountPath") == _TOKEN_MOUNT for mount in mounts):
                continue
            mount = {"name": name, "readOnly": True, "mountPath": _TOKEN_MOUNT}
            container["volumeMounts"] = [*mounts, mount]
            needed = True
    if needed and not existing:
        spec["volumes"] = [*(spec.get("volumes") or NO_ITEMS), {"name": name, "projected": _token_source()}]


def _token_source() -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 420,
    }


def _admit_priority(spec: Object, classes: Iterable[Spec]) -> None:
    name = spec.get("priorityClassName") or ""
    if name:
        chosen = next((c for c in classes if name_of(c) == name), None)
        if chosen is None:
            raise Refused(f"no PriorityClass with name {name} was found")
    else:
        chosen = min((c for c in classes if c.get("globalDefault")), key=lambda c: c.get("value") or 0, default=None)
    value: int = (chosen or NOTHING).get("value") or 0
    policy = chosen.get("preemptionPolicy") if chosen is not None else "PreemptLowerPriority"
    if chosen is not None:
        spec["priorityClassName"] = name_of(chosen)
    if spec.get("priority", value) != value:
        raise Refused(
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority admission "
            f"controller computed {value} from the given PriorityClass name"
        )
    spec["priority"] = value
    if policy is None:
        return
    if spec.get("preemptionPolicy", policy) != policy:
        raise Refused(
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
    spec["preemptionPolicy"] = policy


def add_tolerations(spec: Object) -> None:
    """A pod stays five minutes on a node that is lost, unless it says otherwise."""
    tolerations = spec.get("tolerations") or NO_ITEMS
    keys = {t.get("key") or "" for t in tolerations if (t.get("effect") or "NoExecute") == "NoExecute"}
    for key in _TOLERATED:
        if key not in keys and "" not in keys:
            more = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            tolerations = [*tolerations, more]
    if tolerations:
        spec["tolerations"] = tolerations


def check_binding(binding: Spec) -> list[FieldError]:
    """A request to put a pod on a node."""
    target = binding.get("target") or NOTHING
    out: list[FieldError] = []
    if target.get("kind") not in (None, "", "Node"):
        out.append(not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        out.append(required("target.name"))
    return out


def bind(pod: Object, binding: Spec, now: str) -> str:
    """Put a pod on a node, in place; the text says why that cannot be, and is empty if it could."""
    spec, meta = pod["spec"], pod["metadata"]
    name = meta["name"]
    if meta.get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    spec["nodeName"] = binding["target"]["name"]
    for field in ("annotations", "labels"):
        more = meta_of(binding).get(field)
        if more:
            meta[field] = {**(meta.get(field) or NOTHING), **more}
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    _set_scheduled(status, now)
    return ""


def _set_scheduled(status: Object, now: str) -> None:
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    conditions = status.setdefault("conditions", [])
    for index, condition in enumerate(conditions):
        if condition.get("type") == "PodScheduled":
            if condition.get("status") == "True":
                scheduled["lastTransitionTime"] = condition.get("lastTransitionTime")
            conditions[index] = scheduled
            return
    conditions.append(scheduled)
