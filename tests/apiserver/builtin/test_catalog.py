"""Every served kind has its rules."""

from __future__ import annotations

import pytest

from rayward.local.apiserver import recorded
from rayward.local.apiserver.builtin import behaviour_of_kind, resources
from rayward.local.apiserver.resource import Resource

_STORED = [resource for resource in resources() if "list" in resource.verbs]


def test_all_that_discovery_names_is_served_in_its_order() -> None:
    recordings = [(entry["group"], entry["version"], entry["plural"]) for entry in recorded.resources()]
    assert [(r.group, r.version, r.plural) for r in resources()] == recordings
    assert resources() is resources()


@pytest.mark.parametrize("resource", _STORED, ids=lambda r: f"{r.plural}.{r.group}".rstrip("."))
def test_a_stored_kind_reads_and_shows_an_empty_object(resource: Resource) -> None:
    behaviour = resource.behaviour
    obj = {"apiVersion": resource.api_version, "kind": resource.kind}
    assert behaviour.coerce(obj) == []
    behaviour.default(obj)
    assert len(behaviour.cells(obj, 0.0)) == len(behaviour.columns)
    assert set(behaviour.fields(obj)) == behaviour.selectable
    assert behaviour.has_status == ("status" in resource.subresources)
    assert behaviour.patch_schema is not None


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        (
            "pods",
            "Name Ready Status Restarts Age IP Node Nominated-Node Readiness-Gates",
        ),
        ("services", "Name Type Cluster-IP External-IP Port(s) Age Selector"),
        ("jobs.batch", "Name Status Completions Duration Age Containers Images Selector"),
        ("leases.coordination.k8s.io", "Name Holder Age"),
    ],
)
def test_columns(name: str, columns: str) -> None:
    plural, _, group = name.partition(".")
    resource = next(r for r in resources() if (r.plural, r.group) == (plural, group))
    assert [column.name.replace(" ", "-") for column in resource.behaviour.columns] == columns.split()


def test_kinds_that_are_only_sent() -> None:
    eviction = behaviour_of_kind("policy", "v1", "Eviction")
    assert eviction is not None
    assert eviction.coerce({"metadata": {"name": "p"}, "deleteOptions": {"x": 1}}) == ["deleteOptions.x"]
    assert behaviour_of_kind("policy", "v1", "Nothing") is None
