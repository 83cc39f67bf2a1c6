"""Simulated Ray in every head pod that somebody asks: each pod its own cluster."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.operator.ray.reach import Place
from tests.operator.ray.behaviour import Behaviour, Timings
from tests.operator.ray.simulated import SimulatedHead, SimulatedReach

_QUICK: Final = Behaviour(build_seconds=0.05, start_seconds=0.05, stop_seconds=0.05)
_TIMINGS: Final = Timings(tick=0.02, serve_start=0.02, put=0.0, get=0.0, slow_startup=0.2, graceful_shutdown=0.1)

BEHAVIOURS: Final = {
    "app:one": replace(_QUICK, word="one"),
    "app:two": replace(_QUICK, word="two"),
    "app:three": replace(_QUICK, word="three"),
    "app:broken": replace(_QUICK, build_error="ModuleNotFoundError: No module named 'app'"),
    "app:raises": replace(_QUICK, constructor_error="RuntimeError: no weights"),
    "app:huge": replace(_QUICK, cpus=16.0),
    "app:grouped": replace(_QUICK, cpus=16.0, grouped=True),
    "app:hangs": replace(_QUICK, hangs=True),
    "app:sickly": replace(_QUICK, sick_after=1.5, stop_seconds=3.0),
}


class PodHeads(SimulatedReach):
    """A way to the dashboards of pods. What Ray knows outlives the operator, not the pod."""

    def __init__(self) -> None:
        super().__init__()
        self.behaviours = dict(BEHAVIOURS)
        self.token = ""

    def find(self, place: Place) -> SimulatedHead:
        """The head in a pod, begun when it is first asked."""
        head = self.heads.get(place.name)
        if head is None:
            head = SimulatedHead(
                SYSTEM_CLOCK.now,
                name=place.name,
                instance=place.name,
                token=self.token,
                behaviours=self.behaviours,
                timings=_TIMINGS,
            )
            self.heads[place.name] = head
        return head

    def of(self, cluster: str) -> SimulatedHead:
        """The head that was last begun in a cluster."""
        return [head for name, head in self.heads.items() if name.startswith(f"{cluster}-head")][-1]

    def words(self, cluster: str) -> bytes:
        """What the applications of a cluster answer."""
        answer = self.of(cluster).visit("/")
        return answer.body if answer is not None else b""
