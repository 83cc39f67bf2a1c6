"""AdmissionChecks that no Workload of ours can pass: Kueue's own MultiKueue check.

It rejects a Workload that no object of Kueue's own controls, and Kueue then deactivates it (Kueue v0.18.2:
pkg/controller/admissionchecks/multikueue/workload.go). Nothing is asked of a queue that has it, until it has not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from rayward.kinds import labels
from rayward.kinds.kueue import AdmissionCheck, ClusterQueue, LocalQueue
from rayward.kinds.managedby import MULTIKUEUE
from rayward.kube.core.objects import Key
from rayward.kube.runtime.cache import Cache

UNSUPPORTED: Final = "UnsupportedAdmissionCheck"


def unsupported_check(
    queue: Key, local_queues: Cache[LocalQueue], cluster_queues: Cache[ClusterQueue], checks: Cache[AdmissionCheck]
) -> str:
    """Why nothing can be asked of a LocalQueue; empty where it can."""
    local = local_queues.get(queue)
    found = cluster_queues.get(Key("", local.spec.cluster_queue)) if local is not None else None
    for name in _checks_of(found):
        check = checks.get(Key("", name))
        if check is not None and check.spec.controller_name == MULTIKUEUE:
            return (
                f"ClusterQueue {local.spec.cluster_queue if local is not None else ''} has AdmissionCheck {name} of "
                f"Kueue's own MultiKueue, which rejects Workloads of Rayward: use an AdmissionCheck with "
                f"spec.controllerName {labels.MULTICLUSTER}, or a queue without it"
            )
    return ""


def where_checks_change(
    keys: Callable[[], Iterable[Key]],
) -> Callable[[ClusterQueue | None, ClusterQueue | None], Iterable[Key]]:
    """Keys to run when a ClusterQueue has other checks; its status changes with each admission."""

    def changed(old: ClusterQueue | None, new: ClusterQueue | None) -> Iterable[Key]:
        return keys() if _checks_of(old) != _checks_of(new) else ()

    return changed


def _checks_of(queue: ClusterQueue | None) -> list[str]:
    strategy = queue.spec.admission_checks_strategy if queue is not None else None
    return [one.name for one in (strategy.admission_checks or ())] if strategy is not None else []
