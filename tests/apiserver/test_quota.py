"""How many objects a namespace may hold."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.inprocess import Answer, Api, serving

_MAPS = "/api/v1/namespaces/default/configmaps"
_PODS = "/api/v1/namespaces/default/pods"
_SERVICES = "/api/v1/namespaces/default/services"
_CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
_QUOTAS = "/api/v1/namespaces/default/resourcequotas"
_MERGE = "application/merge-patch+json"


def _map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def _limit(api: Api, scopes: Any = None, **hard: str) -> None:
    """``scopes`` is a list of them, or a scope selector."""
    named = {key.replace("__", "/"): value for key, value in hard.items()}
    selected = {"scopeSelector": scopes} if isinstance(scopes, dict) else {"scopes": scopes}
    spec = {"hard": named, **(selected if scopes else {})}
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec}
    assert (await api.call("POST", _QUOTAS, body)).code == 201


async def _pod(api: Api, name: str, **spec: Any) -> Answer:
    await api.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    container = {"name": "c", "image": "i", **({"resources": spec.pop("resources")} if "resources" in spec else {})}
    return await api.call("POST", _PODS, {"metadata": {"name": name}, "spec": {"containers": [container], **spec}})


async def _service(api: Api, name: str, **spec: Any) -> Answer:
    return await api.call("POST", _SERVICES, {"metadata": {"name": name}, "spec": {"ports": _ports(80, 81), **spec}})


def _ports(*numbers: int) -> list[dict[str, Any]]:
    return [{"name": f"p{number}", "port": number} for number in numbers]


async def _told(api: Api, **expected: str) -> None:
    """Wait until the quota's status says that so much is used."""
    named = {key.replace("__", "/"): value for key, value in expected.items()}
    async with asyncio.timeout(60):
        while True:
            quota = (await api.call("GET", f"{_QUOTAS}/q")).body
            if quota["status"] == {"hard": quota["spec"]["hard"], "used": named}:
                return
            await asyncio.sleep(0.01)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["configmaps", "count__configmaps"])
async def test_one_more_than_the_quota_is_refused(tmp_path: Path, name: str) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, **{name: "2"})
        assert [(await api.call("POST", _MAPS, _map(n))).code for n in ("a", "b")] == [201, 201]
        refused = await api.call("POST", _MAPS, _map("c"))
        shown = name.replace("__", "/")
        assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
        assert refused.body["message"] == (
            f'configmaps "c" is forbidden: exceeded quota: q, requested: {shown}=1, used: {shown}=2, limited: {shown}=2'
        )
        await api.call("DELETE", f"{_MAPS}/a")
        assert (await api.call("POST", _MAPS, _map("c"))).code == 201


@pytest.mark.anyio
async def test_creates_in_the_same_moment_are_counted_exactly(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, configmaps="5")
        codes = await asyncio.gather(*(api.call("POST", _MAPS, _map(f"m{i}")) for i in range(20)))
        assert sorted(answer.code for answer in codes) == [201] * 5 + [403] * 15


@pytest.mark.anyio
async def test_other_namespaces_and_kinds_are_not_counted(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, configmaps="0")
        elsewhere = "/api/v1/namespaces/kube-public/configmaps"
        assert (await api.call("POST", elsewhere, _map("a"))).code == 201
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
        assert (await api.call("POST", "/api/v1/namespaces/default/secrets", secret)).code == 201


@pytest.mark.anyio
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_pods_that_have_ended_are_objects_but_no_pods(tmp_path: Path, phase: str) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, pods="1", count__pods="2")
        assert (await _pod(api, "a")).code == 201
        both = await _pod(api, "b")
        assert both.body["message"].endswith("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")
        await _told(api, pods="1", count__pods="1")
        await api.call("PATCH", f"{_PODS}/a/status", {"status": {"phase": phase}}, _MERGE)
        assert (await _pod(api, "b")).code == 201
        await _told(api, pods="1", count__pods="2")
        refused = await _pod(api, "c")
        assert refused.body["message"].endswith(
            "exceeded quota: q, requested: count/pods=1,pods=1, used: count/pods=2,pods=1, limited: count/pods=2,pods=1"
        )


_LARGE = {"requests": {"cpu": "1"}}


def _priority(operator: str, *values: str) -> dict[str, Any]:
    expression = {"scopeName": "PriorityClass", "operator": operator, **({"values": values} if values else {})}
    return {"matchExpressions": [expression]}


