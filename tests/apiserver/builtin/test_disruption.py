"""Who may be evicted, and which budget pays."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.builtin.disruption import may_evict

Object = dict[str, Any]

_NOW = "2020-01-01T00:00:00Z"
_NO = "Cannot evict pod as it would violate the pod's disruption budget."
_READY = [{"type": "Ready", "status": "True"}]


def _pod(phase: str = "Running", conditions: list[Object] | None = None, **meta: Any) -> Object:
    metadata = {"name": "p", "labels": {"app": "a"}, **meta}
    return {"metadata": metadata, "status": {"phase": phase, "conditions": conditions or []}}


def _budget(*, selector: Object | None = None, generation: int = 1, policy: str = "", **status: Any) -> Object:
    spec: Object = {"selector": {"matchLabels": {"app": "a"}} if selector is None else selector}
    if policy:
        spec["unhealthyPodEvictionPolicy"] = policy
    return {
        "metadata": {"name": "b", "generation": generation},
        "spec": spec,
        "status": {"observedGeneration": 1, **status},
    }


def test_a_budget_that_allows_it_pays() -> None:
    budget = _budget(disruptionsAllowed=2, disruptedPods={"q": _NOW})
    verdict = may_evict(_pod(conditions=_READY), [budget], _NOW)
    assert verdict.code == 200
    assert verdict.budget is not None
    assert verdict.budget["status"] == {
        "observedGeneration": 1,
        "disruptionsAllowed": 1,
        "disruptedPods": {"q": _NOW, "p": _NOW},
    }
    assert budget["status"]["disruptionsAllowed"] == 2


@pytest.mark.parametrize(
    ("pod", "budgets"),
    [
        pytest.param(_pod(), [], id="no budget"),
        pytest.param(_pod(), [_budget(selector={"matchLabels": {"app": "b"}})], id="a budget of others"),
        pytest.param(_pod("Pending"), [_budget()], id="a pod that never ran"),
        pytest.param(_pod("Succeeded"), [_budget()], id="a pod that is done"),
        pytest.param(_pod(deletionTimestamp=_NOW), [_budget()], id="a pod that goes already"),
        pytest.param(_pod(), [_budget(policy="AlwaysAllow")], id="a pod that is not ready, if the budget says so"),
        pytest.param(_pod(), [_budget(currentHealthy=2, desiredHealthy=2)], id="a pod that is not ready, enough are"),
        pytest.param(
            _pod(),
            [_budget(selector={"matchExpressions": [{"key": "a", "operator": "x"}]})],
            id="a budget whose selector cannot be read",
        ),
    ],
)
def test_who_goes_without_a_budget(pod: Object, budgets: list[Object]) -> None:
    verdict = may_evict(pod, budgets, _NOW)
    assert (verdict.code, verdict.budget) == (200, None)


@pytest.mark.parametrize(
    ("budgets", "code", "message", "cause"),
    [
        pytest.param(
            [_budget(currentHealthy=1, desiredHealthy=2)],
            429,
            _NO,
            "The disruption budget b needs 2 healthy pods and has 1 currently",
            id="too few are healthy",
        ),
        pytest.param(
            [_budget(currentHealthy=3, desiredHealthy=2)],
            429,
            _NO,
            "The disruption budget b does not allow evicting pods currently",
            id="enough are healthy, but none may go",
        ),
        pytest.param(
            [
                _budget(
                    conditions=[
                        {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale"}
                    ]
                )
            ],
            429,
            _NO,
            "The disruption budget b does not allow evicting pods currently because it failed sync: no scale",
            id="nobody could count",
        ),
        pytest.param(
            [_budget(generation=2, disruptionsAllowed=1)],
            429,
            _NO,
            "The disruption budget b is still being processed by the server.",
            id="nobody has looked at it yet",
        ),
        pytest.param(
            [_budget(disruptionsAllowed=-1)],
            403,
            'poddisruptionbudget.policy "b" is forbidden: pdb disruptions allowed is negative',
            "",
            id="less than none",
        ),
        pytest.param(
            [_budget(), _budget()],
            500,
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            "",
            id="two budgets",
        ),
    ],
)
def test_who_stays(budgets: list[Object], code: int, message: str, cause: str) -> None:
    verdict = may_evict(_pod(conditions=_READY), budgets, _NOW)
    assert (verdict.code, verdict.message, verdict.cause) == (code, message, cause)
    assert verdict.budget is None
