"""Ways to break a release on real Ray: how soon the cause is told, what it says, and whether a request is lost.

Each case edits a service that serves and is asked all the time, waits until condition and ``rayward get`` name the
cause, and goes back. The table is printed at the end, to be read by a person.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.ray.breaking import CASES, MODULES, Case, told
from tests.ray.broken import Row, is_recording, lines_of, save
from tests.ray.playing import play
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


@pytest.fixture(scope="module")
def shared(stack: RayStack) -> Generator[HelloService]:
    made = HelloService(stack, "broken", MODULES, serveConfigV2=tuned(), rayClusterDeletionDelaySeconds=0)
    made.serves("1 plain")
    yield made
    made.delete()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_broken_release_says_why_and_loses_no_request(service: HelloService, table: list[Row], case: Case) -> None:
    row = play(service, case)
    table.append(row)
    if is_recording():
        save([row])


def test_undo_and_a_corrected_field_bring_it_back(service: HelloService) -> None:
    with asked(service):
        service.set(serveConfigV2=tuned(user_config={"other": 1}))
        eventually(lambda: "KeyError" in told(service, "KeyError"), PATIENCE)
        service.stack.rayward("undo", f"rayservice/{service.name}")
        service.serves(f"{service.release} plain")

        service.set(serveConfigV2=tuned(num_replicas=0))
        eventually(lambda: told(service, "num_replicas") != "", PATIENCE)
        service.set(serveConfigV2=tuned("corrected"))
        service.serves(f"{service.release} corrected")
