"""The embedded engine: admits Workloads as Kueue v0.18 would, where no Kueue is.

``tree`` holds quota and usage, ``queue`` who waits, ``cycle`` decides, ``engine`` keeps them together; nothing there
reads a clock or a network. ``status`` and ``lifecycle`` say what objects become, ``reconcile`` writes it.
"""

import dataclasses
from functools import partial
from typing import Final

from rayward.kinds.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from rayward.kube.core.rbac import READ, rule
from rayward.kube.core.resource import DEPLOYMENTS, LEASES, LIMIT_RANGES, NAMESPACES, RUNTIME_CLASSES
from rayward.kube.runtime.registry import Registration
from rayward.quota.engine.engine import Settings
from rayward.quota.engine.lifecycle import PodsReady
from rayward.quota.engine.reconcile import NAME, EngineReconciler, EngineSettings

__all__ = ["REGISTRATION", "EngineReconciler", "EngineSettings", "PodsReady", "Settings", "registration"]

REGISTRATION: Final = Registration(
    name=NAME,
    resource=WORKLOADS,
    component="rayward-quota",
    rules=(
        rule(READ, CLUSTER_QUEUES, LOCAL_QUEUES, COHORTS, RESOURCE_FLAVORS, ADMISSION_CHECKS),
        rule((*READ, "patch"), WORKLOADS),
        rule(("patch",), WORKLOADS, CLUSTER_QUEUES, LOCAL_QUEUES, subresource="status"),
        rule(READ, NAMESPACES, LIMIT_RANGES),
        rule(READ, RUNTIME_CLASSES),
        # a live Kueue manager is looked for before anything is admitted, and while it is
        rule(("list",), DEPLOYMENTS),
        rule(READ, LEASES),
    ),
    build=EngineReconciler,
    decisions=frozenset({"Preempted"}),
    # each writes one decision at a time and spends its time on the answer
    workers=16,
)


def registration(settings: EngineSettings) -> Registration:
    """The engine's entry, where it is to admit otherwise than by default."""
    return dataclasses.replace(REGISTRATION, build=partial(EngineReconciler, settings=settings))
