"""Hostile input gets an answer of Kubernetes' kind, soon, and the server goes on as if nothing had been."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Generator
from random import Random
from typing import Any

import pytest

from tests.apiserver.fuzz.judge import Asked, fault
from tests.apiserver.fuzz.session import Wire
from tests.apiserver.fuzz.storms import STORMS, Storm
from tests.apiserver.fuzz.subjects import definition, definition_spec
from tests.contract.server import Server
from tests.contract.target import embedded_server
from tests.waiting import eventually

_SEED = int(os.environ.get("FUZZ_SEED", "0"))
_MAPS = "/api/v1/namespaces/default/configmaps"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WIDGETS = "/apis/fuzz.example.com/v1/namespaces/default/widgets"
_JSON_PATCH, _MERGE = "application/json-patch+json", "application/merge-patch+json"
_YAML = "application/yaml"
Object = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with embedded_server() as server:
        wire = Wire(server)
        for path, body in (
            ("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}),
            (_MAPS, {"metadata": {"name": "kept"}, "data": {"a": "1"}}),
            (_DEFINITIONS, definition()),
        ):
            answered = wire.send(Asked("POST", path, json.dumps(body).encode()))
            assert answered.code == 201, answered.body
        eventually(lambda: wire.send(Asked("GET", _WIDGETS)).code == 200)
        wire.close()
        yield server


@pytest.fixture
def wire(server: Server) -> Generator[Wire]:
    with contextlib.closing(Wire(server)) as wire:
        yield wire


@pytest.mark.parametrize("storm", STORMS, ids=[storm.__name__ for storm in STORMS])
def test_no_storm_breaks_the_server(storm: Storm, wire: Wire) -> None:
    codes: Counter[int] = Counter()
    faults: list[str] = []
    for asked in storm(Random(_SEED)):
        answered = wire.send(asked)
        codes[answered.code] += 1
        if (wrong := fault(asked, answered)) and not _is_a_page(asked, answered.code):
            faults.append(f"{asked}\n    {wrong}")
    refused = sum(count for code, count in codes.items() if code >= 400)
    print(f"{storm.__name__}: {sum(codes.values())} requests, {refused} refused, {len(faults)} faults")
    assert not faults, "\n" + "\n".join(faults[:20])
    assert refused > 0
    assert wire.send(Asked("GET", f"{_MAPS}/kept")).code == 200


def _is_a_page(asked: Asked, code: int) -> bool:
    """Paths that are no resource are pages, some of them no JSON."""
    return code in {200, 404} and not asked.path.startswith("/api/v1/namespaces/")


def _nested(depth: int, opening: str = '{"a":', closing: str = "}") -> bytes:
    return (opening * depth + "1" + closing * depth).encode()


def _widget(name: str, spec: bytes) -> bytes:
    head = f'{{"apiVersion":"fuzz.example.com/v1","kind":"Widget","metadata":{{"name":"{name}"}},"spec":'
    return head.encode() + spec + b"}"


def _map(**more: Any) -> bytes:
    return json.dumps({"metadata": {"name": "hostile"}, **more}).encode()


def _patch(body: Any, content_type: str) -> Asked:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Asked("PATCH", f"{_MAPS}/kept", data, content_type)


_LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)
_TEST = {"op": "test", "path": "/data/a", "value": "1"}
_GROW = [
    {"op": "add", "path": "/data/k", "value": "x" * 1_000},
    *({"op": "copy", "from": "/data/k", "path": f"/data/k{number}"} for number in range(9_000)),
]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        pytest.param(Asked("POST", _MAPS, _nested(20_000)), 400, id="objects too deep"),
        pytest.param(Asked("POST", _MAPS, _nested(20_000, "[", "]")), 400, id="lists too deep"),
        pytest.param(Asked("POST", _MAPS, _nested(200_000, "[", ""), _YAML), 400, id="YAML too deep"),
        pytest.param(Asked("POST", _MAPS, _nested(900_000, "[", "]")), 400, id="lists deeper than any stack"),
        pytest.param(Asked("POST", _WIDGETS, _widget("w", _nested(20_000))), 400, id="a custom object too deep"),
        pytest.param(Asked("POST", _WIDGETS, _widget("w", b'{"free":' + _nested(100) + b"}")), 201, id="deep enough"),
        pytest.param(_patch(_nested(20_000), _MERGE), 400, id="a patch too deep"),
        pytest.param(Asked("POST", _MAPS, _LAUGHS.encode(), _YAML), 400, id="YAML that unpacks without end"),
        pytest.param(Asked("POST", _MAPS, _map(data={"a": "x" * (4 << 20)})), 413, id="4 MB"),
        pytest.param(Asked("POST", _MAPS, _map(data={"a": "x" * (2 << 20)})), 422, id="2 MB in one value"),
        pytest.param(_patch([_TEST] * 10_001, _JSON_PATCH), 413, id="a patch of too many steps"),
        pytest.param(_patch(_GROW, _JSON_PATCH), 422, id="a patch that copies to 9 MB"),
        pytest.param(Asked("GET", f"{_MAPS}?labelSelector={'a,' * 5_000}b"), 200, id="a selector of 5,000 parts"),
        pytest.param(Asked("GET", f"{_MAPS}?limit=1&continue={'A' * 9_000}"), 400, id="a long token"),
        pytest.param(Asked("GET", f"{_MAPS}?resourceVersion=99999999999"), 504, id="a version to come"),
        pytest.param(Asked("GET", f"{_MAPS}/{'x' * 5_000}"), 404, id="a long name"),
        pytest.param(Asked("POST", _MAPS, _map(metadata={"name": "x" * 254})), 422, id="a name of 254 letters"),
        pytest.param(Asked("POST", _MAPS, _map(metadata={"generateName": "x" * 5_000})), 422, id="a long prefix"),
    ],
)
def test_what_is_too_much(asked: Asked, code: int, wire: Wire) -> None:
    answered = wire.send(asked)

    assert answered.code == code, answered.body[:500]
    assert fault(asked, answered) == ""


_DIGITS = "1" * 5_000


def test_a_body_that_never_says_its_size_ends_at_the_limit(wire: Wire) -> None:
    def chunks() -> Generator[bytes]:
        yield b'{"metadata":{"name":"endless"},"data":{"a":"'
        for _ in range(200):
            yield b"x" * (1 << 16)

    answered = wire.send(Asked("POST", _MAPS), stream=chunks())

    assert answered.code == 413
    assert wire.send(Asked("GET", f"{_MAPS}/endless")).code == 404


def _defined(wire: Wire, singular: str, schema: Object) -> str:
    """Serves a kind with this schema of its spec; returns the path of its objects."""
    group = "costly.example.com"
    spec = definition_spec(singular, group, {"type": "object", "properties": {"spec": schema}})
    body = {"metadata": {"name": f"{singular}.{group}"}, "spec": spec}
    answered = wire.send(Asked("POST", _DEFINITIONS, json.dumps(body).encode()))
    assert answered.code == 201, answered.body
    path = f"/apis/{group}/v1/namespaces/default/{singular}"
    eventually(lambda: wire.send(Asked("GET", path)).code == 200)
    return path


def _post(wire: Wire, path: str, spec: Object) -> tuple[int, str]:
    kind = path.rpartition("/")[2].capitalize()
    body = {"apiVersion": "costly.example.com/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    answered = wire.send(Asked("POST", path, json.dumps(body).encode()))
    return answered.code, json.loads(answered.body).get("message", "")


def test_a_pattern_cannot_hold_up_the_server(wire: Wire) -> None:
    text: Object = {"type": "string", "pattern": "^(a+)+$"}
    path = _defined(wire, "backtrack", {"type": "object", "properties": {"text": text}})

    code, message = _post(wire, path, {"text": "a" * 50_000 + "!"})

    assert code == 422
    assert "should match '^(a+)+$'" in message


@pytest.mark.parametrize("piece", ["a", "a?", "\\pL", "(", "a{1000}"])
def test_a_pattern_that_is_too_long_is_refused(piece: str, wire: Wire) -> None:
    text: Object = {"type": "string", "pattern": piece * 100_000}
    spec = definition_spec("long", "costly.example.com", {"type": "object", "properties": {"text": text}})
    body = {"metadata": {"name": "long.costly.example.com"}, "spec": spec}

    answered = wire.send(Asked("POST", _DEFINITIONS, json.dumps(body).encode()))

    assert answered.code == 422
    assert "error parsing regexp: expression too large" in json.loads(answered.body)["message"]


def test_a_pattern_may_be_larger_than_a_set_of_patterns(wire: Wire) -> None:
    large = "a{1000}" * 300
    path = _defined(wire, "large", {"type": "object", "properties": {"text": {"type": "string", "pattern": large}}})

    code, message = _post(wire, path, {"text": "aaa"})

    assert code == 422
    assert "should match 'a{1000}a" in message


@pytest.mark.parametrize(
    ("singular", "rule", "value", "code"),
    [
        ("largerule", "!'x'.matches(self.text)", "a{1000}" * 300, 201),
        ("versions", "semver(self.text).major() > 0", f"{_DIGITS}.1.1", 422),
        ("before", "semver(self.text).major() > 0", f"1.1.1-{_DIGITS}", 422),
        ("durations", "duration(self.text) > duration('1s')", f"{_DIGITS}h", 422),
        ("templates", "self.text.format([1.0]) != ''", f"%.{_DIGITS}f", 422),
    ],
)
def test_a_rule_that_meets_more_than_it_can_read_fails(
    singular: str, rule: str, value: str, code: int, wire: Wire
) -> None:
    text = {"type": "string", "maxLength": 200_000}
    schema = {"type": "object", "properties": {"text": text}, "x-kubernetes-validations": [{"rule": rule}]}
    path = _defined(wire, singular, schema)

    answered, message = _post(wire, path, {"text": value})

    assert answered == code, message[:300]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("email", '"' + '\\"' * 500_000 + "<a@b>"),
        ("duration", "1" * 1_000_000),
        ("ipv4", f"{_DIGITS}.1"),
        ("cidr", f"{_DIGITS}.1/8"),
    ],
)
def test_a_format_is_checked_in_one_pass(name: str, text: str, wire: Wire) -> None:
    schema: Object = {"type": "object", "properties": {"text": {"type": "string", "format": name}}}
    path = _defined(wire, f"format{name}", schema)

    code, message = _post(wire, path, {"text": text})

    assert code == 422
    assert f"spec.text in body must be of type {name}" in message


def test_a_rule_that_would_cost_too_much_is_no_rule(wire: Wire) -> None:
    strings = {"type": "array", "items": {"type": "string"}}
    rule = {"rule": "self.all(x, self.all(y, self.all(z, x.contains(y) || y.contains(z))))"}
    schema = {**strings, "x-kubernetes-validations": [rule]}
    spec = definition_spec("dear", "costly.example.com", {"type": "object", "properties": {"spec": schema}})
    body = {"metadata": {"name": "dear.costly.example.com"}, "spec": spec}

    answered = wire.send(Asked("POST", _DEFINITIONS, json.dumps(body).encode()))

    assert answered.code == 422
    assert "estimated rule cost exceeds budget by factor of" in json.loads(answered.body)["message"]


@pytest.mark.parametrize(
    ("singular", "items", "rules", "says"),
    [
        pytest.param(
            "endless", 900, 1, "no further validation rules will be run due to call cost exceeds limit for rule"
        ),
        (
            "many",
            250,
            50,
            "validation failed due to running out of cost budget, no further validation rules will be run",
        ),
    ],
)
def test_rules_that_run_too_long_are_stopped(singular: str, items: int, rules: int, says: str, wire: Wire) -> None:
    rule = {"rule": "self.all(x, self.all(y, x + y >= 0))"}
    numbers: Object = {"type": "array", "maxItems": items, "items": {"type": "integer"}}
    numbers["x-kubernetes-validations"] = [rule] * rules
    path = _defined(wire, singular, {"type": "object", "properties": {"numbers": numbers}})

    code, message = _post(wire, path, {"numbers": [1] * items})

    assert code == 422
    assert says in message
