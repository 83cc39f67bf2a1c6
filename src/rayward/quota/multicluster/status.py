"""The status of a RayService of a manager cluster: what its worker cluster reports, and where a change stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kube.core.meta import with_condition
from rayward.kube.core.objects import Condition
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.quota.multicluster.state import Report

RECONCILING: Final = "Reconciling"


def status_of(generation: int, before: Object, remote: Object | None, report: Report, now: datetime) -> Object:
    """The status to write.

    ``observedGeneration`` is the manager's own: it moves once the worker cluster has acted upon what was forwarded.
    Conditions of the worker cluster count generations of its own copy, so theirs is left out until then.

    Args:
        generation: Of the RayService of the manager cluster.
        before: Its status as it is.
        remote: The whole RayService of the worker cluster; None before there is one.
        report: Where the change stands.
        now: The time of conditions that change.
    """
    theirs = section(remote, "status") if remote is not None else {}
    settled = report.current and remote is not None and _is_settled(remote)
    made: Object = {name: value for name, value in theirs.items() if name not in ("conditions", "observedGeneration")}
    known = _conditions(before)
    found = tuple(
        msgspec.structs.replace(one, observed_generation=generation if settled else None)
        for one in _conditions(theirs)
        if one.type != QUOTA_RESERVED
    )
    quota = Condition(
        type=QUOTA_RESERVED,
        status="True" if report.reserved else "False",
        reason=report.reason,
        message=report.message,
        observed_generation=generation,
    )
    found = (*found, *with_condition(_only(known, QUOTA_RESERVED), quota, now))
    if not report.current:
        waits = Condition(
            type=RECONCILING,
            status="True",
            reason=report.reason,
            message=report.message,
            observed_generation=generation,
        )
        others = tuple(one for one in found if one.type != RECONCILING)
        found = (*others, *with_condition(_only(known, RECONCILING), waits, now))
    made["conditions"] = [msgspec.to_builtins(one) for one in found]
    observed: Any = before.get("observedGeneration")
    if settled:
        observed = generation
    if observed is not None:
        made["observedGeneration"] = observed
    return made


def _is_settled(remote: Object) -> bool:
    return section(remote, "status").get("observedGeneration") == section(remote, "metadata").get("generation")


def _conditions(status: Object) -> tuple[Condition, ...]:
    return msgspec.convert(status.get("conditions") or [], tuple[Condition, ...])


def _only(conditions: Sequence[Condition], kind: str) -> tuple[Condition, ...]:
    return tuple(one for one in conditions if one.type == kind)
