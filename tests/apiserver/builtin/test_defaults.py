"""Defaults are those that a real server filled into probes of every type at every place, and into whole objects."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from rayward.local.apiserver import recorded
from rayward.local.apiserver.builtin import resources
from rayward.local.apiserver.resource import Resource
from tests.apiserver import data
from tests.apiserver.builtin.judge import Judge, shared

Object = dict[str, Any]

_PREFIX = "#/components/schemas/"
_DROPPED = "*"
# Without this the field is dropped.
_COMPANIONS = {"sessionAffinityConfig": {"sessionAffinity": "ClientIP"}}
_RESOURCES = {resource.kind: resource for resource in resources() if resource.group != "events.k8s.io"}


def _type_of(resource: Resource) -> str:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    known = recorded.schemas().items()
    return next(name for name, schema in known if kind in schema.get("x-kubernetes-group-version-kind", ()))


def _step(schema: Mapping[str, Any]) -> tuple[str, str]:
    """The type that a field holds, and what lies between: ``[]``, ``{}`` or nothing."""
    for mark, key in (("[]", "items"), ("{}", "additionalProperties")):
        if isinstance(schema.get(key), dict):
            return _step(schema[key])[0], mark
    reference = next((part["$ref"] for part in schema.get("allOf", ())), schema.get("$ref", ""))
    return reference.removeprefix(_PREFIX), ""


def _places(resource: Resource) -> Iterator[tuple[str, str]]:
    """Every type below a kind with every way there that passes no type twice."""
    waiting = [(resource.kind, _type_of(resource), frozenset[str]())]
    while waiting:
        way, name, above = waiting.pop()
        yield way, name
        for field, schema in recorded.schema(name).get("properties", {}).items():
            inner, mark = _step(schema)
            if inner and inner not in above and (way, field) != (resource.kind, "metadata"):
                waiting.append((f"{way}.{field}{mark}", inner, above | {name}))


def _filled(way: str, value: Any) -> Any:
    """What defaulting makes of a value at a place in an otherwise empty object."""
    kind, *fields = way.split(".")
    resource = _RESOURCES[kind]
    body: Any = copy.deepcopy(value)
    for field in reversed(fields):
        name, mark = field.rstrip("[]{}"), field[-2:]
        body = _COMPANIONS.get(name, {}) | {name: [body] if mark == "[]" else {"k": body} if mark == "{}" else body}
    body = {"apiVersion": resource.api_version, "kind": kind, "metadata": {"name": "probe"}, **body}
    resource.behaviour.coerce(body)
    resource.behaviour.default(body)
    for field in fields:
        name, mark = field.rstrip("[]{}"), field[-2:]
        body = (body or {}).get(name)
        body = body[0] if mark == "[]" and body else body["k"] if mark == "{}" and body else body
    return body


_UNCONDITIONAL = sorted(
    (way, name)
    for resource in _RESOURCES.values()
    for way, name in _places(resource)
    if name in recorded.defaults() and "list" in resource.verbs
)


@pytest.mark.parametrize(("way", "name"), _UNCONDITIONAL, ids=[way for way, _ in _UNCONDITIONAL])
def test_a_default_of_a_type_is_filled_in_wherever_it_occurs(way: str, name: str) -> None:
    filled, expected = _filled(way, {}), recorded.defaults()[name]
    assert {field: filled.get(field) for field in expected} == expected


def test_every_type_with_defaults_occurs() -> None:
    assert {name for _, name in _UNCONDITIONAL} == set(recorded.defaults())


_CONDITIONAL = data.conditional_defaults()


@pytest.mark.parametrize("probe", _CONDITIONAL, ids=[f"{each['at']} {each['given']}" for each in _CONDITIONAL])
def test_a_default_that_follows_from_something_else(probe: Object) -> None:
    filled = _filled(probe["at"], probe["given"])
    expected = probe["filled"]
    if _DROPPED in expected:
        assert not filled
        return
    assert {field: filled.get(field) for field in expected} == expected


# A made-up name is no two servers'; volumes get no finalizer here, since nobody would take it away.
_CREATIONS = [each for each in data.creations() if each["name"] not in ("pod: generated name", "volume: the least")]


@pytest.mark.parametrize("creation", _CREATIONS, ids=[each["name"] for each in _CREATIONS])
def test_a_whole_object_as_it_was_created(judge: Judge, creation: Object) -> None:
    sent, created = creation["sent"], copy.deepcopy(creation["created"])
    group = sent["apiVersion"].rpartition("/")[0]
    resource = next(r for r in resources() if (r.group, r.kind) == (group, sent["kind"]))
    spec = sent.get("spec", {})
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    with judge.account(account) if account else contextlib.nullcontext():
        answer = judge.created(f"{resource.plural}.{group}" if group else resource.plural, sent)
    assert answer["code"] == 201, answer
    if sent["kind"] == "Pod":
        _without_account(answer["object"]["spec"], named=bool(account))
    assert _agree(answer["object"], shared(created)) == []


def _without_account(pod: Object, *, named: bool) -> None:
    """Take away what the admission of accounts gave: the recording is of a server without it."""
    for field in () if named else ("serviceAccount", "serviceAccountName"):
        del pod[field]
    for holder, field in ((pod, "volumes"), *((each, "volumeMounts") for each in _containers(pod))):
        kept = [each for each in holder.get(field, []) if not each["name"].startswith("kube-api-access-")]
        holder.pop(field, None)
        if kept:
            holder[field] = kept


def _containers(pod: Object) -> list[Object]:
    return pod["containers"] + pod.get("initContainers", [])


def _agree(ours: Any, theirs: Any, at: str = "") -> list[str]:
    """Where two values differ; ``*`` equals anything."""
    if theirs == "*":
        return []
    if isinstance(ours, dict) and isinstance(theirs, dict):
        one: Object = ours
        other: Object = theirs
        return [w for key in one.keys() | other.keys() for w in _agree(one.get(key), other.get(key), f"{at}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs: list[tuple[Any, Any]] = list(zip(ours, theirs, strict=True))
        return [w for index, pair in enumerate(pairs) for w in _agree(*pair, f"{at}[{index}]")]
    return [] if ours == theirs else [f"{at}: {ours!r}, not {theirs!r}"]
