"""What is measured of the gate."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class GateMetrics:
    """How often pods were found to run, or to be let run, without quota."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._violations = Counter(
            "rayward_gate_violations",
            "RayClusters found to run pods, or to be let run pods, that no quota was reserved for.",
            ["namespace"],
            registry=registry,
        )

    def violated(self, namespace: str) -> None:
        """A gate was found open, and closed."""
        self._violations.labels(namespace).inc()
