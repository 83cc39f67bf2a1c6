"""Plays the script on a head."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
import orjson

from rayward.kube.runtime.clock import Clock
from tests.operator.ray.script import QUESTIONS, REFUSED, STEPS, TOKEN, Config, Step
from tests.operator.ray.trace import Answered, Played, Sample, Trace, as_json, normal, normal_text

APPLICATIONS: Final = "/api/serve/applications/"
_AUTHORIZED: Final = (("x-ray-authorization", f"Bearer {TOKEN}"), ("content-type", "application/json"))
_EVERY: Final = 0.05
_PATIENCE: Final = 240.0
_VISITS: Final = ("/-/healthz", "/-/routes", "/a", "/b", "/c", "/nowhere")
_GET: Final = f"{APPLICATIONS}?api_type=declarative"

Answer = tuple[int, bytes]
Ask = Callable[[str, str, tuple[tuple[str, str], ...], bytes | None], Awaitable[Answer]]
Visit = Callable[[str], Awaitable[Answer]]


class NeverHappenedError(AssertionError):
    """A step did not come to its end."""


async def play(ask: Ask, visit: Visit, clock: Clock, http_options: Config) -> Trace:
    """Ask every question, then take every step. A ``visit`` that nobody answers is (0, b"")."""
    questions = [Answered(q.name, *_told(await ask("GET", q.path, q.headers, None))) for q in QUESTIONS]
    version = as_json((await ask("GET", "/api/version", _AUTHORIZED, None))[1])["ray_version"]
    steps = [Played("before", 0, "", await _samples(ask, clock, Step("before", b"")))]
    for step in (*REFUSED, *STEPS):
        steps.append(await _take(step, ask, visit, clock, http_options))
    status, _ = await ask("DELETE", APPLICATIONS, _AUTHORIZED, None)
    steps.append(Played("shutdown", status, "", await _samples(ask, clock, Step("shutdown", b""))))
    return Trace(version, tuple(questions), tuple(steps))


async def _take(step: Step, ask: Ask, visit: Visit, clock: Clock, http_options: Config) -> Played:
    body = step.put if isinstance(step.put, bytes) else orjson.dumps({"http_options": http_options, **step.put})
    status, text = _told(await ask("PUT", APPLICATIONS, _AUTHORIZED, body))
    samples = await _samples(ask, clock, step) if step.until else ()
    visits = {path: _told(await visit(path)) for path in _VISITS}
    return Played(step.name, status, text, samples, visits)


async def _samples(ask: Ask, clock: Clock, step: Step) -> tuple[Sample, ...]:
    begun = clock.now()
    kept: list[Sample] = []
    while True:
        at = clock.now() - begun
        status, body = await ask("GET", _GET, _AUTHORIZED, None)
        assert status == 200, body
        answer = normal(as_json(body))
        if not kept or kept[-1].answer != answer:
            kept.append(Sample(round(at, 2), answer))
        if _over(step, [sample.answer for sample in kept]):
            return tuple(kept)
        if at > _PATIENCE:
            raise NeverHappenedError(f"{step.name}: {kept[-1]}")
        await clock.sleep(_EVERY)


def _over(step: Step, answers: list[dict[str, Any]]) -> bool:
    found = {name: app["status"] for name, app in answers[-1]["applications"].items()}
    if any(found.get(name) != status for name, status in step.until.items()):
        return False
    if step.complaint and step.complaint not in orjson.dumps(answers[-1]).decode():
        return False
    return not step.passing or all(
        any(answer["applications"].get(name, {}).get("status") == step.passing for answer in answers)
        for name in step.until
    )


def _told(answer: Answer) -> tuple[int, str]:
    return answer[0], normal_text(answer[1].decode())


def encoded(trace: Trace) -> bytes:
    return msgspec.json.encode(trace)
