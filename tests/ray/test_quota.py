"""Real Ray Serve under load in a queue: an upgrade waits its turn, and one that is preempted harms nobody."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

import pytest
import yaml

from rayward.kinds.resources import CLUSTER_QUEUES, LOCAL_QUEUES, RAY_JOBS, WORKLOAD_PRIORITY_CLASSES
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, SAMPLES, RayStack, sample_cluster
from tests.ray.underload import asked
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1200)]

Object = dict[str, Any]
_API: Final = "kueue.x-k8s.io/v1beta2"
_LABELS: Final = {"rayward.dev/queue-name": "team"}
_DONE: Final = "/tmp/done"
"""Of the job's head alone: every pod has its own."""
_RELEASE_CPUS: Final = 2
"""Of the sample: a head and a worker."""


@pytest.fixture
def queue(stack: RayStack) -> Generator[None]:
    """A queue with room for two releases, where who is urgent goes first."""
    quotas = [{"name": "cpu", "nominalQuota": 2 * _RELEASE_CPUS}, {"name": "memory", "nominalQuota": "16Gi"}]
    groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": quotas}]}]
    preemption = {"withinClusterQueue": "LowerPriority"}
    spec: Object = {"namespaceSelector": {}, "resourceGroups": groups, "preemption": preemption}
    made: list[Object] = [
        {"kind": "ClusterQueue", "spec": spec},
        {"kind": "LocalQueue", "spec": {"clusterQueue": "team"}},
        {"kind": "WorkloadPriorityClass", "value": 100},
    ]
    stack.apply(*({"apiVersion": _API, "metadata": {"name": "team"}, **each} for each in made))
    yield
    stack.client.delete(LOCAL_QUEUES, "team", "default")
    stack.client.delete(CLUSTER_QUEUES, "team")
    stack.client.delete(WORKLOAD_PRIORITY_CLASSES, "team")


def _job(name: str) -> Object:
    """One that ends well once its file is there, and takes as much as a release."""
    made: Object = yaml.safe_load((SAMPLES / "rayjob.yaml").read_text())
    made["metadata"] |= {"name": name, "labels": _LABELS}
    made["spec"] |= {"entrypoint": f"sh -c 'until [ -e {_DONE} ]; do sleep 0.2; done'", "backoffLimit": 0}
    _resize(made["spec"]["rayClusterSpec"])
    return made


def _urgent(name: str) -> Object:
    made = sample_cluster(name, 0)
    made["metadata"]["labels"] = {**_LABELS, "kueue.x-k8s.io/priority-class": "team"}
    _resize(made["spec"])
    return made


def _resize(spec: Object) -> None:
    (container,) = spec["headGroupSpec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": str(_RELEASE_CPUS), "memory": "2Gi"}}


@pytest.mark.usefixtures("queue")
def test_an_upgrade_waits_for_a_job_and_one_that_is_preempted_leaves_the_old_release_serving(stack: RayStack) -> None:
    service = HelloService(stack, "queued", labels=_LABELS, rayClusterDeletionDelaySeconds=0)
    stack.apply(_job("sleeps"))
    service.serves("1")
    running = lambda: stack.client.get(RAY_JOBS, "sleeps", "default")["status"].get("jobStatus")  # noqa: E731
    eventually(lambda: running() == "RUNNING", PATIENCE)
    with asked(service):
        first = service.active
        service.set_release("2")
        eventually(lambda: service.condition("QuotaReserved")[0] == "False", PATIENCE)
        eventually(lambda: "held by RayJob default/sleeps (cpu 2" in service.condition("QuotaReserved")[2], PATIENCE)
        (waiting,) = service.clusters() - {first}
        assert not stack.pods(waiting)
        assert service.active == first
        job = stack.client.get(RAY_JOBS, "sleeps", "default")["status"]
        (head,) = stack.pods(job["rayClusterName"])
        stack.rayward("exec", head["metadata"]["name"], "--", "touch", _DONE)
        eventually(lambda: running() == "SUCCEEDED", PATIENCE)
        service.serves("2")
        eventually(lambda: service.clusters() == {waiting}, PATIENCE)

        service.annotate(pause="true")
        service.set_release("3")
        eventually(lambda: len(service.clusters()) == 2, PATIENCE)
        (surge,) = service.clusters() - {waiting}
        eventually(lambda: bool(stack.pods(surge)), PATIENCE)
        stack.apply(_urgent("urgent"))
        eventually(lambda: bool(stack.pods("urgent")), PATIENCE)
        assert not stack.pods(surge)
        assert service.active == service.led_to == waiting
        eventually(lambda: service.condition("QuotaReserved")[0] == "False", PATIENCE)
        assert service.answer()["release"] == "2"
        service.restore()
    assert service.active == waiting
    stack.rayward("delete", "raycluster", "urgent")
    stack.rayward("delete", "rayjob", "sleeps")
    service.delete()
