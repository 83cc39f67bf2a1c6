"""What a RayJob that is under way waits for, in a sentence.

It names what a user can look at, and stays the same while the state machine takes its small steps: each other sentence
is a write.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import RayJobStatus
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.resource import JOBS
from rayward.operator.job.annotations import Attempt

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def progress(
    status: RayJobStatus,
    attempt: Attempt | None,
    *,
    selected: bool,
    absent: bool = False,
    submitter: str = "",
    chosen: str = "",
    uncreated: Mapping[str, str] = _NONE,
) -> str:
    """The sentence for a status that is about to be written; empty where nothing is under way.

    Args:
        status: The status.
        attempt: The attempt that it is about.
        selected: Whether ``clusterSelector`` names the cluster.
        absent: Whether the cluster does not exist.
        submitter: The Kubernetes Job that submits, where one does.
        chosen: The id of the job that a user says to follow.
        uncreated: Why the server refuses to create a child, by its kind.
    """
    cluster, job = f"RayCluster {status.ray_cluster_name}", f"job {status.job_id}"
    silence = attempt.silent_since if attempt is not None else ""
    match Phase(status.job_deployment_status):
        case Phase.INITIALIZING | Phase.RUNNING if silence:
            return f"The dashboard of {cluster} has not answered since {silence}"
        case Phase.INITIALIZING if selected and absent:
            return f"{cluster} does not exist: create it, or correct spec.clusterSelector"
        case Phase.INITIALIZING if absent and RAY_CLUSTERS.kind in uncreated:
            return f"{cluster} cannot be created: {uncreated[RAY_CLUSTERS.kind]}"
        case Phase.INITIALIZING:
            return f"Waiting for {cluster}"
        case Phase.WAITING if chosen:
            return f"{cluster} has no job {chosen} yet: submit it, or correct spec.jobId"
        case Phase.WAITING:
            return f"Waiting for a job on {cluster}: write its submission id into spec.jobId"
        case Phase.RUNNING if status.job_status:
            return f"{cluster} has {job}"
        case Phase.RUNNING if submitter and JOBS.kind in uncreated:
            return f"Job {submitter} cannot be created: {uncreated[JOBS.kind]}"
        case Phase.RUNNING if submitter:
            return f"Waiting for Job {submitter} to submit {job} to {cluster}"
        case Phase.RUNNING:
            return f"Submitting {job} to {cluster}"
        case Phase.SUSPENDING:
            return f"Stopping {job}" if selected else f"Stopping {job} and deleting {cluster}"
        case Phase.RETRYING:
            return f"Deleting {cluster} before the next attempt"
        case _:
            return ""


__all__ = ["progress"]
