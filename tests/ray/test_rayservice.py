"""A RayService with real Ray under load: whatever is asked of it, and whenever the operator dies, it answers."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CONFIG_MAPS
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack
from tests.ray.underload import RATE, asked
from tests.ray.variants import broken, tuned
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1500)]

Object = dict[str, Any]

_RELEASES = itertools.count(2)


def other_clusters(service: HelloService, active: str) -> set[str]:
    found = service.clusters() - {active}
    assert len(found) <= 1, f"never a third cluster: {active} serves beside {found}"
    return found


def ends_with(service: HelloService, reason: str, *words: str) -> None:
    """Wait until the change is over for that reason, in those words."""
    eventually(lambda: service.condition("Progressing")[:2] == ("False", reason), PATIENCE)
    message = service.condition("Progressing")[2]
    assert all(word in message for word in words), message
    assert service.condition("Stalled")[:2] == ("True", reason)
    assert service.ready


def revert(service: HelloService) -> None:
    """Ask for what serves, and be told that it does."""
    active = service.active
    service.restore()
    assert service.active == active


def test_a_change_of_the_serve_config_reaches_the_running_cluster(service: HelloService) -> None:
    active = service.active
    with asked(service) as load:
        service.set(serveConfigV2=tuned("tuned"))
        service.serves(f"{service.release} tuned")
        service.set(serveConfigV2=tuned("tuned", num_replicas=2))
        service.is_available()

        assert service.clusters() == {active}
        assert set(load.tally.answered) == {f"{service.release} plain", f"{service.release} tuned"}


@pytest.mark.soak
def test_a_change_that_replaces_every_replica_is_made_in_place(service: HelloService) -> None:
    active = service.active
    with asked(service) as load:
        service.annotate(serve_config_upgrade="InPlace")
        service.set(serveConfigV2=tuned("moved", module="again"))
        service.serves(f"{service.release} moved")
        service.set(serveConfigV2=tuned("other", module="again", runtime_env={"env_vars": {"COLOUR": "blue"}}))
        service.serves(f"{service.release} other")

        assert service.clusters() == {active}
        assert set(load.tally.answered) == {f"{service.release} {word}" for word in ("plain", "moved", "other")}


def test_a_change_of_cluster_and_config_at_once_is_one_release(service: HelloService) -> None:
    old, new = service.release, str(next(_RELEASES))
    with asked(service) as load:
        service.set_release(new, serveConfigV2=tuned("both"))
        eventually(lambda: load.tally.answered[f"{new} both"] > 0, PATIENCE)
        service.serves(f"{new} both")
        service.is_alone()

        assert set(load.tally.answered) == {f"{old} plain", f"{new} both"}, "no cluster runs another release's config"


def test_a_revert_in_the_middle_cancels_the_new_cluster(service: HelloService) -> None:
    active, old = service.active, service.release
    moment = service.moment
    with asked(service) as load:
        service.set_release(str(next(_RELEASES)))
        eventually(lambda: len(other_clusters(service, active)) == 1, PATIENCE)
        service.set_release(old)
        eventually(lambda: service.clusters() == {active}, PATIENCE)
        service.is_available()

        assert service.active == active
        assert set(load.tally.answered) == {f"{old} plain"}
    assert len(service.made_since(moment)) == 1, "no third cluster"


def test_a_second_edit_in_the_middle_replaces_the_new_cluster(service: HelloService) -> None:
    active, old = service.active, service.release
    between, new = str(next(_RELEASES)), str(next(_RELEASES))
    with asked(service) as load:
        service.set_release(between)
        eventually(lambda: len(other_clusters(service, active)) == 1, PATIENCE)
        (given_up,) = other_clusters(service, active)
        service.set_release(new)
        eventually(lambda: len(other_clusters(service, active) - {given_up}) == 1, PATIENCE)
        eventually(lambda: load.tally.answered[f"{new} plain"] > 0, PATIENCE)
        service.serves(f"{new} plain")
        service.is_alone()

        assert set(load.tally.answered) == {f"{old} plain", f"{new} plain"}


def test_an_image_that_is_not_there_ends_the_upgrade_at_the_deadline(service: HelloService) -> None:
    active = service.active
    with asked(service):
        service.set_image("example.com/ray:missing")
        eventually(lambda: "example.com/ray:missing" in service.condition("Progressing")[2], PATIENCE)
        service.annotate(progress_deadline="1s")
        ends_with(service, "ProgressDeadlineExceeded", "example.com/ray:missing")
        eventually(lambda: service.clusters() == {active}, PATIENCE)
        revert(service)


def test_a_broken_import_is_rolled_back_and_not_tried_again(service: HelloService) -> None:
    active, old = service.active, service.release
    moment = service.moment
    with asked(service) as load:
        service.set_release(str(next(_RELEASES)), serveConfigV2=broken("crash"))
        ends_with(service, "ServeDeployFailed", "RuntimeError: the weights are missing")
        eventually(lambda: service.clusters() == {active}, PATIENCE)
        sent = load.tally.sent
        eventually(lambda: load.tally.sent > sent + 3 * RATE, PATIENCE)

        assert service.clusters() == {active}
        assert len(service.made_since(moment)) == 1
        assert set(load.tally.answered) == {f"{old} plain"}
        revert(service)


def test_a_broken_import_in_place_brings_the_former_config_back(service: HelloService) -> None:
    active = service.active
    with asked(service) as load:
        service.annotate(serve_config_upgrade="InPlace")
        service.set(serveConfigV2=broken("crash"))
        ends_with(service, "ServeDeployFailed", "RuntimeError: the weights are missing", "rolled back")

        assert service.clusters() == {active}
        assert set(load.tally.answered) == {f"{service.release} plain"}
        revert(service)


def test_a_constructor_that_hangs_is_caught_by_the_deadline(service: HelloService) -> None:
    active = service.active
    with asked(service):
        service.set_release(str(next(_RELEASES)), serveConfigV2=broken("hang"))
        eventually(lambda: "to initialize" in service.condition("Progressing")[2], PATIENCE)
        service.annotate(progress_deadline="1s")
        ends_with(service, "ProgressDeadlineExceeded", "to initialize")
        eventually(lambda: service.clusters() == {active}, PATIENCE)
        revert(service)


def test_a_suspended_service_leaves_nothing_and_comes_back_as_it_was_asked_for(service: HelloService) -> None:
    active, new = service.active, str(next(_RELEASES))
    with asked(service):
        service.set_release(new)
        eventually(lambda: len(other_clusters(service, active)) == 1, PATIENCE)
    service.set(suspend=True)
    eventually(lambda: service.condition("Suspended")[0] == "True", PATIENCE)
    assert service.clusters() == set()
    assert service.condition("Ready")[0] == "False"

    service.set(suspend=None)
    service.serves(f"{new} plain")
    assert service.clusters() == {service.active}


def test_a_cluster_that_is_born_suspended_waits_and_the_old_one_serves(service: HelloService) -> None:
    active, new = service.active, str(next(_RELEASES))
    with asked(service):
        service.set_release(str(next(_RELEASES)))
        service.set(rayClusterConfig={"suspend": True})
        service.set_release(new)
        eventually(lambda: service.condition("Progressing")[1] == "ClusterSuspended", PATIENCE)
        (waiting,) = other_clusters(service, active)
        assert service.stack.pods(waiting) == []
        assert service.condition("Progressing")[0] == "True"

        change = {"spec": {"suspend": False}}
        service.stack.client.patch(RAY_CLUSTERS, waiting, change, PatchType.MERGE, "default")
        service.serves(f"{new} plain")
        assert service.active == waiting


def test_a_return_within_the_deletion_delay_is_a_switch(service: HelloService) -> None:
    first, old, new = service.active, service.release, str(next(_RELEASES))
    with asked(service) as load:
        service.set_release(new, rayClusterDeletionDelaySeconds=120)
        service.serves(f"{new} plain")
        pods = {pod["metadata"]["uid"] for pod in service.stack.pods(first)}
        assert service.clusters() == {first, service.active}

        asked_at = time.monotonic()
        service.set_release(old, rayClusterDeletionDelaySeconds=0)
        # Kept-alive connections had answers of the old release before, so the time of the last one tells.
        eventually(lambda: load.tally.last_answer[f"{old} plain"] > asked_at, PATIENCE)
        print(f"warm return: {time.monotonic() - asked_at:.2f} s from the edit to the first answer")
        service.serves(f"{old} plain")
        service.is_alone()

        assert service.active == first
        assert {pod["metadata"]["uid"] for pod in service.stack.pods(first)} == pods, "no new pods"


@pytest.mark.soak
def test_code_that_changed_behind_the_same_spec_is_rolled_out_by_a_restart(service: HelloService) -> None:
    active, stack = service.active, service.stack
    code = stack.client.get(CONFIG_MAPS, "hello-code", "default")["data"]["tuned.py"]

    def set_code(text: str) -> None:
        stack.client.patch(CONFIG_MAPS, "hello-code", {"data": {"tuned.py": text}}, PatchType.MERGE, "default")

    with asked(service) as load:
        service.annotate(pause="true")
        set_code(code.replace("{self.word}", "{self.word} anew"))
        stack.rayward("restart", f"rayservice/{service.name}")
        eventually(lambda: service.condition("Progressing")[1] == "Paused", PATIENCE)
        (starting,) = other_clusters(service, active)
        shown = stack.program("logs", f"rayservice/{service.name}", "--tail", "200")
        assert f"==> {starting}/hello/Tuned/" in shown.stderr
        assert set(load.tally.answered) == {f"{service.release} plain"}
        service.annotate(pause=None)
        service.serves(f"{service.release} plain anew")
        set_code(code)
        stack.rayward("restart", f"rayservice/{service.name}")
        service.serves(f"{service.release} plain")


def test_the_operator_killed_before_and_after_it_makes_the_new_cluster(service: HelloService) -> None:
    active, new = service.active, str(next(_RELEASES))
    moment = service.moment
    with asked(service) as load:
        kill = _operator_killer(service.stack)
        kill()
        service.set_release(new)
        assert service.clusters() == {active}

        kill = _operator_killer(service.stack)
        eventually(lambda: len(other_clusters(service, active)) == 1, PATIENCE)
        (pending,) = other_clusters(service, active)
        kill()

        eventually(lambda: load.tally.answered[f"{new} plain"] > 0, PATIENCE)
        service.serves(f"{new} plain")
        service.is_alone()
        assert service.active == pending
        assert service.made_since(moment) == [service.active]


def test_the_operator_killed_before_the_switch_and_in_the_drain(service: HelloService) -> None:
    active, old, new = service.active, service.release, str(next(_RELEASES))
    moment = service.moment
    with asked(service) as load:
        service.annotate(pause="true")
        service.set_release(new)
        eventually(lambda: service.condition("Progressing")[1] == "Paused", PATIENCE)
        (pending,) = other_clusters(service, active)
        _operator_killer(service.stack)()
        kill = _operator_killer(service.stack)
        assert service.led_to == active, "a pause outlives the operator"

        slow = HTTPConnection(service.address.host, service.address.shell_port, timeout=120)
        slow.request("GET", "/?seconds=10")
        service.annotate(pause=None)
        eventually(lambda: service.led_to == pending and service.active == pending, PATIENCE)
        kill()

        print(f"killed {'after' if _has_answer(slow) else 'in'} the drain")
        eventually(lambda: load.tally.answered[f"{new} plain"] > 0, PATIENCE)
        with closing(slow):
            answer = json.load(slow.getresponse())
        assert answer["release"] == f"{old} plain", "what is in flight is answered by the cluster it was sent to"
        service.serves(f"{new} plain")
        service.is_alone()
        assert service.made_since(moment) == [service.active]


def test_the_operator_killed_between_the_selector_and_the_status(service: HelloService) -> None:
    active, new = service.active, str(next(_RELEASES))
    kill = _operator_killer(service.stack)
    moment = service.moment
    with asked(service) as load:
        service.set_release(new)
        eventually(lambda: len(other_clusters(service, active)) == 1, PATIENCE)
        (pending,) = other_clusters(service, active)
        _as_soon_as(lambda: service.led_to == pending, kill)

        print(f"killed {'before' if service.active == active else 'after'} the status was written")
        eventually(lambda: load.tally.answered[f"{new} plain"] > 0, PATIENCE)
        service.serves(f"{new} plain")
        service.is_alone()
        assert service.active == pending
        assert service.made_since(moment) == [service.active]


def _has_answer(connection: HTTPConnection) -> bool:
    waiting = select.poll()
    waiting.register(connection.sock, select.POLLIN)
    return bool(waiting.poll(0))


def _as_soon_as(holds: Callable[[], bool], act: Callable[[], None]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
    act()


def _operator_killer(stack: RayStack) -> Callable[[], None]:
    """Kills the operator that runs well by now; the supervisor starts another."""

    def state() -> Object:
        shown = json.loads(stack.rayward("status", "-o", "json"))
        return next(part for part in shown["stack"]["parts"] if part["name"] == "operator")

    def runs() -> bool:
        seen = state()
        # A process that was killed just now has no command any more, whatever the supervisor knows of it.
        return seen["phase"] == "running" and Path(f"/proc/{seen['pid']}/cmdline").read_bytes() != b""

    eventually(runs, PATIENCE)
    pid = int(state()["pid"])
    return lambda: os.kill(pid, signal.SIGKILL)
