"""What breaks in a RayService with real Ray comes back, and what need not stop answering does not."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest
from demo.load import Load

from rayward.kinds.rayservice import RayService
from rayward.kube.core.meta import condition_of
from rayward.kube.core.resource import EVENTS
from tests.ray.damage import kill_head, kill_worker, lose_head, processes_of, survives_its_head, workers
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack
from tests.ray.underload import RATE, asked
from tests.ray.variants import MODULES, tuned, two_applications
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(900)]

_REPLICA: Final = b"ray::ServeReplica"


def test_a_worker_that_is_killed_is_replaced(service: HelloService) -> None:
    active = service.active
    kill_worker(service)
    service.serves(f"{service.release} plain")
    assert service.clusters() == {active}


def test_a_head_that_is_lost_gets_its_config_again_and_takes_no_request_before(service: HelloService) -> None:
    active, address = service.active, service.address
    with Load(address.host, address.shell_port, rate=RATE) as load:
        lose_head(service)
        service.serves(f"{service.release} plain")
        tally = load.stop()
    lost = Counter(why.partition(": ")[2] for why in tally.lost)
    print(f"head lost without fault tolerance: {tally.sent} requests, lost {dict(lost)}")
    assert not [why for why in lost if "404" in why]
    assert service.clusters() == {active}
    with asked(service):
        pass


def test_a_head_whose_processes_are_killed_is_not_ready_before_both_applications_run(service: HelloService) -> None:
    service.set(serveConfigV2=two_applications())
    service.serves(f"{service.release} plain")
    active, address, before = service.active, service.address, service.version
    with (
        Load(address.host, address.shell_port, rate=RATE) as first,
        Load(address.host, address.shell_port, rate=RATE, path="/second") as second,
    ):
        kill_head(service)
        service.serves(f"{service.release} plain")
        answered = first.tally.answered.total(), second.tally.answered.total()
        eventually(lambda: first.tally.answered.total() > answered[0] + RATE, PATIENCE)
        eventually(lambda: second.tally.answered.total() > answered[1] + RATE, PATIENCE)
        tallies = first.stop(), second.stop()
    lost = Counter(why.partition(": ")[2] for tally in tallies for why in tally.lost)
    print(f"head killed, two applications: {sum(tally.sent for tally in tallies)} requests, lost {dict(lost)}")
    assert not [why for why in lost if "404" in why]
    states = [_ready_and_running(found) for found in service.written_since(before)]
    print(f"versions of the RayService, as (Ready, applications RUNNING): {states}")
    # Until its probes fail the endpoint is there, and nobody answers what runs behind it.
    lost_at = [ready for ready, _ in states].index("False")
    assert {running for ready, running in states[lost_at:] if ready == "True"} == {2}
    assert service.clusters() == {active}


@pytest.mark.soak
def test_a_gcs_server_that_is_killed_inside_the_head_takes_no_wrong_answer_along(service: HelloService) -> None:
    active, address = service.active, service.address
    head = service.stack.head(active)["metadata"]["name"]
    with Load(address.host, address.shell_port, rate=RATE) as load:
        (server,) = [pid for pid in processes_of(head) if b"gcs_server" in _program(pid)]
        os.kill(server, signal.SIGKILL)
        eventually(lambda: not Path(f"/proc/{server}").exists(), PATIENCE)
        eventually(lambda: service.condition("Ready")[0] != "True" or _restarts(service, active) > 0, PATIENCE)
        service.serves(f"{service.release} plain")
        tally = load.stop()
    lost = Counter(why.partition(": ")[2] for why in tally.lost)
    print(f"gcs_server killed: {tally.sent} requests, lost {dict(lost)}")
    assert not [why for why in lost if "404" in why]
    assert service.clusters() == {active}
    with asked(service):
        pass


@pytest.mark.soak
def test_after_down_and_up_no_answer_is_a_wrong_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    with RayStack(tmp_path_factory.mktemp("again") / "stack") as stack:
        service = HelloService(stack, "kept", MODULES, serveConfigV2=tuned())
        service.serves("1 plain")
        address = service.address
        with Load(address.host, address.shell_port, rate=RATE) as load:
            eventually(lambda: load.tally.answered.total() > 0, PATIENCE)
            stack.rayward("down")
            answered = load.tally.answered.total()
            stack.client.close()
            stack.rayward("up")
            stack.connect()
            eventually(lambda: load.tally.answered.total() > answered + RATE, PATIENCE)
            tally = load.stop()
        lost = Counter(why.partition(": ")[2] for why in tally.lost)
        print(f"down and up: {tally.sent} requests, lost {dict(lost)}, answered by {dict(tally.answered)}")
        assert not [why for why in lost if "404" in why]
        service.serves("1 plain")


def test_an_actor_that_dies_is_ray_s_to_bring_back(service: HelloService) -> None:
    active = service.active
    (worker,) = workers(service)
    (replica,) = _replicas(worker)
    os.kill(replica, signal.SIGKILL)
    eventually(lambda: _replicas(worker) not in ([], [replica]), PATIENCE)
    service.serves(f"{service.release} plain")
    assert service.clusters() == {active}, "no cluster was replaced for it"


def test_an_application_that_stays_unhealthy_is_redeployed_and_then_gets_a_new_cluster(service: HelloService) -> None:
    active = service.active
    service.set(deploymentUnhealthySecondThreshold=3, deploymentUnhealthyRestartThreshold=1)
    (worker,) = workers(service)
    service.stack.rayward("exec", worker["metadata"]["name"], "--", "touch", "/tmp/unwell")

    eventually(lambda: service.active not in ("", active), PATIENCE)
    service.serves(f"{service.release} plain")
    service.is_alone()
    told = [event["reason"] for event in _events(service)]
    assert "RedeployedApplications" in told, told
    service.set(deploymentUnhealthySecondThreshold=None, deploymentUnhealthyRestartThreshold=None)


@pytest.fixture
def durable(stack: RayStack) -> Generator[HelloService]:
    """One whose head keeps its state on a volume."""
    storage = {"gcsFaultToleranceOptions": {"backend": "rocksdb"}}
    made = HelloService(stack, "durable", MODULES, cluster=storage, serveConfigV2=tuned())
    made.serves("1 plain")
    yield made
    made.delete()


def test_with_its_state_on_a_volume_a_service_answers_while_its_head_is_gone(durable: HelloService) -> None:
    survives_its_head(durable)


def _ready_and_running(found: RayService) -> tuple[str, int]:
    """Status of Ready in one version, and how many applications were RUNNING to it."""
    ready, active = condition_of(found.status.conditions, "Ready"), found.status.active_service_status
    applications = (active.application_statuses if active is not None else None) or {}
    return ready.status if ready else "", sum(each["status"] == "RUNNING" for each in applications.values())


def _restarts(service: HelloService, cluster: str) -> int:
    return sum(one["restartCount"] for one in service.stack.head(cluster)["status"]["containerStatuses"])


def _replicas(pod: dict[str, Any]) -> list[int]:
    return [pid for pid in processes_of(pod["metadata"]["name"]) if _is_replica(pid)]


def _is_replica(pid: int) -> bool:
    return _program(pid).startswith(_REPLICA)


def _program(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]
    except OSError:
        return b""


def _events(service: HelloService) -> list[dict[str, Any]]:
    found = service.stack.client.list(EVENTS, "default", field_selector=f"involvedObject.name={service.name}")
    return list(found.items)
