"""JSON and YAML to plain values as Kubernetes reads them, with the fields that were written twice."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import orjson
import yaml
from yaml.scanner import ScannerError

from rayward.kube.machinery.jsonsyntax import syntax_error
from rayward.kube.machinery.yamlscalar import scalar

_MAX_YAML_NODES = 1_000_000
_CHARACTERS_PER_NODE = 16  # so much text counts as one more node
_YAML_DEPTH = 1_000
_YAML_INDICATORS = (b"[", b"{", b"-", b":", b"?")  # every nested collection needs at least one
TOO_DEEP = "exceeded max depth"
_DEEPEST = 200
_JSON_DEPTH = 254  # what orjson writes
_PLAIN = "!plain"
_KEY = re.compile(rb'"\s*:')
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded text; ``strict`` says what a strict decoder would refuse."""

    value: Any
    strict: list[str]


class MalformedError(Exception):
    """The bytes are not of the format they claim."""


class MalformedYamlError(MalformedError):
    """The bytes are not YAML."""


def decode_json(data: bytes, *, strict: bool = False) -> Body:
    """JSON to a value. Raises MalformedError."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        wrong = syntax_error(data)
        if wrong:
            raise MalformedError(wrong) from None
        try:
            value = _without_half_characters(data)
        except (ValueError, RecursionError):
            raise MalformedError(str(error)) from None
    if not strict or _has_each_key_once(data, value):
        return Body(value, [])
    return Body(value, _doubled_fields(data))


def decode_patch(data: bytes, *, strict: bool = False) -> Body:
    """A patch in JSON. Raises MalformedError."""
    decoded = decode_json(data, strict=strict)
    if is_too_deep(decoded.value):
        raise MalformedError(TOO_DEEP)
    return decoded


def _has_each_key_once(data: bytes, value: Any) -> bool:
    """Whether it is seen at once that a body holds no key twice. Most bodies are so, and a closer look is dear."""
    try:
        compact = orjson.dumps(value)
    except TypeError:
        # nested more deeply than orjson writes
        return False
    if len(data) == len(compact):
        return True
    # Without escapes all that looks like a key, and is none, is the same text in both.
    return b"\\" not in data and len(_KEY.findall(data)) == compact.count(b'":')


def is_too_deep(value: Any) -> bool:
    """Whether a value is nested more deeply than can be stored with its managed fields, which mirror it."""
    for _ in range(_JSON_DEPTH - _DEEPEST):
        value = [value]
    try:
        orjson.dumps(value)
    except TypeError:
        return True
    return False


def _without_half_characters(data: bytes) -> Any:
    """JSON whose bytes or escapes are half of a character: Go puts the replacement character there."""
    text = json.dumps(json.loads(data.decode(errors="replace")), ensure_ascii=False)
    return orjson.loads(_HALF.sub("\ufffd", text))


def decode_yaml(data: bytes, *, strict: bool = False) -> Body:
    """YAML to a value; most YAML that clients send is JSON, which is far cheaper to read."""
    if data.lstrip()[:1] == b"{":
        try:
            return decode_json(data, strict=strict)
        except MalformedError:
            pass
    _refuse_deep_yaml(data)
    loader = _Loader(data)
    doubled: list[str] = []
    try:
        node: Any = loader.get_node() if loader.check_node() else None
        if node is not None and _weight(node, {}) > _MAX_YAML_NODES:
            raise yaml.YAMLError("document contains excessive aliasing")
        value = None if node is None else _value(loader, node, doubled)
    except RecursionError:
        raise MalformedYamlError(f"yaml: {TOO_DEEP}") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise MalformedYamlError(_one_line(error, data.decode(errors="replace"))) from None
    finally:
        loader.dispose()
    if is_too_deep(value):
        raise MalformedYamlError(f"yaml: {TOO_DEEP}")
    try:
        return Body(orjson.loads(orjson.dumps(value)), doubled if strict else [])
    except (TypeError, orjson.JSONEncodeError) as error:
        raise MalformedYamlError(str(error)) from None


def _refuse_deep_yaml(data: bytes) -> None:
    """The loader recurses on the stack of C, without a bound of its own: what is too deep would end the process."""
    if sum(map(data.count, _YAML_INDICATORS)) < _YAML_DEPTH:
        return
    depth = 0
    parser: Any = _Loader(data)
    try:
        while parser.check_event():
            event = parser.get_event()
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _YAML_DEPTH:
                    raise MalformedYamlError(f"yaml: {TOO_DEEP}")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except (yaml.YAMLError, UnicodeDecodeError):
        return  # the loader meets the same mistake no deeper, and says what it is
    finally:
        parser.dispose()


class _Loader(yaml.CSafeLoader):
    """YAML whose plain scalars are left to us: Kubernetes reads them as no other reader does."""


_Loader.yaml_implicit_resolvers = {
    "<": [("tag:yaml.org,2002:merge", re.compile("<<$"))],
    None: [(_PLAIN, re.compile(""))],
}


def _weight(node: Any, known: dict[int, int]) -> int:
    """How many nodes the document has once its aliases are written out; long texts count as several."""
    weight = known.get(id(node))
    if weight is None:
        weight = 1
        if isinstance(node, yaml.MappingNode):
            weight += sum(_weight(k, known) + _weight(v, known) for k, v in node.value)
        elif isinstance(node, yaml.SequenceNode):
            weight += sum(_weight(item, known) for item in node.value)
        else:
            weight += len(node.value) // _CHARACTERS_PER_NODE
        known[id(node)] = weight
    return weight


def _value(loader: Any, node: Any, doubled: list[str]) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, item, doubled) for item in node.value]
    if not isinstance(node, yaml.MappingNode):
        return scalar(node.value) if node.tag == _PLAIN else loader.construct_object(node)
    loader.flatten_mapping(node)
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = _key_text(_value(loader, key_node, doubled))
        if key in result:
            doubled.append(f'line {key_node.start_mark.line + 1}: key "{key}" already set in map')
        result[key] = _value(loader, value_node, doubled)
    return result


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        return "null"
    return str(key)


def _doubled_fields(data: bytes) -> list[str]:
    paths: dict[int, list[str]] = {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        here: list[str] = []
        for key, value in items:
            if key in result:
                here.append(key)
            here.extend(_below(key, value, paths))
            result[key] = value
        if here:
            paths[id(result)] = here
        return result

    try:
        root = json.loads(data, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return []
    return [f'duplicate field "{path}"' for path in dict.fromkeys(_below("", root, paths))]


def _below(key: str, value: Any, paths: dict[int, list[str]]) -> list[str]:
    if isinstance(value, dict):
        found = paths.pop(id(value), [])  # pyright: ignore[reportUnknownArgumentType]
        return [f"{key}.{path}" if key else path for path in found]
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [path for i, item in enumerate(items) for path in _below(f"{key}[{i}]", item, paths)]
    return []


def _one_line(error: Exception, source: str) -> str:
    """A YAML failure as go-yaml words it; the line is counted as it counts, which depends on who found the mistake."""
    problem: str = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    if problem == "found undefined alias":
        mark: Any = getattr(error, "problem_mark", None)
        name = re.match(r"\*([\w-]+)", source[mark.index :]) if mark is not None else None
        return f"yaml: unknown anchor '{name[1] if name else ''}' referenced"
    for mark in (getattr(error, "context_mark", None), getattr(error, "problem_mark", None)):
        if mark is not None and mark.line:
            return f"yaml: line {mark.line + isinstance(error, ScannerError)}: {problem}"
    return f"yaml: {problem}"
