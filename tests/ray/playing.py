"""One way to break a release, played on a service that serves and is asked all the time."""

from __future__ import annotations

import time

from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.options import PatchType
from tests.ray.breaking import TAKEN_BACK, Case, told
from tests.ray.broken import Row
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE
from tests.ray.underload import asked
from tests.waiting import eventually


def play(service: HelloService, case: Case) -> Row:
    """Break it, wait until condition and ``rayward get`` name the cause, and go back; no request is lost meanwhile.

    What is taken back by itself is so before the former spec is applied.
    """
    active = service.active
    with asked(service) as load:
        began = time.monotonic()
        case.change(service)
        if case.silent:
            eventually(lambda: not service.ready, PATIENCE)
        eventually(lambda: told(service, case.says) != "", PATIENCE)
        condition, message = time.monotonic() - began, told(service, case.says)
        eventually(lambda: (case.shown or case.says) in _row(service), PATIENCE)
        shown, row = time.monotonic() - began, _row(service)
        assert "Running" in row or case.silent
        assert "Done" not in row, row
        if case.silent:
            eventually(lambda: service.ready, PATIENCE)
        assert service.ready
        if case.back == TAKEN_BACK:
            asked_at = time.monotonic()
            eventually(lambda: load.tally.last_answer.get(f"{service.release} plain", 0.0) > asked_at, PATIENCE)
            print(f"{case.name}: answered again {time.monotonic() - began:.1f} s after the edit")
        if case.added:
            remove = [{"op": "remove", "path": case.added}]
            service.stack.client.patch(RAY_SERVICES, service.name, remove, PatchType.JSON, "default")
        began = time.monotonic()
        service.restore()
        back = time.monotonic() - began
        assert service.active == active
    print(row)
    return Row(case.name, condition, shown, back, load.tally.sent, message, row, len(load.tally.lost))


def _row(service: HelloService) -> str:
    return service.stack.rayward("get", "rayservice", service.name)
