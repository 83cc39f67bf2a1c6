"""What the runs for services work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rayward.kube.client.api import Client
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import Resource
from rayward.kube.runtime.clock import Clock
from rayward.kube.runtime.events import EventRecorder
from rayward.operator.ray.poller import Poller
from rayward.operator.service.observe import Caches
from rayward.operator.service.outcomes import ChangeObserver
from rayward.operator.unbroken import Unbroken


@dataclass(frozen=True, slots=True)
class Tools:
    """The same for every run."""

    client: Client
    caches: Caches
    recorder: EventRecorder
    poller: Poller
    clock: Clock
    wrote: Callable[[Key, Resource, KubeObject], None]
    unbroken: Unbroken
    changes: ChangeObserver | None = None
