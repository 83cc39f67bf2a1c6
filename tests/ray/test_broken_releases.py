"""Ways to break a release on real Ray: how soon the cause is told, what it says, and whether a request is lost.

Each case edits a service that serves and is asked all the time, waits until condition and ``rayward get`` name the
cause, and goes back. The table is printed at the end, to be read by a person.
"""

from __future__ import annotations

import time
from collections.abc import Generator

import pytest

from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.options import PatchType
from tests.ray.breaking import CASES, MODULES, Case, told
from tests.ray.broken import Row, lines_of, save
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack
from tests.ray.underload import asked
from tests.ray.variants import tuned
from tests.waiting import eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def table() -> Generator[list[Row]]:
    rows: list[Row] = []
    yield rows
    print("\n" + "\n".join(lines_of(rows)))
    save(rows)


@pytest.fixture(scope="module")
def shared(stack: RayStack) -> Generator[HelloService]:
    made = HelloService(stack, "broken", MODULES, serveConfigV2=tuned(), rayClusterDeletionDelaySeconds=0)
    made.serves("1 plain")
    yield made
    made.delete()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_broken_release_says_why_and_loses_no_request(service: HelloService, table: list[Row], case: Case) -> None:
    active = service.active
    with asked(service) as load:
        began = time.monotonic()
        case.change(service)
        eventually(lambda: told(service, case.says) != "", PATIENCE)
        condition, message = time.monotonic() - began, told(service, case.says)
        row = service.stack.rayward("get", "rayservice", service.name)
        shown = time.monotonic() - began
        assert "Running" in row
        assert "Done" not in row, row
        assert service.ready
        if case.added:
            remove = [{"op": "remove", "path": case.added}]
            service.stack.client.patch(RAY_SERVICES, service.name, remove, PatchType.JSON, "default")
        began = time.monotonic()
        service.restore()
        back = time.monotonic() - began
        assert service.active == active
        sent = load.tally.sent
    table.append(Row(case.name, condition, shown, back, sent, message, row))
    print(row)
