"""Whether a generation has come true: pure, from the object as it is now.

Rayward's own conditions say it. Where the operator gives less, as KubeRay's does, it is computed from what there is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from rayward.changes.podtemplates import older_pods
from rayward.changes.revisions import Revision
from rayward.kinds import labels
from rayward.kinds.admission import NEVER_FITS, QUOTA_RESERVED
from rayward.kinds.effects import Effect, release_change
from rayward.kinds.raycluster import RayClusterSpec
from rayward.kinds.shapes import desired_workers
from rayward.kube.machinery.jsonvalue import Object, entries, is_object, section

_NEVER_STARTS: Final = frozenset({"InvalidImageName", "CreateContainerConfigError", "ErrImageNeverPull"})
_RUNNING: Final = "RUNNING"
UNREAD: Final = "Unknown"
"""The reason of a verdict that needs the spec of the cluster that serves, or the pods of a RayCluster."""
OLDER_PODS: Final = "OlderPods"
"""The reason where pods of an earlier template run, which no condition of KubeRay's tells."""
PODS_LAG: Final = "PodsNotReady"
"""The reason where KubeRay's status says more than the pods do."""
DEPLOY_FAILED: Final = "DEPLOY_FAILED"
_REFUSED_WRITE: Final = "Failed"
_PATIENCE: Final = {
    DEPLOY_FAILED: 15.0,
    "ImagePullBackOff": 60.0,
    "CreateContainerError": 60.0,
    "CreateContainerConfigError": 60.0,
    _REFUSED_WRITE: 120.0,
    "CrashLoopBackOff": 120.0,
    "Unschedulable": math.inf,
}
"""How many seconds a cause may last before it is taken for the end. A status tells of the pods and applications of an
edit before until the operator has replaced them; a registry or a secret may come a moment later, quota is given back
when pods have ended. How long an autoscaler of nodes needs only the user knows: a node with GPUs takes 15 minutes."""


class State(StrEnum):
    """How far a change is."""

    PROGRESSING = "Progressing"
    APPLIED = "Applied"
    FAILED = "Failed"
    BLOCKED = "Blocked"
    """It waits for quota that the queue never has; the previous revision keeps running."""
    SUPERSEDED = "Superseded"
    """Somebody asked for another generation meanwhile."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far a change is, why, and in words for a line of progress."""

    state: State
    reason: str
    message: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


def patience(verdict: Verdict) -> float | None:
    """After how many seconds of a cause a change has failed; None where it only goes on."""
    if verdict.state is not State.PROGRESSING:
        return None
    refused = verdict.reason.startswith(f"{_REFUSED_WRITE}Create")
    return _PATIENCE.get(_REFUSED_WRITE if refused else verdict.reason)


_UNSEEN: Final = Verdict(State.PROGRESSING, "NotObserved", "the operator has not seen this generation yet")


def judge(
    kind: str,
    obj: Object,
    generation: int,
    running: Object | None = None,
    pods: Sequence[Object] | None = None,
    revisions: Sequence[Revision] = (),
) -> Verdict:
    """Whether ``generation`` of an object has come true.

    Args:
        kind: RayCluster, RayService or RayJob.
        obj: The object as it is now.
        generation: The generation that is waited for.
        running: Of a RayService the spec of the RayCluster that serves; needed where KubeRay's operator acts.
        pods: Those of a RayCluster; needed there, too.
        revisions: What was asked of a RayCluster before; without them a pod that admission changed may look older.
    """
    metadata = section(obj, "metadata")
    now = int(metadata.get("generation") or 0)
    if now > generation:
        return Verdict(State.SUPERSEDED, "Superseded", f"generation {now} was requested meanwhile")
    if metadata.get("deletionTimestamp"):
        return Verdict(State.FAILED, "Deleted", "the object is being deleted")
    found = {str(one.get("type")): one for one in entries(section(obj, "status"), "conditions")}
    if (stalled := _of(found, "Stalled", generation)) and stalled.get("status") == "True":
        return _verdict(State.FAILED, stalled)
    if (quota := _of(found, QUOTA_RESERVED, generation)) and _never_fits(quota):
        return _verdict(State.BLOCKED, quota)
    if kind == "RayCluster" and (trouble := _trouble(_of(found, "Ready", generation))):
        return trouble
    if (reconciling := _of(found, "Reconciling", generation)) and reconciling.get("status") == "True":
        return _verdict(State.PROGRESSING, reconciling)
    if kind == "RayService":
        return _service(obj, found, generation, running)
    if kind == "RayCluster":
        return _cluster(obj, found, generation, pods, revisions)
    if "Stalled" in found and _of(found, "Stalled", generation) is None:
        # A job that has ended may be so by an earlier spec.
        return Verdict(State.PROGRESSING, "NotObserved", "the operator has not seen this generation yet")
    return _job(obj)


