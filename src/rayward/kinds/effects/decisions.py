"""The two questions behind every effect, on typed specs, cheap enough for every reconcile."""

from __future__ import annotations

from dataclasses import dataclass

from rayward.kinds import labels
from rayward.kinds.effects.change import Effect
from rayward.kinds.hashing import release_hash
from rayward.kinds.raycluster import RayCluster, RayClusterSpec


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """What a service's cluster spec asks of the cluster that serves.

    Attributes:
        effect: IGNORED where it is the same release, SCALE where only groups were added at the end, NEW_CLUSTER where
            another cluster is needed, NEXT_CLUSTER where one is needed and the strategy forbids it.
        wanted: The hash of the spec asked for.
    """

    effect: Effect
    wanted: str


def release_change(
    running: RayClusterSpec, wanted: RayClusterSpec, *, in_place_only: bool = False, running_hash: str = ""
) -> ReleaseChange:
    """Compare a service's ``rayClusterConfig`` with the cluster that serves.

    Args:
        running: The spec of the RayCluster.
        wanted: The spec asked for.
        in_place_only: The service's upgrade strategy is None.
        running_hash: The release of the running cluster where it is recorded: sizes of the live spec never count, but
            an older version of the hash may.
    """
    before, after = running_hash or release_hash(running), release_hash(wanted)
    if before == after:
        return ReleaseChange(Effect.IGNORED, after)
    count = len(running.worker_group_specs or ())
    if count < len(wanted.worker_group_specs or ()) and release_hash(wanted, count) == before:
        return ReleaseChange(Effect.SCALE, after)
    return ReleaseChange(Effect.NEXT_CLUSTER if in_place_only else Effect.NEW_CLUSTER, after)


def renewal(cluster: RayCluster) -> Effect:
    """What becomes of running pods of a RayCluster whose template is another one now."""
    strategy = cluster.spec.upgrade_strategy
    if strategy is not None and strategy.type == "Recreate":
        return Effect.RECREATE
    if cluster.metadata.annotation(labels.ROLLING_UPDATE) == "workers":
        return Effect.ROLLING_WORKERS
    return Effect.NEXT_PODS
