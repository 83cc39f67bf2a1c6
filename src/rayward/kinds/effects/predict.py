"""The effects of one edit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from rayward.kinds.effects.change import Change, Effect, Effects, Rules
from rayward.kinds.effects.cluster import cluster_changes, cluster_edit
from rayward.kinds.effects.differences import Difference, differences
from rayward.kinds.effects.job import job_changes
from rayward.kinds.effects.service import service_changes, service_edit
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kinds.rayjob import RayJob
from rayward.kinds.rayservice import RayService
from rayward.kinds.validation import FEATURE_MISSING, Problem, cluster_problems, job_problems, service_problems
from rayward.kube.machinery.jsonvalue import Object, section

_HIDDEN: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deployment.kubernetes.io/revision",
    }
)
_CONFIGS: Final = ("spec.serveConfigV2", "spec.serveDeploymentGraphSpec")


def effects(
    kind: str,
    old: Object,
    new: Object,
    rules: Rules = Rules.RAYWARD,
    *,
    running: Object | None = None,
    serving: Object | None = None,
    problems: Sequence[Problem] | None = None,
) -> Effects:
    """What changing ``old`` into ``new`` does, field by field.

    Args:
        kind: RayCluster, RayService or RayJob.
        old: The object before, with its status: what an edit of a RayJob does depends on where the job stands.
        new: The object after, with the defaults that the API server fills in.
        rules: Whose operator acts on the object.
        running: Of a RayService the ``spec`` of the RayCluster that serves, where it is known: an upgrade that is
            still in progress, or was held back, makes it another one than ``old`` says.
        serving: The Serve config that last ran on that cluster, where it is known.
        problems: What validation found wrong with ``new``; found here where it is not given.

    Raises:
        ValueError: ``kind`` is none of the three.
        msgspec.ValidationError: A version does not have the structure of its kind.
    """
    found = list(_found(old, new))
    if not found:
        return Effects()
    if kind == "RayCluster":
        before, after = (msgspec.convert(given, RayCluster) for given in (old, new))
        refused = _counts(cluster_problems(after) if problems is None else problems, rules)
        return _effects(cluster_changes(cluster_edit(before, after, rules), iter(found)), refused)
    if kind == "RayService":
        old_service, new_service = (msgspec.convert(given, RayService) for given in (old, new))
        live = None if running is None else msgspec.convert(running, RayClusterSpec)
        refused = _counts(service_problems(new_service) if problems is None else problems, rules)
        return _effects(service_changes(service_edit(old_service, new_service, rules, live, serving), found), refused)
    if kind == "RayJob":
        refused = _counts(job_problems(msgspec.convert(new, RayJob)) if problems is None else problems, rules)
        return _effects(job_changes(old, new, rules, found), refused)
    raise ValueError(f"no effects are known for kind {kind!r}: RayCluster, RayService and RayJob have them")


def _found(old: Object, new: Object) -> Iterable[Difference]:
    for part in ("annotations", "labels"):
        before, after = (section(section(given, "metadata"), part) for given in (old, new))
        for difference in differences(before, after, ("metadata", part)):
            if difference.segments[-1] not in _HIDDEN:
                yield difference
    yield from differences(section(old, "spec"), section(new, "spec"), ("spec",))


def _effects(changes: Iterable[Change], refused: Sequence[Problem]) -> Effects:
    if not refused:
        return Effects(tuple(changes))
    why = f"{refused[0]}" if len(refused) == 1 else f"{refused[0]}; and {len(refused) - 1} more"
    return Effects(tuple(_refused(change, why) for change in changes))


def _refused(change: Change, why: str) -> Change:
    """To stop is possible whatever else the spec says."""
    if change.effect in (Effect.SUSPEND, Effect.REFUSED):
        return change
    return dataclasses.replace(change, effect=Effect.REFUSED, why=why, restarts=())


def _counts(problems: Sequence[Problem], rules: Rules) -> Sequence[Problem]:
    """KubeRay has features that Rayward has not, and reads no serve config before it sends it."""
    if rules is Rules.RAYWARD:
        return problems
    return [problem for problem in problems if problem.reason != FEATURE_MISSING and problem.path not in _CONFIGS]
