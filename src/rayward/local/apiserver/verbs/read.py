"""GET: one object or a list, straight from the stored bytes."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from rayward.kube.machinery.jsonsyntax import syntax_error
from rayward.kube.machinery.selectors import SelectorError, fields, labels
from rayward.local.apiserver import status
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.options import ListOptions, list_options, resource_version, text
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.respond import accepted, encoded, includes, list_body, shown
from rayward.local.store import Compacted, Record

_NO_BASE64 = re.compile(r"[^A-Za-z0-9_-]")
_CONTINUE_VERSION = "meta.k8s.io/v1"
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class _Meta(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct, gc=False):
    metadata: _Meta


_labelled = msgspec.json.Decoder(_Labelled)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a resource: a scope of keys, and a test where selectors were given."""

    scope: str
    matches: Callable[[Record], bool] | None


async def get(core: Core, request: Request) -> Response:
    """Answer a GET of one object."""
    asked = resource_version(text(request.query, "resourceVersion"))
    if asked > core.objects.store.revision:
        raise status.too_large_resource_version(asked, core.objects.store.revision)
    record = core.objects.store.get(request.resource.key(request.namespace, request.name))
    if record is None:
        raise status.not_found(request.resource, request.name)
    return shown(core, request, 200, core.objects.view(request.resource, record))


async def list_(core: Core, request: Request) -> Response:
    """Answer a GET of a collection."""
    options = list_options(request.query)
    chosen = selection(core, request, options)
    revision, after = place(core, options)
    records = _records(core, request.resource, chosen.scope, revision, options)
    if after:
        start = chosen.scope + after
        records = [record for record in records if record.key >= start]
    matches = chosen.matches
    limit = options.limit if options.resource_version != "0" or options.match or options.continuation else 0
    meta = list_meta(request.resource, revision)
    page = [r for r in records if matches(r)] if matches else list(records)
    page = cut(page, limit, meta, chosen, revision)
    return list_response(core, request, page, meta)


def list_meta(resource: Resource, revision: int) -> dict[str, Any]:
    """The metadata of a list; lists of custom kinds always say where to go on, even if nowhere."""
    meta: dict[str, Any] = {} if resource.builtin else {"continue": ""}
    return meta | {"resourceVersion": str(revision)}


def cut(records: list[Record], limit: int, meta: dict[str, Any], chosen: Selection, revision: int) -> list[Record]:
    """The first page of some records; ``meta`` then tells how to get the rest."""
    if not 0 < limit < len(records):
        return records
    meta["continue"] = _token(revision, records[limit - 1].key.removeprefix(chosen.scope) + "\0")
    if chosen.matches is None:
        meta["remainingItemCount"] = len(records) - limit
    return records[:limit]


def list_response(core: Core, request: Request, records: Sequence[Record], meta: dict[str, Any]) -> Response:
    """A list answer in the form the caller asked for."""
    wanted = accepted(request)
    values = [core.objects.view(request.resource, record) for record in records]
    return encoded(request, 200, list_body(request.resource, wanted, includes(request), values, meta, core.clock()))


def matching_records(core: Core, request: Request, chosen: Selection) -> list[Record]:
    """All committed records of a selection."""
    store = core.objects.store
    records = [record for key in store.keys(chosen.scope) if (record := store.get(key)) is not None]
    return [record for record in records if chosen.matches(record)] if chosen.matches else records


def place(core: Core, options: ListOptions) -> tuple[int, str]:
    """The revision a list shows, and the key it goes on from."""
    current = core.objects.store.revision
    if options.continuation:
        revision, after = _read_token(options.continuation)
        if options.resource_version not in {"", "0"}:
            raise status.bad_request("specifying resource version is not allowed when using continue")
        return (current if revision < 0 else revision), after
    asked = resource_version(options.resource_version, "invalid resource version: ")
    if asked > current:
        raise status.too_large_resource_version(asked, current)
    exact = options.match == "Exact" or (options.limit > 0 and asked > 0 and not options.match)
    return (asked if exact else current), ""


