"""A spec that cannot be acted upon: said in a condition and an event, and what ran keeps running."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.validation import FEATURE_MISSING, Problem, cluster_warnings, listed, only_lacks_features
from rayward.operator.cluster import ailments
from rayward.operator.cluster.observe import Observed
from rayward.operator.cluster.plan import Note, Plan
from rayward.operator.cluster.status import changed, refused_status


def refuse(cluster: RayCluster, observed: Observed, now: datetime, problems: Sequence[Problem]) -> Plan:
    """Tell what is wrong, and touch nothing."""
    about_name = all(problem.path.startswith("metadata") for problem in problems)
    usual = "InvalidMetadata" if about_name else "InvalidSpec"
    reason = FEATURE_MISSING if only_lacks_features(problems) else usual
    message = listed(problems)
    status = refused_status(cluster, observed, now, reason, message)
    event = "InvalidRayClusterMetadata" if about_name else "InvalidRayClusterSpec"
    return Plan(
        notes=(Note("Warning", event, message),),
        status=status if changed(cluster.status, status) else None,
        logs=ailments.logs_wanted(observed.pods, observed.logs),
    )


def warnings(cluster: RayCluster) -> tuple[Note, ...]:
    """What works otherwise than its author may think; an annotation can say it of a generation seen long ago."""
    found = cluster_warnings(cluster)
    return (Note("Warning", "UnexpectedRayClusterSpec", listed(found)),) if found else ()
