"""Whether two traces tell of the same Ray.

Two runs never agree in time, and a state of a few tenths of a second may be missed by one of them. So of each
application what lasted in one trace must have happened in the other, in this order; where a step ended, both must
agree; and answers must have the same fields of the same types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from tests.operator.ray.trace import Played, Trace

_LASTING = 1.0

State = tuple[Any, ...]
Shape = dict[str, set[str]]


def differences(one: Trace, other: Trace) -> list[str]:
    """What is not the same, a line each."""
    found = list(_in_questions(one, other))
    if [step.name for step in one.steps] != [step.name for step in other.steps]:
        return [*found, "the steps are not the same: record again"]
    for mine, yours in zip(one.steps, other.steps, strict=True):
        found += [f"{mine.name}: {difference}" for difference in _in_step(mine, yours)]
    return found + list(_in_shapes(_shapes(one), _shapes(other)))


def gist(message: str) -> tuple[str, ...]:
    """The first sentence; of a traceback also the last line."""
    lines = message.strip().splitlines() or [""]
    return (lines[0].split(". ")[0], lines[-1]) if "Traceback" in message else (lines[0].split(". ")[0],)


def _in_questions(one: Trace, other: Trace) -> Iterator[str]:
    for mine, yours in zip(one.questions, other.questions, strict=True):
        if (mine.name, mine.status) != (yours.name, yours.status):
            yield f"{mine.name}: answered {mine.status} and {yours.status}"
        elif mine.text.startswith("{"):
            yield from _in_shapes(_shape(orjson.loads(mine.text)), _shape(orjson.loads(yours.text)))
        elif mine.text != yours.text:
            yield f"{mine.name}: {mine.text!r} and {yours.text!r}"


def _in_step(mine: Played, yours: Played) -> Iterator[str]:
    if (mine.status, _refusal(mine)) != (yours.status, _refusal(yours)):
        yield f"answered {mine.status} {_refusal(mine)} and {yours.status} {_refusal(yours)}"
    if mine.visits != yours.visits:
        yield f"the proxy answered {mine.visits} and {yours.visits}"
    for app in sorted(_apps(mine) | _apps(yours)):
        one, other = _course(mine, app), _course(yours, app)
        for lasting, all_of in ((_lasting(one), other), (_lasting(other), one)):
            if not _in_order(lasting, [state for _, state in all_of]):
                yield f"{app}: {lasting} did not happen in {[state for _, state in all_of]}"
    if mine.samples and (ends := (_end(mine), _end(yours))) and ends[0] != ends[1]:
        yield f"ended in {ends[0]} and {ends[1]}"


def _refusal(step: Played) -> list[str]:
    lines = step.text.strip().splitlines()
    return (
        lines[-1:]
        if "Traceback" in step.text
        else [line.split(" [type=")[0] for line in lines if "further information" not in line]
    )


def _apps(step: Played) -> set[str]:
    return {name for sample in step.samples for name in sample.answer["applications"]}


def _course(step: Played, app: str) -> list[tuple[float, State]]:
    """The states of an application, each with how long it lasted; the last one lasts forever."""
    begun: list[tuple[float, State]] = []
    for sample in step.samples:
        state = _state(sample.answer["applications"].get(app))
        if sample is not step.samples[-1] and _complains(state):
            continue
        if not begun or begun[-1][1] != state:
            begun.append((sample.at, state))
    ends = [*(at for at, _ in begun[1:]), float("inf")]
    return [(end - at, state) for end, (at, state) in zip(ends, begun, strict=True)]


def _lasting(course: Iterable[tuple[float, State]]) -> list[State]:
    return [state for seconds, state in course if seconds >= _LASTING and not _fleeting(state)]


def _complains(state: State) -> bool:
    """Whether Serve finds something slow, as all is on a busy machine. A step that waits for this ends in it."""
    return bool(state) and any("have taken more than" in found[3][0] for found in state[2])


def _fleeting(state: State) -> bool:
    """Whether a state counts as short however long a busy machine took for it."""
    # An application that goes away does so in its own time: it may still be there when the step ends.
    if state[:1] in ((), ("DELETING",)):
        return True
    # The goal was set, and Serve's loop has not come round yet.
    return state[0] == "DEPLOYING" and {found[1] for found in state[2]} in ({"HEALTHY"}, {"DEPLOY_FAILED"})


def _state(app: dict[str, Any] | None) -> State:
    if app is None:
        return ()
    deployments = tuple(
        (name, found["status"], _trigger(found), gist(found["message"]), found["target_num_replicas"])
        for name, found in app["deployments"].items()
    )
    return app["status"], gist(app["message"]), deployments


def _trigger(deployment: dict[str, Any]) -> str:
    # A deployment that comes back keeps this trigger only if it comes before its old replicas are gone: a race in Ray.
    trigger = deployment["status_trigger"]
    return "CONFIG_UPDATE_STARTED" if trigger == "DELETING" else trigger


def _end(step: Played) -> tuple[Any, ...]:
    answer = step.samples[-1].answer
    applications = {
        name: (
            _state(app),
            app["route_prefix"],
            app["deployed_app_config"],
            [sorted(r["state"] for r in d["replicas"]) for d in app["deployments"].values()],
        )
        for name, app in answer["applications"].items()
        if app["status"] != "DELETING"
    }
    return applications, [proxy["status"] for proxy in answer["proxies"].values()], answer["target_capacity"]


def _in_order(few: Sequence[State], many: Sequence[State]) -> bool:
    rest = iter(many)
    return all(any(state == other for other in rest) for state in few)


def _shapes(trace: Trace) -> Shape:
    shape: Shape = {}
    for step in trace.steps:
        for sample in step.samples:
            _shape(sample.answer, shape)
    return shape


def _shape(value: Any, shape: Shape | None = None, path: str = "") -> Shape:
    shape = {} if shape is None else shape
    if isinstance(value, dict):
        shape.setdefault(path, set()).add("object")
        named = path.rsplit(".", 1)[-1] in ("applications", "deployments", "proxies", "nodes")
        for key, inner in value.items():
            _shape(inner, shape, f"{path}.{'*' if named else key}")
    elif isinstance(value, list):
        shape.setdefault(path, set()).add("array")
        for inner in value:
            _shape(inner, shape, f"{path}[]")
    else:
        kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
        shape.setdefault(path, set()).add(kind)
    return shape


_FREE = (".deployed_app_config", ".user_config", ".resources_total", ".resources_per_node")
"""What users write, and what machines have."""


def _in_shapes(one: Shape, other: Shape) -> Iterator[str]:
    for path in sorted(one.keys() | other.keys()):
        if any(free in path for free in _FREE):
            continue
        mine, yours = one.get(path, set()), other.get(path, set())
        if mine != yours:
            yield f"the answer at {path or 'its root'} is {sorted(mine)} and {sorted(yours)}"
