"""Requests that no client means: good ones damaged byte by byte, texts made of the right words in a wrong order."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from urllib.parse import quote

import yaml

from tests.apiserver.data import protobuf_pairs
from tests.apiserver.fuzz.judge import Asked
from tests.apiserver.fuzz.subjects import Object, Subject, definition, definition_spec, subjects

_PROTOBUF = "application/vnd.kubernetes.protobuf"
_PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json")
_APPLY = "application/apply-patch+yaml"
_MAPS = "/api/v1/namespaces/default/configmaps"
_ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1 << 63,
    1e300,
    "",
    "x" * 300,
    "\u0000",
    "😀",
    [],
    {},
    [[]],
    {"": None},
    "-.",
    "1" * 5_000,
    "9" * 5_000 + "%",
    "10.0.0.0/" + "1" * 5_000,
)
_NOISE = b'\x00\xff{}[]":,\\u0-9eE.\n\t '
_PIECES = (
    "api apis v1 apps namespaces default pods configmaps watch status scale log openapi v3 healthz exec proxy token "
    "binding metrics version fuzz.example.com widgets .. . %2e%2e %2F %00 %ff %F0%9F%98%80 a:b * ~  " + "x" * 300
)
_CEL = (
    "self oldSelf .a .b [0] has( ( ) == < + - ! && || ? : 1 2.5 'x' true null .size() x type( [ ] { } in int( u for "
    "duration('1h') timestamp( quantity('1Gi') .orValue(1) ?.c 1/0 9223372036854775808 b'\\xff' __a__ .all(x, "
    ".map(x,x) .matches('(') .find('a+')"
)
_PATTERNS = ("a", "a?", "[a-z]+", "(a|b)*", "\\pL", "(", "a{1000}")
Storm = Callable[[Random], Iterator[Asked]]


def damaged(data: bytes, random: Random) -> bytes:
    """Bytes with a few of them lost, doubled or replaced."""
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((0, 1, 1, 2, 8, 64)))
        piece = random.choice((b"", bytes([random.choice(_NOISE)]), data[start:end] * 2, random.randbytes(3)))
        data = data[:start] + piece + data[end:]
    return data


def upset(value: Any, random: Random) -> Any:
    """An object with a few parts lost, moved or replaced by what does not belong there."""
    value = copy.deepcopy(value)
    for _ in range(random.randint(1, 3)):
        holder, key = random.choice(list(_places(value)))
        if random.random() < 0.3:
            del holder[key]
        elif random.random() < 0.3:
            holder[key] = copy.deepcopy(random.choice(list(_places(value)))[0])
        else:
            holder[key] = copy.deepcopy(random.choice(_ODD))
        if not value or not list(_places(value)):
            break
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, child in pairs:
        yield value, key
        yield from _places(child)


def _writes(subject: Subject, name: str, body: bytes, content_type: str, random: Random) -> Asked:
    collection = subject.collection("default")
    method = random.choice(("POST", "PUT", "PATCH"))
    if method == "PATCH":
        content_type = random.choice((*_PATCHES, _APPLY))
    path = collection if method == "POST" else f"{collection}/{name}"
    return Asked(method, f"{path}?fieldManager=storm", body, content_type)


def _stored() -> list[Subject]:
    return [s for s in subjects() if not s.only_tried and "review" not in s.plural]


def json_bodies(random: Random) -> Iterator[Asked]:
    """Damaged JSON."""
    for _ in range(300):
        subject = random.choice(_stored())
        yield _writes(subject, "j", damaged(json.dumps(subject.good("j")).encode(), random), "application/json", random)


def upset_objects(random: Random) -> Iterator[Asked]:
    """JSON that says something else than it should."""
    for _ in range(500):
        subject = random.choice(_stored())
        body = json.dumps(upset(subject.good("u"), random)).encode()
        yield _writes(subject, "u", body, "application/json", random)


def yaml_bodies(random: Random) -> Iterator[Asked]:
    """Damaged YAML."""
    for _ in range(200):
        subject = random.choice(_stored())
        body = yaml.safe_dump(subject.good("y")).encode()
        yield _writes(subject, "y", damaged(body, random), "application/yaml", random)


def protobuf_bodies(random: Random) -> Iterator[Asked]:
    """Damaged protobuf."""
    pairs = protobuf_pairs()
    by_kind = {(s.api_version, s.kind): s for s in _stored()}
    for _ in range(300):
        pair = random.choice(pairs)
        subject = by_kind.get((pair["json"]["apiVersion"], pair["json"]["kind"])) or random.choice(_stored())
        body = damaged(base64.b64decode(pair["protobuf"]), random)
        yield Asked("POST", subject.collection("default"), body, _PROTOBUF)


def queries(random: Random) -> Iterator[Asked]:
    """Options made of the right words."""
    words = (
        "a",
        "in",
        "notin",
        "(",
        ")",
        ",",
        "!",
        "=",
        "==",
        "!=",
        ">",
        "<",
        " ",
        "metadata.name",
        "b/c",
        "1",
        "-",
        "",
    )
    numbers = ("-1", "0", "1", "9" * 30, "x", "1.5", " 1", "+1", "\uff10")
    for _ in range(300):
        parts: list[str] = []
        for name in ("labelSelector", "fieldSelector"):
            if random.random() < 0.5:
                parts.append(f"{name}={quote(''.join(random.choices(words, k=random.randrange(9))))}")
        for name in ("limit", "resourceVersion", "timeoutSeconds", "continue", "watch", "sendInitialEvents"):
            if random.random() < 0.3:
                parts.append(f"{name}={quote(random.choice(numbers))}")
        if random.random() < 0.3:
            parts.append(f"resourceVersionMatch={random.choice(('Exact', 'NotOlderThan', 'x', ''))}")
        collection = random.choice(_stored()).collection("default")
        yield Asked(random.choice(("GET", "GET", "DELETE")), f"{collection}?{'&'.join(parts)}&labelSelector=nothing")


def continue_tokens(random: Random) -> Iterator[Asked]:
    """Tokens that were tampered with."""
    token: Object = {"v": "meta.k8s.io/v1", "rv": 1, "start": "c\u0000"}
    for _ in range(200):
        forged = json.dumps(upset(token, random) if random.random() < 0.6 else {**token, "rv": random.choice(_ODD)})
        raw = forged.encode() if random.random() < 0.7 else damaged(forged.encode(), random)
        encoded = base64.urlsafe_b64encode(raw).decode()
        yield Asked("GET", f"{_MAPS}?limit=1&continue={encoded if random.random() < 0.5 else encoded.rstrip('=')}")


def paths(random: Random) -> Iterator[Asked]:
    """Paths that lead nowhere."""
    pieces = _PIECES.split(" ")
    for _ in range(400):
        path = "/" + "/".join(random.choices(pieces, k=random.randint(1, 9)))
        method = random.choice(("GET", "GET", "POST", "PUT", "PATCH", "DELETE"))
        body = None if method == "GET" else b"{}"
        yield Asked(method, path, body, random.choice(("application/json", *_PATCHES, "", "*/*")))


def definitions(random: Random) -> Iterator[Asked]:
    """Custom definitions with broken schemas."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for number in range(200):
        body = upset(definition(), random)
        if isinstance(body.get("metadata"), dict) and isinstance(body.get("spec"), dict):
            names = body["spec"].get("names")
            if isinstance(names, dict) and "plural" in names:
                names["plural"] = f"d{number}"
            body["metadata"]["name"] = f"d{number}.fuzz.example.com"
        yield Asked("POST", path, json.dumps(body).encode())


