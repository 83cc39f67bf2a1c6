"""Answers in the form the caller asked for: the object, its row in a table, or only its metadata."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import orjson
import yaml

from rayward.kube.machinery import table
from rayward.local.apiserver import media, options, protobuf, status, tables
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.media import Accept, Form
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.resource import Resource

if TYPE_CHECKING:
    from rayward.local.apiserver.core import Core

_WARNING_TOTAL = 4096
_WARNING_LENGTH = 256
# Of an object itself and of these; the others of Kubernetes' subresources are never shown as a table.
_WITH_TABLES = frozenset({"", "status", "scale"})


def accepted(request: Request) -> Accept:
    """The form this request wants its answer in."""
    return media.accept(request.header(b"accept"), tables=request.info.subresource in _WITH_TABLES)


def shown(core: Core, request: Request, code: int, value: bytes) -> Response:
    """One object, given as its JSON."""
    wanted = accepted(request)
    if wanted.form is Form.TABLE:
        value = tables.made(request.resource, wanted, includes(request), [value], _version_of(value), core.clock())
    elif wanted.form is Form.METADATA:
        if wanted.listed:
            text = "you requested PartialObjectMetadataList, but the requested object is not a list"
            raise status.ApiError(406, "NotAcceptable", f"{text} (*{request.resource.go_name})")
        value = orjson.dumps(partial(value, wanted.version))
    return encoded(request, code, value)


def shown_object(request: Request, code: int, obj: Object) -> Response:
    """An object that is no stored one: a Status, a review, a scale."""
    return encoded(request, code, orjson.dumps(obj))


def encoded(request: Request, code: int, value: bytes) -> Response:
    """JSON bytes as the answer, in the encoding the caller asked for."""
    headers = warning_headers(request.warnings) if request.warnings else ()
    wanted = accepted(request)
    if wanted.yaml:
        return Response(code, to_yaml(value), b"application/yaml", headers)
    if wanted.protobuf and (body := to_protobuf(value)) is not None:
        return Response(code, body, media.PROTOBUF.encode(), headers)
    if _wants_pretty(request):
        value = orjson.dumps(orjson.loads(value), option=orjson.OPT_INDENT_2)
    return Response(code, value, headers=headers)


def _wants_pretty(request: Request) -> bool:
    if "pretty" in request.query:
        return options.flag(request.query, "pretty")
    return request.headers.get(b"user-agent", b"").startswith((b"curl", b"Wget", b"Mozilla/5.0"))


def to_yaml(value: bytes) -> bytes:
    """JSON bytes as YAML bytes."""
    return yaml.dump(orjson.loads(value), Dumper=_Dumper, allow_unicode=True, width=1 << 20).encode()


def to_protobuf(value: bytes) -> bytes | None:
    """JSON bytes as protobuf, or None for a kind that has no such form: custom objects go out as JSON."""
    try:
        return protobuf.encode(orjson.loads(value))
    except protobuf.ProtobufError:
        return None


class _Dumper(yaml.CSafeDumper):
    """YAML as Go writes it: text that could be taken for something else stands in double quotes."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """A text as a plain, quoted or block scalar."""
        resolver = cast("Any", self)
        plain = resolver.resolve(yaml.ScalarNode, text, (True, False)) == "tag:yaml.org,2002:str"
        style = None if plain and text else "|" if "\n" in text else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)  # pyright: ignore[reportUnknownMemberType]


_Dumper.add_representer(str, _Dumper.represent_text)


def warning_headers(warnings: Sequence[str]) -> tuple[tuple[bytes, bytes], ...]:
    """The Warning headers that kubectl prints; too many or too long ones are cut, as clients bound what they read."""
    texts = [
        text for text in dict.fromkeys(warnings) if text and not any(unicodedata.category(c) == "Cc" for c in text)
    ]
    if sum(map(len, texts)) > _WARNING_TOTAL:
        texts = _cut(texts)
    return tuple((b"warning", f"299 - {_quoted(text)}".encode()) for text in texts)


def _cut(texts: list[str]) -> list[str]:
    sizes = list(itertools.accumulate(map(len, texts)))
    # kube-apiserver notices at the first text that is too much, and shows all up to that one in short
    noticed = next(number for number, size in enumerate(sizes) if size > _WARNING_TOTAL)
    short = [text[:_WARNING_LENGTH] for text in texts]
    shown = short[: noticed + 1]
    for text in short[noticed + 1 :]:
        if sum(map(len, shown)) >= _WARNING_TOTAL:
            break
        shown.append(text)
    return shown


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def includes(request: Request) -> str:
    """How much of each object a table row carries."""
    include = options.text(request.query, "includeObject")
    problem = table.check_include(include)
    if problem is not None:
        raise status.bad_request(problem)
    return include


def list_body(
    resource: Resource, wanted: Accept, include: str, values: Iterable[bytes], meta: Object, now: float
) -> bytes:
    """A list of objects in the form the caller asked for."""
    if wanted.form is Form.TABLE:
        known = {key: value for key, value in meta.items() if value != ""}
        return tables.made(resource, wanted, include, values, known, now)
    if wanted.form is Form.METADATA:
        if not wanted.listed:
            text = "you requested PartialObjectMetadata, but the requested object is a list"
            raise status.ApiError(406, "NotAcceptable", f"{text} (*{resource.go_name}List)")
        items = [partial(value, wanted.version) for value in values]
        meta = {key: value for key, value in meta.items() if value != ""}
        kind, api = "PartialObjectMetadataList", f"meta.k8s.io/{wanted.version}"
        return orjson.dumps({"kind": kind, "apiVersion": api, "metadata": meta, "items": items})
    opening = orjson.dumps({"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta})[:-1]
    if resource.builtin:
        # a typed list says the kind once, not in every item
        cut = len(resource.head)
        joined = b",{".join(value[cut:] for value in values)
        return b"".join((opening, b',"items":[', b"{" if joined else b"", joined, b"]}"))
    return b"".join((opening, b',"items":[', b",".join(values), b"]}"))


def partial(value: bytes, version: str) -> Object:
    """Only the metadata of an object."""
    return table.partial_metadata(orjson.loads(value), f"meta.k8s.io/{version}")


def _version_of(value: bytes) -> Object:
    version = orjson.loads(value)["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def event_renderer(
    resource: Resource, wanted: Accept, include: str, now: Callable[[], float]
) -> Callable[[bytes], bytes]:
    """How a watcher sees each object."""
    if wanted.form is Form.METADATA:
        return lambda value: orjson.dumps(partial(value, wanted.version))
    if wanted.form is Form.OBJECT:
        return lambda value: value
    first = True

    def render(value: bytes) -> bytes:
        nonlocal first
        shown_table = tables.made(resource, wanted, include, [value], _version_of(value), now(), columns=first)
        first = False
        return shown_table

    return render
