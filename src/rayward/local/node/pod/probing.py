"""When a probe is due, and what its answers add up to."""

from __future__ import annotations

import msgspec

from rayward.kube.machinery.jsonvalue import Object


class Settings(msgspec.Struct, frozen=True):
    """The numbers of a probe."""

    initial_delay: float
    period: float
    timeout: float
    successes: int
    failures: int

    @classmethod
    def of(cls, probe: Object) -> Settings:
        """As written, or Kubernetes' own."""
        return cls(
            probe.get("initialDelaySeconds") or 0,
            probe.get("periodSeconds") or 10,
            probe.get("timeoutSeconds") or 1,
            probe.get("successThreshold") or 1,
            probe.get("failureThreshold") or 3,
        )


class Tally(msgspec.Struct, frozen=True):
    """How often the probe said the same in a row, and what holds by that."""

    healthy: bool | None = None
    row: int = 0
    last: bool | None = None


def count(tally: Tally, answer: bool, settings: Settings) -> Tally:
    """The tally with one more answer."""
    row = tally.row + 1 if answer is tally.last else 1
    needed = settings.successes if answer else settings.failures
    return Tally(answer if row >= needed else tally.healthy, row, answer)


def first_due(started: float, settings: Settings) -> float:
    """When to ask for the first time."""
    return started + settings.initial_delay


def next_due(due: float, now: float, settings: Settings) -> float:
    """When to ask again, after the question that was due at ``due`` was answered.

    Questions keep to the beat of the first one. Of those that a slow answer or a slow machine made late, only the last
    is made up for, as the kubelet's clock does.
    """
    missed = int((now - due) // settings.period)
    return due + settings.period * max(missed, 1)
