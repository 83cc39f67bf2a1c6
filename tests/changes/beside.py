"""Somebody who writes between two requests of an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rayward.changes.steps import Operation, Send
from rayward.kube.client.errors import ApiError


def with_another_writer(operation: Operation[Any], at: int, write: Callable[[], None]) -> Operation[Any]:
    """The same operation, with somebody else's write before its n-th request."""
    count, step = 0, next(operation)
    while True:
        if isinstance(step, Send):
            count += 1
            if count == at:
                write()
        try:
            answer = yield step
        except ApiError as error:
            step = operation.throw(error)
            continue
        try:
            step = operation.send(answer)
        except StopIteration as done:
            return done.value
