"""Operations on several objects of one kind as one: they take turns, and one watch tells of all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rayward.changes.outcomes import ChangeError, outcome_of
from rayward.changes.steps import BOOKMARK, Backoff, NextChange, NextOfKind, Now, Operation, Pause, Step
from rayward.kube.client import errors
from rayward.kube.core.objects import ObjectMeta

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

    One that fails does not keep the others back. The watch begins at the oldest version that one of them waits from;
    none hears of what is older than its own.
    """
    turns = [_Turn(operation) for operation in operations]
    for turn in turns:
        yield from _go_on(turn, None)
    while waiting := [turn for turn in turns if turn.ended is None]:
        heard = yield from _next(waiting)
        now: float = yield Now()
        answer: Any = None
        if isinstance(heard, tuple):
            metadata, answer = heard
            due = [turn for turn in waiting if _concerns(turn, metadata)]
        else:
            due = [turn for turn in waiting if turn.until <= now]
            if heard is not BOOKMARK and (not due or heard is not None):
                # the watch ended before its time: what happened since has to be read
                due = [turn for turn in waiting if isinstance(turn.waits, NextChange)]
        for turn in due:
            yield from _go_on(turn, answer, heard if isinstance(heard, errors.ApiError) else None)
    return tuple(turn.ended for turn in turns if turn.ended is not None)


def _next(waiting: Sequence[_Turn[Any]]) -> Operation[tuple[ObjectMeta, Any] | errors.ApiError | None]:
    """Which object has changed, and into what; a bookmark, why there is no watch, or None where it has ended."""
    now: float = yield Now()
    seconds = max(min(turn.until for turn in waiting) - now, 0.0)
    watching = [turn.waits for turn in waiting if isinstance(turn.waits, NextChange)]
    if not watching:
        yield Pause(seconds)
        return None
    first = min(watching, key=lambda one: _number(one.resource_version) or 0)
    try:
        return (yield NextOfKind(first.resource, first.namespace, first.resource_version, math.ceil(seconds) or 1))
    except errors.ApiError as error:
        if not isinstance(error, errors.Gone) and not error.retryable:
            raise
        return error


def _concerns(turn: _Turn[Any], metadata: ObjectMeta) -> bool:
    """Whether an event tells an operation something new of its object."""
    waits = turn.waits
    if not isinstance(waits, NextChange) or waits.name != metadata.name:
        return False
    known, told = _number(waits.resource_version), _number(metadata.resource_version)
    if known is not None and told is not None:
        return told > known
    return metadata.uid == waits.uid and metadata.generation >= waits.generation


def _number(version: str) -> int | None:
    """A version as a number, which those of Kubernetes are; others have no order that is known."""
    return int(version) if version.isdecimal() else None


def _go_on(turn: _Turn[Any], answer: Any, failure: Exception | None = None) -> Operation[None]:
    """Drive one operation until it waits for its object, or has ended."""
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
        if isinstance(step, Backoff):
            # all of them wait at the same time
            step = Pause(step.seconds(0.5))
        if isinstance(step, NextChange | Pause):
            now: float = yield Now()
            turn.waits, turn.until = step, now + step.seconds
            return
        try:
            answer = yield step
        except Exception as error:
            failure = error
