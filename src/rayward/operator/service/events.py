"""The events of a RayService: what was decided, and what its conditions have become."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_SERVICES
from rayward.kinds.shapes import desired_workers
from rayward.kube.core.meta import condition_of, is_true
from rayward.kube.runtime.events import ComponentRecorder, EventFilter, EventType
from rayward.operator.cluster.conditions import DRIFTED
from rayward.operator.cluster.version import differs_from
from rayward.operator.service import surge
from rayward.operator.service.conditions import READY, SUSPENDED, SUSPENDING, Conditions
from rayward.operator.service.desired import Desired
from rayward.operator.service.state import ABORTED, ChildCluster, Decision

_WRITES: Final = frozenset(
    {
        "CreatedRayCluster",
        "UpdatedRayCluster",
        "SuspendedRayCluster",
        "ResumedRayCluster",
        "DeletedRayCluster",
        "SwitchedTraffic",
    }
)
"""Recorded after a write that was made: each is new, also where traffic goes back to where it was."""
DECISIONS: Final = _WRITES | {
    "UpdatingServeApplications",
    "UpdatedServeApplications",
    "ServeConfigRefused",
    "ServeDeployFailed",
    "ReplicasUnschedulable",
    "ReplicasNotStarted",
    "SurgeUnschedulable",
    "ProgressDeadlineExceeded",
    "InitializingTimeout",
    "Aborted",
    "NothingToAbort",
    "Refreshed",
    "RedeployedApplications",
    "ReplacingUnhealthyCluster",
    "SelfHealingExhausted",
    "Suspending",
    "Suspended",
    "Resumed",
}

_TRANSITIONS: Final[tuple[tuple[str, str, EventType, str, str], ...]] = (
    (READY, "True", "Normal", "Ready", "RayService is ready to serve requests"),
    (READY, "False", "Warning", "NotReady", ""),
    (SUSPENDING, "True", "Normal", "Suspending", "Deleting RayClusters and Services"),
    (SUSPENDED, "True", "Normal", "Suspended", "Deleted all RayClusters and Services"),
    (SUSPENDED, "False", "Normal", "Resumed", "Resumed: creating a RayCluster"),
)


class ServiceEvents:
    """Records events of one RayService, each once for a generation of its spec."""

    def __init__(self, recorder: ComponentRecorder, service: RayService, recorded: EventFilter) -> None:
        self._recorder = recorder
        self._service = service
        self._recorded = recorded

    def event(self, kind: EventType, reason: str, message: str) -> None:
        """Record an event, unless this generation has it already and it tells of no write."""
        if reason in _WRITES or self._recorded.is_new(self._service.metadata.generation, reason, message):
            self._recorder.event(RAY_SERVICES, self._service, kind, reason, message)

    def spec(self, desired: Desired) -> None:
        """Events of a spec: why it is rejected, and what in it has no effect."""
        if desired.rejected:
            self.event("Warning", "InvalidRayServiceSpec", desired.rejected.message)
        for reason, warning in desired.warnings:
            self.event("Warning", reason, warning)

    def decided(self, decision: Decision, *, abort: str, cleared: bool) -> None:
        """What was decided and shows in no object that was written.

        Args:
            decision: What to do.
            abort: The value of the user's annotation.
            cleared: Whether the annotations that were acted upon are gone; while not, they are acted upon again.
        """
        if decision.failure is not None:
            self.event("Warning", decision.failure.reason, decision.failure.message)
        if decision.redeploy:
            message = f"Redeploying unhealthy applications of RayCluster {decision.redeploy}"
            self.event("Warning", "RedeployedApplications", message)
        if decision.remedies and decision.create is not None and decision.active is not None:
            message = f"Replacing RayCluster {decision.active.name}: {_unhealthy(decision.active, decision.remedies)}"
            self.event("Warning", "ReplacingUnhealthyCluster", message)
        if decision.exhausted and decision.active is not None:
            self.event("Warning", "SelfHealingExhausted", exhausted_message(decision.active.remedies))
        if decision.drifted:
            message = "Kept the RayCluster: spec.rayClusterConfig changed and spec.upgradeStrategy.type is None"
            self.event("Warning", "ClusterSpecIgnored", message)
        aborted = decision.failure is not None and decision.failure.reason == ABORTED
        if cleared and labels.ABORT in decision.clear_annotations and not aborted:
            message = f"No upgrade is in progress; removed annotation {labels.ABORT}={abort}"
            # Each is an act of the user, who waits for an answer: also the second of a generation.
            self._recorder.event(RAY_SERVICES, self._service, "Warning", "NothingToAbort", message)
        for change in decision.annotate:
            if change.config is not None:
                message = f"Updating the Serve config of RayCluster {change.cluster} to {change.config}"
                self.event("Normal", "UpdatingServeApplications", message)
            elif change.surges is not None and decision.active is not None:
                message = f"No Ray node has room for a second replica of {surge.names_of(decision.active)}: "
                message += "the one that serves is given the new user_config"
                self.event("Warning", "SurgeUnschedulable", message)
            if change.good_config is not None:
                message = f"All applications of RayCluster {change.cluster} are RUNNING with Serve config "
                self.event("Normal", "UpdatedServeApplications", f"{message}{change.good_config}")

    def ray_version(self, cluster: RayCluster, running: str) -> None:
        """The Ray that answers is another one than the spec, or the tag of the image, says."""
        # The cluster's own spec: during an upgrade the service's is of a release that does not answer yet.
        if differs := differs_from(cluster.spec, running, "spec.rayClusterConfig"):
            self.event("Warning", "RayVersionDiffers", f"RayCluster {cluster.metadata.name} {differs}")

    def edited_cluster(self, cluster: RayCluster) -> None:
        """Somebody else changed the templates of the cluster that serves: the spec no longer describes it."""
        drifted = condition_of(cluster.status.conditions, DRIFTED)
        if drifted is not None and drifted.status == "True":
            message = f"RayCluster {cluster.metadata.name} was edited directly: {drifted.message}. "
            message += "Write the change into spec.rayClusterConfig, which makes a new RayCluster, or take it back"
            self.event("Warning", "RayClusterEdited", message)

    def refreshed(self, cluster: str) -> None:
        """Another value of the annotation that asks for a reconcile."""
        message = f"Annotation {labels.RESTARTED_AT} changed: read the dashboard of RayCluster {cluster} and sent its "
        self._recorder.event(
            RAY_SERVICES, self._service, "Normal", "Refreshed", f"{message}Serve config again; no pod restarts"
        )

    def dropped_groups(self, running: RayClusterSpec) -> None:
        """Worker groups that an edit lost; a merge patch replaces the whole list."""
        wanted = {group.group_name for group in self._service.spec.ray_cluster_config.worker_group_specs or ()}
        lost = [group for group in running.worker_group_specs or () if group.group_name not in wanted]
        if lost:
            named = ", ".join(f"{group.group_name} ({desired_workers(group)} pods)" for group in lost)
            message = f"spec.rayClusterConfig.workerGroupSpecs no longer has {named}: the next RayCluster is created "
            message += "without. A merge patch replaces the whole list: if you meant to keep a group, add it again"
            self.event("Warning", "WorkerGroupRemoved", message)

    def transitions(self, before: Conditions | None, after: Conditions) -> None:
        """Record each condition that has changed; conditions come and go, so these are not filtered."""
        for kind, status, event, reason, message in _TRANSITIONS:
            was, now = condition_of(before, kind), condition_of(after, kind)
            if now is None or now.status != status or (was is not None and was.status == status):
                continue
            # A new service is not ready, which is no event.
            if status == "True" or (was is not None and not is_true(after, SUSPENDING)):
                self._recorder.event(RAY_SERVICES, self._service, event, reason, message or now.message)


def exhausted_message(remedies: int) -> str:
    """Why self-healing stopped; ``remedies`` counts the redeployment too."""
    replaced = _times(max(remedies - 1, 0), "cluster replacement", "cluster replacements")
    return f"Applications are still unhealthy after {replaced} (spec.deploymentUnhealthyRestartThreshold)"


def _unhealthy(active: ChildCluster, remedies: int) -> str:
    apps = active.serve.applications if active.serve is not None else ()
    stuck = ", ".join(app.name for app in apps if app.reconfiguring)
    if stuck:
        return f"reconfigure of {stuck} does not return, and Ray ends no replica in it"
    return f"its applications are still unhealthy after {_times(remedies - 1, 'remedy', 'remedies')}"


def _times(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