def judge_end(job: Object) -> Verdict:
    """How a RayJob that has ended did so: by the spec that ran, whatever was written into it since."""
    found = _job(job)
    if found.state is not State.PROGRESSING:
        return found
    return judge("RayJob", job, int(section(job, "metadata").get("generation") or 0))


def _service(obj: Object, found: dict[str, Object], generation: int, running: Object | None) -> Verdict:
    spec = section(obj, "spec")
    if spec.get("suspend"):
        suspended = found.get("Suspended", {})
        if suspended.get("status") == "True":
            return _verdict(State.APPLIED, suspended)
        return Verdict(State.PROGRESSING, "Suspending", "clusters and Services are being deleted")
    if "Progressing" not in found:
        return _kuberay_service(obj, found, running)
    progressing = _of(found, "Progressing", generation)
    if progressing is None:
        return _UNSEEN
    if progressing.get("status") == "False":
        return _verdict(State.FAILED, progressing)
    if (drifted := found.get("Drifted", {})).get("status") == "True":
        return _verdict(State.FAILED, drifted)
    done = progressing.get("reason") == "NewReleaseAvailable" and _is(found, "Ready", "True")
    if done and _is(found, "UpgradeInProgress", "False"):
        return _verdict(State.APPLIED, progressing)
    return _verdict(State.PROGRESSING, progressing)


def _kuberay_service(obj: Object, found: dict[str, Object], running: Object | None) -> Verdict:
    status, spec = section(obj, "status"), section(obj, "spec")
    ready: Object = found.get("Ready", {})
    if ready.get("reason") in ("ValidationFailed", "InitializingTimeout"):
        return _verdict(State.FAILED, ready)
    coming, serving = section(status, "pendingServiceStatus"), section(status, "activeServiceStatus")
    pending: Any = coming.get("rayClusterName")
    if failed := _failed_application(coming if pending else serving):
        return failed
    if pending:
        return Verdict(State.PROGRESSING, "UpgradeInProgress", f"RayCluster {pending} is being prepared")
    applications = section(serving, "applicationStatuses")
    waiting = [name for name, one in applications.items() if is_object(one) and one.get("status") != _RUNNING]
    if ready.get("status") != "True" or waiting or not applications:
        return Verdict(State.PROGRESSING, "NotReady", ", ".join(waiting) or str(ready.get("message") or ""))
    if running is None:
        return Verdict(State.PROGRESSING, UNREAD, "the cluster that serves was not read")
    strategy: Any = section(spec, "upgradeStrategy").get("type")
    live, wanted = (msgspec.convert(part, RayClusterSpec) for part in (running, section(spec, "rayClusterConfig")))
    change = release_change(live, wanted, in_place_only=strategy == "None").effect
    if change is Effect.NEXT_CLUSTER:
        return Verdict(State.FAILED, "Drifted", "upgradeStrategy.type None keeps the cluster that serves")
    if change is not Effect.IGNORED:
        return Verdict(State.PROGRESSING, "NotObserved", "the cluster that serves is of an earlier spec")
    return Verdict(State.APPLIED, "Ready", str(ready.get("message") or ""))


def _failed_application(cluster: Object) -> Verdict | None:
    """An application that Ray could not deploy; KubeRay leaves it so, and the status may be of the config before."""
    for name, one in section(cluster, "applicationStatuses").items():
        if is_object(one) and one.get("status") == DEPLOY_FAILED:
            where = f"RayCluster {cluster.get('rayClusterName')}"
            return Verdict(
                State.PROGRESSING, DEPLOY_FAILED, f"application {name} on {where}: {one.get('message') or ''}"
            )
    return None


def _trouble(ready: Object | None) -> Verdict | None:
    """What keeps the pods of a cluster from running, where they do not get over it by themselves."""
    if ready is None or ready.get("status") == "True":
        return None
    found = _verdict(State.PROGRESSING, ready)
    return found if patience(found) is not None else None


def _cluster(
    obj: Object,
    found: dict[str, Object],
    generation: int,
    pods: Sequence[Object] | None,
    revisions: Sequence[Revision],
) -> Verdict:
    status, spec = section(obj, "status"), section(obj, "spec")
    accepted = _of(found, "Accepted", generation)
    if accepted is not None and accepted.get("status") == "False":
        return _verdict(State.FAILED, accepted)
    kuberay = accepted is None and "Ready" not in found and "HeadPodReady" in found
    if int(status.get("observedGeneration") or 0) < generation and not kuberay:
        return _UNSEEN
    if spec.get("suspend"):
        done = status.get("state") == "suspended"
        return Verdict(State.APPLIED if done else State.PROGRESSING, "Suspended" if done else "Suspending")
    head: Object = found.get("HeadPodReady", {})
    if head.get("reason") in _NEVER_STARTS:
        return _verdict(State.FAILED, head)
    if (drifted := found.get("Drifted", {})).get("status") == "True":
        return _verdict(State.PROGRESSING if _renews(obj) else State.FAILED, drifted)
    ready = found.get("Ready")
    if ready is not None:
        state = State.APPLIED if ready.get("status") == "True" else State.PROGRESSING
        return _verdict(State.FAILED if ready.get("reason") in _NEVER_STARTS else state, ready)
    return _kuberay_cluster(obj, head, generation, pods, revisions)