def _records(core: Core, resource: Resource, scope: str, revision: int, options: ListOptions) -> Sequence[Record]:
    store = core.objects.store
    if revision == store.revision:
        return [record for key in store.keys(scope) if (record := store.get(key)) is not None]
    try:
        return store.snapshot(scope, revision)
    except Compacted:
        if options.continuation:
            _, after = _read_token(options.continuation)
            error = status.expired(_TOO_OLD)
            error.continuation = _token(-1, after)
            raise error from None
        raise status.expired("The resourceVersion for the provided list is too old.") from None


def _token(revision: int, start: str) -> str:
    payload = orjson.dumps({"v": _CONTINUE_VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(payload).rstrip(b"=").decode()


def _read_token(token: str) -> tuple[int, str]:
    wrong = _NO_BASE64.search(token)
    if wrong is not None or len(token) % 4 == 1:
        raise _bad_token(f"illegal base64 data at input byte {wrong.start() if wrong else len(token) - 1}")
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    try:
        payload: Any = orjson.loads(raw)
        version, revision, start = payload["v"], payload["rv"], payload["start"]
    except (ValueError, KeyError, TypeError) as error:
        raise _bad_token(syntax_error(raw) or str(error)) from None
    if version != _CONTINUE_VERSION:
        raise _bad_token("server does not recognize this encoded version")
    whole = type(revision) is int and 0 < abs(revision) < 1 << 63
    if not whole or not isinstance(start, str) or ".." in start.split("/"):
        raise _bad_token("incorrect encoded start resourceVersion")
    return revision, start


def _bad_token(why: str) -> status.ApiError:
    return status.bad_request(f"invalid continue token: continue key is not valid: {why}")


def selection(core: Core, request: Request, options: ListOptions) -> Selection:
    """The keys and the test that a list, watch or collection delete works on."""
    resource = request.resource
    scope = resource.scope(request.namespace)
    tests: list[Callable[[Record], bool]] = []
    if options.label_selector:
        tests.append(_label_test(options.label_selector))
    if options.field_selector:
        tests.append(_field_test(core, resource, options.field_selector))
    if request.name:
        # a watch of one object: the name is part of the scope
        tests.append(_name_test(resource.key(request.namespace, request.name)))
    if not tests:
        return Selection(scope, None)
    if len(tests) == 1:
        return Selection(scope, tests[0])
    return Selection(scope, lambda record: all(test(record) for test in tests))


def _name_test(key: str) -> Callable[[Record], bool]:
    return lambda record: record.key == key


def _label_test(selector_text: str) -> Callable[[Record], bool]:
    try:
        selector = labels.parse(selector_text)
    except SelectorError as error:
        raise status.bad_request(str(error)) from None
    empty: Mapping[str, str] = {}
    return lambda record: selector.matches(_labelled.decode(record.value).metadata.labels or empty)


def _field_test(core: Core, resource: Resource, selector_text: str) -> Callable[[Record], bool]:
    try:
        selector = fields.parse(selector_text)
    except SelectorError as error:
        raise status.bad_request(str(error)) from None
    behaviour = resource.behaviour
    for term in selector.terms:
        if term.field not in behaviour.selectable and term.field not in {"metadata.name", "metadata.namespace"}:
            raise status.bad_request(_unknown_field(resource, term.field))
    if all(term.field.startswith("metadata.") for term in selector.terms):
        return lambda record: selector.matches(_identity(resource, record.key).__getitem__)

    def test(record: Record) -> bool:
        known = {**_identity(resource, record.key), **behaviour.fields(core.objects.decode(resource, record))}
        return selector.matches(lambda name: known.get(name, ""))

    return test


def _unknown_field(resource: Resource, field: str) -> str:
    if resource.builtin and not resource.behaviour.selectable:
        return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    return f"field label not supported: {field}"


def _identity(resource: Resource, key: str) -> dict[str, str]:
    rest = key[len(resource.prefix) :]
    namespace, _, name = rest.rpartition("/")
    return {"metadata.name": name, "metadata.namespace": namespace}
