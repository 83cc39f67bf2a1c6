"""What an aggregating cluster role gathers."""

from __future__ import annotations

from typing import Any

import msgspec

from rayward.local.controllers.aggregation import ClusterRole, aggregated

_READ = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
_WRITE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}


def _role(name: str, labels: dict[str, str] | None = None, **fields: Any) -> ClusterRole:
    return msgspec.convert({"metadata": {"name": name, "labels": labels}, **fields}, ClusterRole)


def _gathering(*labels: dict[str, str], **fields: Any) -> ClusterRole:
    selectors = [{"matchLabels": each} for each in labels]
    return _role("sum", aggregationRule={"clusterRoleSelectors": selectors}, **fields)


def test_a_role_without_a_rule_of_aggregation_keeps_its_own_rules() -> None:
    assert aggregated(_role("plain", rules=[_READ]), [_role("a", {"to": "x"}, rules=[_WRITE])]) is None


def test_rules_come_in_the_order_of_names_and_each_once() -> None:
    roles = [
        _role("b", {"to": "x"}, rules=[_READ, _WRITE]),
        _role("a", {"to": "x"}, rules=[_WRITE]),
        _role("c", {"to": "y"}, rules=[{**_READ, "verbs": ["watch"]}]),
        _role("d", {"to": "x"}),
    ]
    assert aggregated(_gathering({"to": "x"}), roles) == [_WRITE, _READ]


def test_the_order_of_selectors_counts_before_that_of_names() -> None:
    roles = [_role("a", {"to": "x"}, rules=[_READ]), _role("b", {"to": "y"}, rules=[_WRITE])]
    assert aggregated(_gathering({"to": "y"}, {"to": "x"}), roles) == [_WRITE, _READ]


def test_a_role_does_not_gather_its_own_rules() -> None:
    own = msgspec.structs.replace(_gathering({"to": "x"}), rules=[_READ])
    labelled = msgspec.structs.replace(own, metadata=msgspec.structs.replace(own.metadata, labels={"to": "x"}))
    assert aggregated(labelled, [labelled]) == []
