"""The quality of service that a pod's requests and limits amount to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.quantity import Quantity, parse

_MEASURED = ("cpu", "memory")
_NO_ITEMS: tuple[Any, ...] = ()
_NOTHING: Mapping[str, Any] = {}


def quality(spec: Mapping[str, Any]) -> str:
    """``Guaranteed``, ``Burstable`` or ``BestEffort``."""
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    own = spec.get("resources")
    if own is not None:
        _add(requests, own.get("requests"))
        _add(limits, own.get("limits"))
        guaranteed = not own.get("limits") or len(limits) == len(_MEASURED)
    else:
        for field in ("containers", "initContainers"):
            for container in spec.get(field) or _NO_ITEMS:
                resources = container.get("resources") or _NOTHING
                _add(requests, resources.get("requests"))
                if _add(limits, resources.get("limits")) < len(_MEASURED):
                    guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _add(target: dict[str, Quantity], amounts: Mapping[str, str] | None) -> int:
    found = 0
    for name in _MEASURED if amounts else ():
        value = parse(amounts[name]) if amounts and name in amounts else None
        if value is not None and value.unscaled > 0:
            found += 1
            target[name] = target[name] + value if name in target else value
    return found
