"""The operator on an API server, with a simulated kubelet: which pods come, which go, and which are spared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from rayward.kinds import labels
from rayward.kube.client.options import PatchType
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS
from tests.operator.stage import GROUPS, Object, Stage, group, manifest, put, uids

pytestmark = pytest.mark.anyio


async def test_scaling_makes_and_deletes_workers(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        before = uids(await ray.pods())
        await ray.patch(put(f"{GROUPS}/0/replicas", 4))
        await ray.until_pods(5)
        assert before <= uids(await ray.pods())
        await ray.patch(put(f"{GROUPS}/0/replicas", 1))
        await ray.until_pods(2)


async def test_scaling_down_spares_pods_that_work(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        working = uids(await ray.pods())
        ray.kubelet.starts = lambda pod: pod.metadata.uid in working
        await ray.patch(put(f"{GROUPS}/0/replicas", 4))

        async def made() -> bool:
            return len(await ray.pods()) == 5

        await ray.eventually(made)
        await ray.patch(put(f"{GROUPS}/0/replicas", 2))
        await ray.until_pods(3)
        assert uids(await ray.pods()) == working


async def _fail(ray: Stage, name: str) -> None:
    failed = {"status": {"phase": "Failed", "reason": "Evicted"}}
    await ray.client.patch(PODS, name, failed, PatchType.MERGE, ray.namespace, subresource="status")


async def _delete(ray: Stage, name: str) -> None:
    await ray.client.delete(PODS, name, ray.namespace)


@pytest.mark.parametrize(
    ("role", "lose"),
    [
        pytest.param("headgroup", _fail, id="head-failed"),
        pytest.param("small", _fail, id="worker-failed"),
        pytest.param("small", _delete, id="worker-deleted"),
    ],
)
async def test_a_lost_pod_is_replaced(ray: Stage, role: str, lose: Callable[[Stage, str], Awaitable[None]]) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        before = uids(await ray.pods())
        lost = (await ray.pods(role))[0]["metadata"]
        await lose(ray, lost["name"])
        await ray.until_gone({lost["uid"]})
        await ray.until_pods(3)
        assert len(before & uids(await ray.pods())) == 2


async def test_a_worker_that_hangs_does_not_hold_up_its_group(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest())
        await ray.until_pods(3)
        stuck = (await ray.pods("small"))[0]["metadata"]

        def ends(pod: Pod) -> bool:
            return pod.metadata.uid != stuck["uid"]

        ray.kubelet.ends = ends
        await ray.client.delete(PODS, stuck["name"], ray.namespace)

        async def whole_again() -> bool:
            return len(await ray.pods("small")) == 2 and stuck["uid"] in uids(await ray.objects(PODS))

        await ray.eventually(whole_again)
        await ray.until_condition("Ready", status="True")


async def test_recreate_replaces_every_pod(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(upgradeStrategy={"type": "Recreate"}))
        await ray.until_pods(3)
        before = uids(await ray.pods())
        await ray.patch(put(f"{GROUPS}/0/template/spec/containers/0/image", "rayproject/ray:2.53.0"))
        await ray.until_gone(before)
        await ray.until_pods(3)


async def test_a_rolling_update_replaces_one_worker_after_the_other(ray: Stage) -> None:
    async with ray.operator():
        rolling = {"annotations": {labels.ROLLING_UPDATE: "workers"}}
        await ray.create(manifest(metadata=rolling, groups=[group(replicas=3)]))
        await ray.until_pods(4)
        (head,) = await ray.pods("headgroup")
        least = 3
        new = "rayproject/ray:2.53.0"
        await ray.patch(put(f"{GROUPS}/0/template/spec/containers/0/image", new))

        async def all_new() -> bool:
            nonlocal least
            workers = await ray.pods("small")
            ready = [pod for pod in workers if (pod.get("status") or {}).get("phase") == "Running"]
            least = min(least, len(ready))
            return [pod["spec"]["containers"][0]["image"] for pod in ready] == [new] * 3

        await ray.eventually(all_new)
        await ray.until_pods(4)
        assert least >= 2
        assert uids(await ray.pods("headgroup")) == {head["metadata"]["uid"]}


@pytest.mark.parametrize(
    ("edit", "left"),
    [
        pytest.param([{"op": "remove", "path": f"{GROUPS}/0"}], {"one": 0, "two": 2}, id="removed"),
        pytest.param(put(f"{GROUPS}/1/suspend", True), {"one": 1, "two": 0}, id="suspended"),
    ],
)
async def test_the_pods_of_a_group_go_with_it(ray: Stage, edit: list[Object], left: dict[str, int]) -> None:
    async with ray.operator():
        await ray.create(manifest(groups=[group("one", 1), group("two", 2)]))
        await ray.until_pods(4)
        await ray.patch(edit)
        await ray.until_pods(1 + sum(left.values()))
        assert {name: len(await ray.pods(name)) for name in left} == left


async def test_workers_to_delete_of_another_group_are_ignored_and_told(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(groups=[group("one", 1), group("two", 2)]))
        await ray.until_pods(4)
        stranger = (await ray.pods("one"))[0]["metadata"]
        named = (await ray.pods("two"))[0]["metadata"]
        change = {"workersToDelete": [stranger["name"], named["name"]]}
        await ray.patch(put(f"{GROUPS}/1/scaleStrategy", change))
        await ray.until_gone({named["uid"]})
        await ray.until_reasons("IgnoredWorkersToDelete")
        await ray.until_pods(4)
        assert stranger["uid"] in uids(await ray.pods("one"))


async def test_with_an_autoscaler_only_its_word_deletes_workers(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(enableInTreeAutoscaling=True))
        await ray.until_pods(3)
        for resource in (SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS):
            assert "plain" in {found["metadata"]["name"] for found in await ray.objects(resource)}
        named = (await ray.pods("small"))[0]["metadata"]
        await ray.patch(put(f"{GROUPS}/0/replicas", 1))
        await ray.until_condition("Ready", status="False")
        assert len(await ray.pods("small")) == 2
        await ray.patch(put(f"{GROUPS}/0/scaleStrategy", {"workersToDelete": [named["name"]]}))
        await ray.until_pods(2)
        assert named["uid"] not in uids(await ray.pods())


async def test_replicas_of_several_hosts_come_and_go_together(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(groups=[group(replicas=2, numOfHosts=2)]))
        await ray.until_pods(5)
        replicas: dict[str, list[Object]] = {}
        for pod in await ray.pods("small"):
            replicas.setdefault(pod["metadata"]["labels"][labels.REPLICA_NAME], []).append(pod)
        assert sorted(len(pods) for pods in replicas.values()) == [2, 2]
        broken, whole = replicas.values()
        await ray.client.delete(PODS, broken[0]["metadata"]["name"], ray.namespace)
        await ray.until_gone(uids(broken))
        await ray.until_pods(5)
        assert uids(whole) <= uids(await ray.pods())
