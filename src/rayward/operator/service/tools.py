"""What the runs for services work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rayward.kinds.rayservice import RayService
from rayward.kube.client.api import Client
from rayward.kube.runtime.clock import Clock
from rayward.kube.runtime.events import ComponentRecorder
from rayward.kube.runtime.writer import Writer
from rayward.operator.ray.observation import Observation, Target
from rayward.operator.ray.poller import Poller
from rayward.operator.service.metrics import ServiceMetrics
from rayward.operator.service.observe import Caches


@dataclass(frozen=True, slots=True)
class Tools:
    """The same for every run."""

    client: Client
    caches: Caches
    recorder: ComponentRecorder
    poller: Poller[Target, Observation]
    clock: Clock
    writer: Callable[[RayService], Writer]
    changes: ServiceMetrics
