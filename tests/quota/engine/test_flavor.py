from __future__ import annotations

from typing import Any

import pytest

from rayward.quota.engine.flavor import Flavor, placement_of
from tests.quota.engine.building import flavor

_TAINT = {"nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}]}
_SOFT = {"nodeTaints": [{"key": "spot", "value": "true", "effect": "PreferNoSchedule"}]}
_LABELS = {"nodeLabels": {"type": "a", "zone": "1"}}
_NO_TOLERATION = "untolerated taint spot=true:NoSchedule in flavor f"
_NO_MATCH = "flavor f doesn't match node affinity"


def _affinity(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def _is(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("spec", "pod", "objection"),
    [
        ({}, {}, ""),
        (_TAINT, {}, _NO_TOLERATION),
        (_SOFT, {}, ""),
        (_TAINT, {"tolerations": [{"key": "spot", "operator": "Exists"}]}, ""),
        (_TAINT, {"tolerations": [{"operator": "Exists"}]}, ""),
        (_TAINT, {"tolerations": [{"key": "spot", "value": "true", "effect": "NoSchedule"}]}, ""),
        (_TAINT, {"tolerations": [{"key": "spot", "value": "true", "effect": "NoExecute"}]}, _NO_TOLERATION),
        (_TAINT, {"tolerations": [{"key": "spot", "value": "false"}]}, _NO_TOLERATION),
        ({**_TAINT, "tolerations": [{"key": "spot", "operator": "Exists"}]}, {}, ""),
        (_LABELS, {"nodeSelector": {"type": "a"}}, ""),
        (_LABELS, {"nodeSelector": {"type": "b"}}, _NO_MATCH),
        (_LABELS, {"nodeSelector": {"other": "b"}}, ""),
        (_LABELS, _affinity([_is("type", "b", "a")]), ""),
        (_LABELS, _affinity([_is("type", "b")]), _NO_MATCH),
        (_LABELS, _affinity([_is("type", "b")], [_is("zone", "1")]), ""),
        (_LABELS, _affinity([_is("type", "b")], [_is("other", "x")]), ""),
        (_LABELS, _affinity([_is("type", "a", operator="NotIn")]), _NO_MATCH),
        (_LABELS, _affinity([_is("type", operator="Exists"), _is("zone", "0", operator="Gt")]), ""),
        (_LABELS, _affinity([_is("zone", "1", operator="Lt")]), _NO_MATCH),
        (_LABELS, _affinity([_is("type", operator="DoesNotExist")]), _NO_MATCH),
    ],
)
def test_pods_may_use_a_flavor_whose_taints_they_tolerate_and_whose_labels_they_want(
    spec: dict[str, Any], pod: dict[str, Any], objection: str
) -> None:
    assert Flavor(flavor("f", **spec)).objection(placement_of(pod)) == objection
