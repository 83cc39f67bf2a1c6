"""A budget that is counted is asked; one that nobody counts is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.inprocess import Api, serving

_PODS = "/api/v1/namespaces/default/pods"
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


async def _pod(api: Api, name: str) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    await api.call("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    spec = {"nodeName": "n", "containers": [{"name": "a", "image": "b"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "a"}}, "spec": spec}
    assert (await api.call("POST", _PODS, body)).code == 201
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    assert (await api.call("PATCH", f"{_PODS}/{name}/status", status, "application/merge-patch+json")).code == 200


async def _budget(api: Api, **status: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec}
    assert (await api.call("POST", _BUDGETS, body)).code == 201
    if status:
        counted = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0, **status}
        change = {"status": counted}
        assert (await api.call("PATCH", f"{_BUDGETS}/b/status", change, "application/merge-patch+json")).code == 200


async def _evict(api: Api, name: str) -> Any:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return await api.call("POST", f"{_PODS}/{name}/eviction", body)


@pytest.mark.anyio
async def test_a_budget_pays_for_each_eviction_until_it_is_spent(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _pod(api, "p")
        await _pod(api, "q")
        await _budget(api, observedGeneration=1, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
        assert (await _evict(api, "p")).code == 201
        budget = (await api.call("GET", f"{_BUDGETS}/b")).body["status"]
        assert (budget["disruptionsAllowed"], list(budget["disruptedPods"])) == (0, ["p"])
        refused = await _evict(api, "q")
        assert (refused.code, refused.body["reason"]) == (429, "TooManyRequests")
        assert "deletionTimestamp" not in (await api.call("GET", f"{_PODS}/q")).body["metadata"]


@pytest.mark.anyio
async def test_a_budget_that_nobody_counts_allows_everything(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _pod(api, "p")
        await _budget(api)
        assert (await _evict(api, "p")).code == 201
        conditions = (await api.call("GET", f"{_PODS}/p")).body["status"]["conditions"]
        assert [c["reason"] for c in conditions if c["type"] == "DisruptionTarget"] == ["EvictionByEvictionAPI"]
