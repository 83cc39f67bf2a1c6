"""The recordings are complete, agree with each other and explain what a real server answers."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayward.local.apiserver import recorded
from tests.apiserver import data

Object = dict[str, Any]

_PREFIX = "#/components/schemas/"
_FILES = sorted(p for module in (recorded, data) for p in Path(str(module.__file__)).parent.glob("*.gz"))
_TYPES = sorted(recorded.schemas())
_CREATIONS = [pytest.param(each, id=each["name"]) for each in data.creations()]


def _nodes(schema: Object) -> Iterator[Object]:
    yield schema
    parts: list[Any] = [*schema.get("properties", {}).values(), *schema.get("allOf", ()), *schema.get("oneOf", ())]
    parts += [schema.get("items"), schema.get("additionalProperties")]
    for part in parts:
        if isinstance(part, dict):
            yield from _nodes(part)


def _type_of(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    wanted = {"group": group, "version": version, "kind": kind}
    return next(n for n, s in recorded.schemas().items() if wanted in s.get("x-kubernetes-group-version-kind", ()))


@pytest.mark.parametrize("path", _FILES, ids=[path.name for path in _FILES])
def test_a_recording_carries_no_time_stamp(path: Path) -> None:
    content = path.read_bytes()
    assert content[4:8] == b"\0\0\0\0"
    assert gzip.decompress(content)


def test_accessors_read_once() -> None:
    assert recorded.schemas() is recorded.schemas()
    assert recorded.wire() is recorded.wire()


@pytest.mark.parametrize("name", _TYPES)
def test_a_structure_refers_only_to_recorded_types_and_describes_nothing(name: str) -> None:
    for node in _nodes(recorded.schema(name)):
        assert "description" not in node
        if "$ref" in node:
            assert recorded.schema(node["$ref"]) is recorded.schemas()[node["$ref"].removeprefix(_PREFIX)]


@pytest.mark.parametrize("name", sorted(set(_TYPES) & set(recorded.wire())))
def test_structure_wire_rules_and_protobuf_agree_on_the_fields(name: str) -> None:
    wire = recorded.wire()[name]
    if wire.get("custom"):
        assert not recorded.schema(name).get("properties")
        return
    assert set(wire["fields"]) == set(recorded.schema(name).get("properties", {}))
    assert set(wire["pointers"]) <= set(wire["fields"])
    assert set(wire["zero"] or ()) <= set(wire["fields"])
    assert set(_protobuf_names(recorded.protobuf()[name])) <= set(wire["fields"])


def _protobuf_names(table: Object) -> Iterator[str]:
    for name, kind, of in table.values():
        if kind == "inline":
            yield from _protobuf_names(of)
        else:
            yield name


@pytest.mark.parametrize("entry", recorded.resources(), ids=lambda e: f"{e['group']}/{e['plural']}")
def test_every_resource_has_a_structure_and_columns(entry: Object) -> None:
    api_version = f"{entry['group']}/{entry['version']}" if entry["group"] else entry["version"]
    assert _type_of(api_version, entry["kind"])
    columns = recorded.columns().get(f"{api_version}/{entry['plural']}")
    if "list" in entry["verbs"]:
        assert columns
        assert {"name", "type", "format", "priority"} == set(columns[0])
        assert _type_of(api_version, f"{entry['kind']}List")


def test_discovery_says_what_kubectl_lets_users_type() -> None:
    pods = next(entry for entry in recorded.resources() if entry["plural"] == "pods")
    assert (pods["singular"], pods["shortNames"], pods["categories"]) == ("pod", ["po"], ["all"])
    eviction = next(each for each in pods["subresources"] if each["name"] == "eviction")
    assert eviction["responseKind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}


@pytest.mark.parametrize("name", sorted(recorded.defaults()))
def test_defaults_are_of_recorded_fields(name: str) -> None:
    assert set(recorded.defaults()[name]) <= set(recorded.wire()[name]["fields"])


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("io.k8s.api.core.v1.Probe", "failureThreshold", 3),
        ("io.k8s.api.core.v1.PodSpec", "terminationGracePeriodSeconds", 30),
        ("io.k8s.api.core.v1.SecretVolumeSource", "defaultMode", 0o644),
        ("io.k8s.api.batch.v1.JobSpec", "completionMode", "NonIndexed"),
        ("io.k8s.api.admissionregistration.v1.ValidatingWebhook", "timeoutSeconds", 10),
    ],
)
def test_known_defaults(name: str, field: str, value: Any) -> None:
    assert recorded.defaults()[name][field] == value


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("io.k8s.api.core.v1.Container", "imagePullPolicy"),
        ("io.k8s.api.core.v1.ServicePort", "targetPort"),
        ("io.k8s.api.core.v1.ResourceRequirements", "requests"),
        ("io.k8s.api.core.v1.PodSpec", "enableServiceLinks"),
        ("io.k8s.api.batch.v1.JobSpec", "completions"),
    ],
)
def test_a_default_that_follows_from_something_else_is_an_example_not_a_default(name: str, field: str) -> None:
    assert field not in recorded.defaults().get(name, {})
    assert any(each["type"] == name and field in each["filled"] for each in data.conditional_defaults())


@pytest.mark.parametrize("creation", _CREATIONS)
def test_an_answer_of_a_real_server_follows_the_wire_rules(creation: Object) -> None:
    created = creation["created"]
    name = _type_of(created["apiVersion"], created["kind"])
    assert _written(name, created) == created


def _written(name: str, value: Any) -> Any:
    """The value as a typed server writes it: empty fields left out or filled in, unknown ones dropped."""
    wire = recorded.wire()[name]
    if wire.get("custom"):
        return value
    result: Object = {}
    for field, schema in recorded.schema(name).get("properties", {}).items():
        given = _written_part(schema, (value or {}).get(field, wire["zero"].get(field)))
        kept = field in wire["zero"] or (given is not None if field in wire["pointers"] else given)
        if kept:
            result[field] = given if given or field in wire["pointers"] else wire["zero"].get(field)
    return result


def _written_part(schema: Object, value: Any) -> Any:
    reference = next((part["$ref"] for part in schema.get("allOf", ())), schema.get("$ref"))
    if value is None:
        return None
    if reference:
        return _written(reference.removeprefix(_PREFIX), value)
    if isinstance(value, list):
        return [_written_part(schema["items"], item) for item in value]
    if isinstance(value, dict) and "additionalProperties" in schema:
        entries: Object = value
        return {key: _written_part(schema["additionalProperties"], item) for key, item in entries.items()}
    return value
