"""The causes that are known, as data: the first rule that fits tells.

What keeps anything from happening comes first, then what keeps pods from running, then what Ray says, then what waits
on purpose. Each has evidence that was recorded from a run in that state, in ``tests/playbook/recorded``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rayward.changes.judging import OLDER_PODS, State
from rayward.changes.revisions import last_writer
from rayward.changes.why.evidence import Evidence, judged
from rayward.changes.why.match import Match, joined, name_of, short, told, warnings
from rayward.changes.why.podcauses import (
    CONFIG,
    IMAGE,
    crashed,
    initializing,
    not_ready,
    out_of_memory,
    starting,
    unmounted,
    unschedulable,
    waiting,
)
from rayward.changes.why.sizes import at_maximum, held_size
from rayward.kinds import labels
from rayward.kinds.managedby import is_managed_here
from rayward.kube.machinery.jsonvalue import entries, is_object, section

_REJECTED: Final = frozenset({"ValidationFailed", "FeatureNotAvailable", "FeatureMissing", "InvalidSpec"})
_REJECTED_EVENTS: Final = ("InvalidRayCluster", "InvalidRayService", "InvalidRayJob")
"""How the reasons of KubeRay's warnings begin that a spec is invalid: it writes no status then."""
_NOT_CREATED: Final = frozenset({"FailedCreateHeadPod", "FailedCreateWorkerPod"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One cause.

    Attributes:
        code: Its name, for programs.
        cause: A sentence; ``{ref}`` and the match's words are filled in.
        following: The next command.
        find: Whether it is the cause, from the evidence alone.
        kinds: Which kinds it is about; all where it is empty.
    """

    code: str
    cause: str
    following: str
    find: Callable[[Evidence], Match | None]
    kinds: tuple[str, ...] = ()


def _finalizers(evidence: Evidence) -> Match | None:
    held = [str(one) for one in entries(evidence.metadata, "finalizers") if one != "foregroundDeletion"]
    if not evidence.metadata.get("deletionTimestamp") or not held:
        return None
    lines = [f"deleted at {evidence.metadata['deletionTimestamp']}", *(f"finalizer {one}" for one in held)]
    return Match((*lines, *warnings(evidence, 2)), {"finalizer": held[0]})


def _children(evidence: Evidence) -> Match | None:
    if not evidence.metadata.get("deletionTimestamp"):
        return None
    lines = [f"pod {name_of(pod)} is {section(pod, 'status').get('phase')}" for pod in evidence.pods]
    return Match(tuple(lines[:5]) or (f"deleted at {evidence.metadata['deletionTimestamp']}",))


def _elsewhere(evidence: Evidence) -> Match | None:
    manager = evidence.spec.get("managedBy")
    if is_managed_here(manager):
        return None
    return Match((f"spec.managedBy: {manager}",), {"manager": str(manager)})


def _unseen(evidence: Evidence) -> Match | None:
    """No operator has ever written a status, or said why it writes none."""
    return (
        None
        if evidence.status or _rejected(evidence)
        else Match(("status is empty: no operator has reconciled this object",))
    )


def _rejected(evidence: Evidence) -> Match | None:
    for kind in ("Accepted", "Stalled", "Progressing", "Ready"):
        one = evidence.condition(kind)
        if one.get("reason") in _REJECTED or (kind == "Accepted" and one.get("status") == "False"):
            return told(one)
    if evidence.status.get("jobDeploymentStatus") == "ValidationFailed":
        return Match((str(evidence.status.get("message") or "ValidationFailed"),))
    seen = int(evidence.status.get("observedGeneration") or 0)
    if seen >= int(evidence.metadata.get("generation") or 0):
        return None
    (_, written), own = last_writer(evidence.object), (evidence.ref.kind, evidence.ref.name)
    for event in reversed(evidence.events):
        involved = section(event, "involvedObject")
        # one about the spec before is no reason to reject this one
        newer = str(event.get("lastTimestamp") or written) >= written
        about = newer and (involved.get("kind"), involved.get("name")) == own
        if about and str(event.get("reason") or "").startswith(_REJECTED_EVENTS):
            return Match((joined(str(event["reason"]), event.get("message")),))
    return None


def _transaction(evidence: Evidence) -> Match | None:
    note: Any = section(evidence.metadata, "annotations").get(labels.TRANSACTION)
    verb = "edit" if evidence.ref.kind == "RayJob" else "reassemble"
    return Match((f"annotation {labels.TRANSACTION}: {note}",), {"verb": verb}) if note else None


def _suspended(evidence: Evidence) -> Match | None:
    if not evidence.spec.get("suspend"):
        return None
    return Match(("spec.suspend: true",))


def _admission(evidence: Evidence) -> Match | None:
    for one in evidence.workloads:
        reserved = evidence.condition("QuotaReserved", one)
        if reserved.get("status") == "False" or (reserved.get("status") != "True" and not section(one, "status")):
            return Match((f"workload {name_of(one)}: {reserved.get('message') or 'it is in no queue that admits'}",))
    gated = [pod for pod in evidence.pods if entries(section(pod, "spec"), "schedulingGates")]
    if not gated:
        return None
    gates = ", ".join(str(one.get("name")) for one in entries(section(gated[0], "spec"), "schedulingGates"))
    return Match((f"pod {name_of(gated[0])} waits for {gates}",))


def _quota(evidence: Evidence) -> Match | None:
    for kind in ("ReplicaFailure", "Ready", "Progressing", "Stalled"):
        for of in (evidence.object, *evidence.clusters):
            one = evidence.condition(kind, of)
            if "exceeded quota" in str(one.get("message") or ""):
                return told(one)
    found = [one for one in evidence.events if "exceeded quota" in str(one.get("message") or "")]
    return Match((short(str(found[-1].get("message"))),)) if found else None


def _forbidden(evidence: Evidence) -> Match | None:
    for of in (*evidence.clusters, evidence.object):
        for kind in ("Ready", "ReplicaFailure"):
            one = evidence.condition(kind, of)
            if str(one.get("reason") or "") in _NOT_CREATED:
                return told(one)
    return None


def _serve_starting(evidence: Evidence) -> Match | None:
    one = evidence.condition("Reconciling")
    if one.get("status") != "True" or one.get("reason") != "ServeDeploying" or starting(evidence) is not None:
        return None
    ready = evidence.condition("Ready")
    return Match((*told(one).lines, *(told(ready).lines if ready.get("status") == "False" else ())))


def _deploy_failed(evidence: Evidence) -> Match | None:
    for part in ("pendingServiceStatus", "activeServiceStatus"):
        applications = section(section(evidence.status, part), "applicationStatuses")
        for name, one in applications.items():
            if is_object(one) and one.get("status") in ("DEPLOY_FAILED", "UNHEALTHY"):
                ready = evidence.condition("Ready")
                # where the operator found the cause in the traceback, it comes first
                cause = told(ready).lines if ready.get("reason") == "ServeDeployFailed" else ()
                line = joined(f"application {name} is {one['status']}", one.get("message"))
                return Match((*cause, line), {"app": name})
    return None


def _given_up(evidence: Evidence) -> Match | None:
    one = evidence.condition("Progressing")
    if one.get("status") != "False" or one.get("reason") in ("SuspendInProgress", "SuspendComplete"):
        return None
    match = told(one)
    return Match(match.lines, {"reason": str(one.get("reason"))})


def _aborted(evidence: Evidence) -> Match | None:
    one = evidence.condition("Progressing")
    return told(one) if (one.get("status"), one.get("reason")) == ("False", "Aborted") else None


def _paused(evidence: Evidence) -> Match | None:
    one = evidence.condition("Progressing")
    return told(one) if one.get("reason") == "Paused" else None


def _drifted(evidence: Evidence) -> Match | None:
    one = evidence.condition("Drifted")
    if one.get("status") == "True":
        return told(one)
    if one or evidence.ref.kind != "RayCluster":
        return None
    # KubeRay's operator says nothing of it
    verdict = judged(evidence)
    return Match((str(verdict),)) if (verdict.state, verdict.reason) == (State.FAILED, OLDER_PODS) else None


def _job_failed(evidence: Evidence) -> Match | None:
    status = evidence.status
    if status.get("jobStatus") != "FAILED" and status.get("jobDeploymentStatus") != "Failed":
        return None
    reason = str(status.get("reason") or status.get("jobStatus"))
    return Match((joined(reason, status.get("message")),), {"reason": reason})


def _at_maximum(evidence: Evidence) -> Match | None:
    """It explains a cluster that is as asked, and nothing that is wrong with one."""
    verdict = judged(evidence)
    return at_maximum(evidence) if verdict.state is State.APPLIED else None


def _edit_ignored(evidence: Evidence) -> Match | None:
    one = evidence.condition("Stalled")
    return told(one) if (one.get("status"), one.get("reason")) == ("True", "EditIgnored") else None


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "FinalizerHolds",
        "{ref} is being deleted, and finalizer {finalizer} holds it",
        "rayward unstick {ref}",
        _finalizers,
    ),
    Rule("DeletionInProgress", "{ref} is being deleted, and what it owns goes first", "rayward get pods", _children),
    Rule(
        "ManagedElsewhere",
        "{ref} is left to the controller {manager}",
        "ask that controller; spec.managedBy cannot be changed, only by rayward recreate {ref}",
        _elsewhere,
    ),
    Rule("NoOperator", "no operator acts on {ref}", "rayward up   # or, on a cluster: rayward operator run", _unseen),
    Rule(
        "TransactionPending",
        "{ref} is suspended by rayward {verb}, which was not finished",
        "rayward {verb} {ref}   # continues; with --undo it reverts the change",
        _transaction,
    ),
    Rule("Suspended", "{ref} is suspended", "rayward resume {ref}", _suspended),
    Rule(
        "Rejected", "the operator rejects the spec of {ref}", "correct it and apply again; rayward lint FILE", _rejected
    ),
    Rule("QuotaExceeded", "a ResourceQuota forbids the pods of {ref}", "rayward describe resourcequota", _quota),
    Rule(
        "PodsForbidden",
        "the API server does not let the pods of {ref} be created",
        "correct the spec and apply again   # or: rayward undo {ref}",
        _forbidden,
    ),
    Rule("NotAdmitted", "{ref} waits for quota", "rayward get workloads", _admission),
    Rule(
        "Unschedulable",
        "no node can run pod {pod} of {ref}",
        "rayward describe pod {pod}   # and: rayward get nodes",
        unschedulable,
    ),
    Rule(
        "ImagePull",
        "the image {image} of pod {pod} cannot be pulled",
        "rayward set {ref} image=IMAGE   # or: rayward undo {ref}",
        waiting(IMAGE),
    ),
    Rule(
        "ContainerConfig",
        "container {container} of pod {pod} cannot be created",
        "rayward describe pod {pod}   # a Secret or ConfigMap that it names may be missing",
        waiting(CONFIG),
    ),
    Rule(
        "MountFailed",
        "a volume of pod {pod} cannot be mounted",
        "create what is missing, or correct the volume   # or: rayward undo {ref}",
        unmounted,
    ),
    Rule(
        "OutOfMemory",
        "container {container} of pod {pod} ran out of memory and was killed",
        "rayward set {ref} GROUP.limits.memory=MORE",
        out_of_memory,
    ),
    Rule(
        "Crashing",
        "container {container} of pod {pod} crashes again and again",
        "rayward logs {pod} --previous",
        crashed,
    ),
    Rule(
        "DeployFailed",
        "Serve application {app} of {ref} does not run",
        "rayward undo {ref}   # or correct the application and apply again",
        _deploy_failed,
        ("RayService",),
    ),
    Rule(
        "Aborted",
        "the upgrade of {ref} was aborted",
        "rayward retry {ref}   # or: rayward undo {ref}",
        _aborted,
        ("RayService",),
    ),
    Rule(
        "GivenUp",
        "the change of {ref} was given up: {reason}",
        "rayward undo {ref}   # or correct it; rayward retry {ref} tries it again",
        _given_up,
        ("RayService",),
    ),
    Rule("Paused", "the upgrade of {ref} waits to be promoted", "rayward promote {ref}", _paused, ("RayService",)),
    Rule(
        "Drifted",
        "{ref} runs what was asked for before: its upgrade strategy keeps running pods",
        "rayward plan -f FILE   # then rayward apply with --strategy",
        _drifted,
    ),
    Rule("JobFailed", "the job of {ref} failed: {reason}", "rayward logs {ref}", _job_failed, ("RayJob",)),
    Rule(
        "EditIgnored",
        "{ref} has ended: later edits had no effect",
        "rayward rerun {name}",
        _edit_ignored,
        ("RayJob",),
    ),
    Rule(
        "HeldByBounds",
        "maxReplicas holds the size of group {group}",
        "rayward set {ref} {group}.max={wanted}",
        held_size,
        ("RayCluster",),
    ),
    Rule(
        "ServeStarting",
        "Serve applications of {ref} are starting",
        "rayward logs {ref}   # then: rayward wait {ref}",
        _serve_starting,
        ("RayService",),
    ),
    Rule("NotReady", "pod {pod} of {ref} runs and is not ready", "rayward logs {pod}", not_ready),
    Rule(
        "Initializing",
        "pod {pod} of {ref} waits for its init container {container}",
        "rayward logs {pod} -c {container}",
        initializing,
    ),
    Rule("Starting", "pods of {ref} are starting", "rayward wait {ref}", starting),
    Rule(
        "AtMaximum",
        "group {group} of {ref} is at its maxReplicas {most}: Ray's autoscaler adds no more workers",
        "rayward set {ref} {group}.max=MORE   # lets it grow",
        _at_maximum,
        ("RayCluster",),
    ),
)
