"""Operations on several objects of one kind as one: they take turns, and one watch tells of all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rayward.changes.outcomes import ChangeError, outcome_of
from rayward.changes.steps import BOOKMARK, NextChange, NextOfKind, Now, Operation, Pause, Step
from rayward.kube.client import errors

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Turn(Generic[T]):
    """One operation: what it waits for and until when, or how it ended."""

    operation: Operation[T]
    waits: NextChange | Pause | None = None
    until: float = 0.0
    ended: T | ChangeError | None = None


def together(operations: Sequence[Operation[T]]) -> Operation[tuple[T | ChangeError, ...]]:
    """Run operations that wait for objects of one kind and namespace; how each ended, in their order.

    One that fails does not keep the others back. Events of the watch begin where the first of them has read its
    object; what an operation hears of an object that it has read since is older, and is followed by the newer.
    """
    turns = [_Turn(operation) for operation in operations]
    for turn in turns:
        yield from _go_on(turn, None)
    while waiting := [turn for turn in turns if turn.ended is None]:
        name, answer = yield from _next(waiting)
        now: float = yield Now()
        if name:
            due = [turn for turn in waiting if isinstance(turn.waits, NextChange) and turn.waits.name == name]
        else:
            due = [turn for turn in waiting if turn.until <= now]
            if answer is not BOOKMARK and not due:
                # the watch ended before its time: what happened since has to be read
                due = [turn for turn in waiting if isinstance(turn.waits, NextChange)]
            answer = None
        for turn in due:
            yield from _go_on(turn, answer)
    return tuple(turn.ended for turn in turns if turn.ended is not None)


def _next(waiting: Sequence[_Turn[Any]]) -> Operation[tuple[str, Any]]:
    """Whose object has changed, and into what; no name at a bookmark, at the watch's end, and when somebody is due."""
    now: float = yield Now()
    seconds = max(min(turn.until for turn in waiting) - now, 0.0)
    first = next((turn.waits for turn in waiting if isinstance(turn.waits, NextChange)), None)
    if first is None:
        yield Pause(seconds)
        return "", None
    version, whole = first.resource_version, math.ceil(seconds) or 1
    try:
        changed: Any = yield NextOfKind(first.resource, first.namespace, version, whole)
    except errors.ApiError as error:
        if not isinstance(error, errors.Gone) and not error.retryable:
            raise
        return "", None
    return ("", changed) if changed is None or changed is BOOKMARK else changed


def _go_on(turn: _Turn[Any], answer: Any) -> Operation[None]:
    """Drive one operation until it waits for its object, or has ended."""
    failure: Exception | None = None
    while True:
        try:
            step: Step = turn.operation.throw(failure) if failure is not None else turn.operation.send(answer)
        except StopIteration as done:
            turn.ended = done.value
            return
        except Exception as error:
            told = outcome_of(error)
            if told is None:
                raise
            turn.ended = told
            return
        answer, failure = None, None
        if isinstance(step, NextChange | Pause):
            now: float = yield Now()
            turn.waits, turn.until = step, now + step.seconds
            return
        try:
            answer = yield step
        except Exception as error:
            failure = error