def _kuberay_cluster(
    obj: Object, head: Object, generation: int, pods: Sequence[Object] | None, revisions: Sequence[Revision]
) -> Verdict:
    """By the status where it is of this generation: KubeRay writes none where nothing else in it changes."""
    if trouble := _trouble(head):
        return trouble
    status = section(obj, "status")
    workers, desired = int(status.get("readyWorkerReplicas") or 0), int(status.get("desiredWorkerReplicas") or 0)
    counted = f"{workers} of {desired} workers are ready"
    seen = int(status.get("observedGeneration") or 0) >= generation
    if seen and (status.get("state") != "ready" or workers != desired or head.get("status") != "True"):
        return Verdict(State.PROGRESSING, "NotReady", counted)
    if pods is None:
        return Verdict(State.PROGRESSING, UNREAD, counted if seen else _UNSEEN.message)
    if (older := _of_earlier_template(obj, pods, revisions)) is not None:
        return older
    if not seen:
        groups = msgspec.convert(section(obj, "spec"), RayClusterSpec).worker_group_specs or ()
        workers = desired = sum(map(desired_workers, groups))
    nodes = [pod for pod in pods if _node_type(pod) in (labels.HEAD, labels.WORKER)]
    if len(nodes) != 1 + desired or not all(map(_is_ready, nodes)):
        # of pods that were deleted a moment ago the status still says that they are ready
        return Verdict(State.PROGRESSING, PODS_LAG, "the status is of pods that are gone") if seen else _UNSEEN
    return Verdict(State.APPLIED, "Ready", f"{workers} of {desired} workers are ready")


def _node_type(pod: Object) -> Any:
    return section(section(pod, "metadata"), "labels").get(labels.NODE_TYPE)


def _is_ready(pod: Object) -> bool:
    conditions = entries(section(pod, "status"), "conditions")
    going = section(pod, "metadata").get("deletionTimestamp")
    return not going and any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _of_earlier_template(obj: Object, pods: Sequence[Object], revisions: Sequence[Revision]) -> Verdict | None:
    """What KubeRay's status leaves out: whether the pods are of the template that is asked for now."""
    older = older_pods(obj, pods, revisions)
    if not older:
        return None
    names = [str(section(one, "metadata").get("name")) for one in older]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    message = f"pod {names[0]}{more} of an earlier template"
    going = all(section(one, "metadata").get("deletionTimestamp") for one in older)
    if going or _renews(obj):
        return Verdict(State.PROGRESSING, OLDER_PODS, f"{message} will be replaced")
    keeps = "keep running" if more else "keeps running"
    return Verdict(
        State.FAILED, OLDER_PODS, f"{message} {keeps}: KubeRay replaces pods only with upgradeStrategy Recreate"
    )


def _renews(obj: Object) -> bool:
    """Whether pods of an earlier template are replaced by the operator."""
    annotations = section(section(obj, "metadata"), "annotations")
    strategy: Any = section(section(obj, "spec"), "upgradeStrategy").get("type")
    return strategy == "Recreate" or annotations.get(labels.ROLLING_UPDATE) == "workers"


def _job(obj: Object) -> Verdict:
    status, spec = section(obj, "status"), section(obj, "spec")
    phase, outcome = str(status.get("jobDeploymentStatus") or ""), str(status.get("jobStatus") or "")
    message = str(status.get("message") or "")
    if phase == "Suspended" and spec.get("suspend"):
        return Verdict(State.APPLIED, phase)
    if phase in ("Complete", "Failed", "ValidationFailed"):
        done = phase == "Complete" and outcome == "SUCCEEDED"
        return Verdict(State.APPLIED if done else State.FAILED, str(status.get("reason") or outcome or phase), message)
    return Verdict(State.PROGRESSING, phase or "New", outcome)


def _of(found: dict[str, Object], kind: str, generation: int) -> Object | None:
    """A condition, if it is about this generation."""
    one = found.get(kind)
    return one if one is not None and int(one.get("observedGeneration") or 0) >= generation else None


def _never_fits(quota: Object) -> bool:
    return quota.get("status") == "False" and quota.get("reason") == NEVER_FITS


def _is(found: dict[str, Object], kind: str, status: str) -> bool:
    return found.get(kind, {}).get("status") == status


def _verdict(state: State, condition: Object) -> Verdict:
    return Verdict(state, str(condition.get("reason") or ""), str(condition.get("message") or ""))