_AFFINE = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "k", "namespaces": ["kube-public"], "labelSelector": {"matchLabels": {"a": "b"}}}
        ]
    }
}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("scopes", "inside", "outside"),
    [
        (["Terminating"], {"activeDeadlineSeconds": 9}, {}),
        (["NotTerminating"], {}, {"activeDeadlineSeconds": 9}),
        (["BestEffort"], {}, {"resources": _LARGE}),
        (["NotBestEffort"], {"resources": _LARGE}, {}),
        (["NotTerminating", "BestEffort"], {}, {"resources": _LARGE}),
        (["PriorityClass"], {"priorityClassName": "high"}, {}),
        (["CrossNamespacePodAffinity"], {"affinity": _AFFINE}, {}),
        (_priority("In", "high", "higher"), {"priorityClassName": "high"}, {"priorityClassName": "low"}),
        (_priority("In", "high"), {"priorityClassName": "high"}, {}),
        (_priority("NotIn", "high"), {"priorityClassName": "low"}, {"priorityClassName": "high"}),
        (_priority("NotIn", "high"), {}, {"priorityClassName": "high"}),
        (_priority("Exists"), {"priorityClassName": "low"}, {}),
        (_priority("DoesNotExist"), {}, {"priorityClassName": "low"}),
    ],
    ids=str,
)
async def test_a_scope_limits_only_the_pods_in_it(tmp_path: Path, scopes: Any, inside: Any, outside: Any) -> None:
    async with serving(tmp_path) as api:
        for name in ("high", "low"):
            classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
            assert (await api.call("POST", classes, {"metadata": {"name": name}, "value": 1})).code == 201
        await _limit(api, scopes, pods="1")
        assert [(await _pod(api, f"o{i}", **outside)).code for i in range(2)] == [201, 201]
        assert [(await _pod(api, f"i{i}", **inside)).code for i in range(2)] == [201, 403]
        await _told(api, pods="1")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("spec", "ports", "balancers"),
    [
        ({}, "0", "0"),
        ({"type": "NodePort"}, "2", "0"),
        ({"type": "LoadBalancer"}, "2", "1"),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, "0", "1"),
    ],
    ids=["inner", "node ports", "balanced", "balanced without node ports"],
)
async def test_what_services_take(tmp_path: Path, spec: Any, ports: str, balancers: str) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, **{"services.nodeports": "9", "services.loadbalancers": "9", "count/services": "9"})
        assert (await _service(api, "s", **spec)).code == 201
        # there is one from the first moment: kubernetes
        expected = {"services.nodeports": ports, "services.loadbalancers": balancers, "count/services": "2"}
        await _told(api, **expected)


@pytest.mark.anyio
async def test_a_service_is_not_let_grow_beyond_the_quota_either(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, **{"services.nodeports": "2"})
        assert (await _service(api, "a", type="NodePort")).code == 201
        name = "services.nodeports"
        text = f"exceeded quota: q, requested: {name}=2, used: {name}=2, limited: {name}=2"
        refused = await _service(api, "b", type="NodePort")
        assert (refused.code, refused.body["message"]) == (403, f'services "b" is forbidden: {text}')
        assert (await _service(api, "b")).code == 201
        grown = await api.call("PATCH", f"{_SERVICES}/b", {"spec": {"type": "NodePort"}}, _MERGE)
        assert (grown.code, grown.body["message"]) == (403, f'services "b" is forbidden: {text}')
        labelled = await api.call("PATCH", f"{_SERVICES}/a", {"metadata": {"labels": {"a": "b"}}}, _MERGE)
        assert labelled.code == 200


@pytest.mark.anyio
async def test_claims_are_counted_by_their_storage_class(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        gold = "gold.storageclass.storage.k8s.io/persistentvolumeclaims"
        await _limit(api, **{gold: "1", "persistentvolumeclaims": "9"})
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        codes = [
            (await api.call("POST", _CLAIMS, {"metadata": {"name": n}, "spec": {**spec, "storageClassName": c}})).code
            for n, c in (("a", "gold"), ("b", "gold"), ("c", "silver"))
        ]
        assert codes == [201, 403, 201]
        await _told(api, **{gold: "1", "persistentvolumeclaims": "2"})


@pytest.mark.anyio
async def test_the_status_follows_creates_deletes_and_the_spec(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, configmaps="5", count__secrets="5")
        await asyncio.gather(*(api.call("POST", _MAPS, _map(name)) for name in "abc"))
        await _told(api, configmaps="3", count__secrets="0")
        await api.call("DELETE", f"{_MAPS}/a")
        await _told(api, configmaps="2", count__secrets="0")
        hard = {"spec": {"hard": {"configmaps": "7", "count/secrets": None}}}
        assert (await api.call("PATCH", f"{_QUOTAS}/q", hard, _MERGE)).code == 200
        await _told(api, configmaps="2")


@pytest.mark.anyio
async def test_no_change_is_missed_however_close_it_comes_behind_another(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, configmaps="100")
        for number in range(60):
            await api.call("POST", _MAPS, _map(f"m{number}"))
            await api.call("DELETE", f"{_MAPS}/m{number}")
            if number % 3 == 0:
                await _told(api, configmaps="0")


@pytest.mark.anyio
async def test_a_status_that_a_crash_left_behind_is_right_after_the_next_start(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, configmaps="5")
        await api.call("POST", _MAPS, _map("a"))
        await _told(api, configmaps="1")
        await api.call("PATCH", f"{_QUOTAS}/q/status", {"status": {"used": {"configmaps": "4"}}}, _MERGE)
    async with serving(tmp_path) as api:
        await _told(api, configmaps="1")


@pytest.mark.anyio
async def test_nothing_is_written_where_there_is_no_quota_or_nothing_it_counts(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, pods="5")
        await api.call("POST", "/api/v1/namespaces/kube-public/configmaps", _map("a"))
        first = await api.call("POST", _MAPS, _map("a"))
        second = await api.call("POST", _MAPS, _map("b"))
        versions = [int(answer.body["metadata"]["resourceVersion"]) for answer in (first, second)]
        assert versions[1] == versions[0] + 1
