"""A status as JSON, and the merge patch from one to the next."""

from __future__ import annotations

from typing import Any

import msgspec

from rayward.kube.core.objects import Condition
from rayward.kube.machinery.jsonvalue import Object, is_object


def condition_body(condition: Condition) -> Object:
    """Whole: schemas require these fields, empty or not."""
    body: Object = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.last_transition_time is not None:
        body["lastTransitionTime"] = condition.last_transition_time
    if condition.observed_generation is not None:
        body["observedGeneration"] = condition.observed_generation
    return body


def status_body(status: Any) -> Object:
    """A typed status, with whole conditions where it has any."""
    body: Object = msgspec.to_builtins(status)
    if status.conditions:
        body["conditions"] = [condition_body(found) for found in status.conditions]
    return body


def status_change(before: Object, after: Object) -> Object:
    """The merge patch; empty where nothing changes. What is gone becomes null, also in nested objects."""
    change: Object = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if is_object(value) and is_object(old):
            if inner := status_change(old, value):
                change[name] = inner
        elif old != value:
            change[name] = value
    return change
