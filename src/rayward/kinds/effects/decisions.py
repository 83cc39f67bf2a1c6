"""The questions behind every effect, on typed specs, cheap enough for every reconcile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rayward.kinds import labels
from rayward.kinds.effects.change import Effect
from rayward.kinds.hashing import is_hash_of, release_hash
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kube.machinery.jsonvalue import Object

Code = frozenset[tuple[str, str]]
"""What a Serve config has behind each route: the name and the import path of an application. One without a route, which
others call, counts by its name."""


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """What a service's cluster spec asks of the cluster that serves.

    Attributes:
        effect: IGNORED where it is the same release, SCALE where only groups were added at the end, ROLLING_WORKERS
            where new workers are enough, NEW_CLUSTER where another cluster is needed, NEXT_CLUSTER where one is needed
            and the strategy forbids it.
        wanted: The hash of the spec asked for.
    """

    effect: Effect
    wanted: str


def release_change(
    running: RayClusterSpec,
    wanted: RayClusterSpec,
    *,
    in_place_only: bool = False,
    rolls_workers: bool = False,
    running_hash: str = "",
) -> ReleaseChange:
    """Compare a service's ``rayClusterConfig`` with the cluster that serves.

    Args:
        running: The spec of the RayCluster.
        wanted: The spec asked for.
        in_place_only: The service's upgrade strategy is None.
        rolls_workers: With that strategy, workers of the cluster that serves may be replaced one by one.
        running_hash: The release of the running cluster where it is recorded, in whichever version of the hash.
    """
    before, after = running_hash or release_hash(running), release_hash(wanted)
    if is_hash_of(before, wanted):
        return ReleaseChange(Effect.IGNORED, after)
    count = len(running.worker_group_specs or ())
    if count < len(wanted.worker_group_specs or ()) and is_hash_of(before, wanted, count):
        return ReleaseChange(Effect.SCALE, after)
    if in_place_only and rolls_workers and _is_of_workers(running, wanted):
        return ReleaseChange(Effect.ROLLING_WORKERS, after)
    return ReleaseChange(Effect.NEXT_CLUSTER if in_place_only else Effect.NEW_CLUSTER, after)


def _is_of_workers(running: RayClusterSpec, wanted: RayClusterSpec) -> bool:
    """Whether the head stays as it is, and every group of the running cluster at its place.

    A head of another spec than its workers could be of another version of Ray.
    """
    before, after = running.worker_group_specs or [], wanted.worker_group_specs or []
    if len(after) < len(before) or release_hash(running, 0) != release_hash(wanted, 0):
        return False
    # hosts of one replica start and end together: another number of them is no replacement one by one
    places = [[(group.group_name, group.num_of_hosts or 1) for group in groups] for groups in (before, after)]
    return places[0] == places[1][: len(before)]


def code_of(applications: Iterable[Object]) -> Code:
    """The code behind the routes of a Serve config."""
    return frozenset(_code_of(app) for app in applications)


def _code_of(app: Object) -> tuple[str, str]:
    name, route = app.get("name", "default"), app.get("route_prefix", "/")
    return f"application {name}" if route is None else f"route {route}", f"{name} {app.get('import_path')}"


def replaced_code(running: Code, wanted: Code) -> str:
    """What stays and gets an application of another name or import path; empty where all keep their code.

    Ray deletes the deployments of the old one before a replica of the new ones is up, unless they have the same names:
    in place, requests are lost if the new ones fail.
    """
    before = dict(running)
    return next((what for what, code in sorted(wanted) if before.get(what, code) != code), "")


def renewal(cluster: RayCluster) -> Effect:
    """What becomes of running pods of a RayCluster whose template is another one now."""
    strategy = cluster.spec.upgrade_strategy
    if strategy is not None and strategy.type == "Recreate":
        return Effect.RECREATE
    if cluster.metadata.annotation(labels.ROLLING_UPDATE) == "workers":
        return Effect.ROLLING_WORKERS
    return Effect.NEXT_PODS