def rules(random: Random) -> Iterator[Asked]:
    """CEL made of the right words."""
    words = _CEL.split(" ")
    properties = {"a": {"type": "integer"}, "b": {"type": "array", "maxItems": 5, "items": {"type": "string"}}}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
    for _ in range(300):
        rule: Object = {"rule": " ".join(random.choices(words, k=random.randint(1, 9)))}
        if random.random() < 0.3:
            rule["messageExpression"] = " ".join(random.choices(words, k=random.randint(1, 5)))
        if random.random() < 0.3:
            rule[random.choice(("reason", "fieldPath", "optionalOldSelf"))] = random.choice(
                (*_ODD, ".a", "FieldValueInvalid")
            )
        schema: Object = {"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}
        if random.random() < 0.1:
            pattern = random.choice(_PATTERNS) * random.choice((1, 1_000, 100_000))
            schema["properties"] = {**properties, "c": {"type": "string", "pattern": pattern}}
        spec = definition_spec("rule", "fuzz.example.com", {"type": "object", "properties": {"spec": schema}})
        body = {"metadata": {"name": "rule.fuzz.example.com"}, "spec": spec}
        yield Asked("POST", path, json.dumps(body).encode())


STORMS: tuple[Storm, ...] = (
    json_bodies,
    upset_objects,
    yaml_bodies,
    protobuf_bodies,
    queries,
    continue_tokens,
    paths,
    definitions,
    rules,
)
