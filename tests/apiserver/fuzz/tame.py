"""From a generated case to requests: as it is, put into place, or grafted onto an object that is good."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

from tests.apiserver.fuzz.judge import Asked
from tests.apiserver.fuzz.subjects import Object, Subject

_APPLY = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"
_MERGES = ("application/merge-patch+json", "application/strategic-merge-patch+json")
_SYSTEM = ("uid", "resourceVersion", "namespace", "generateName", "managedFields", "ownerReferences", "finalizers")
_GOOD_QUERY: dict[str, tuple[str, ...]] = {
    "dryRun": ("All",),
    "fieldManager": ("fuzz", "other"),
    "fieldValidation": ("Ignore", "Warn", "Strict"),
    "force": ("true", "false"),
    "labelSelector": ("fuzz", "fuzz=yes", "a in (b,c),!d", "fuzz notin (no)"),
    "fieldSelector": ("metadata.name=x", "metadata.name!=x"),
    "resourceVersion": ("", "0", "1"),
    "limit": ("1", "2", "500"),
    "continue": ("",),
    "timeoutSeconds": ("1", "5"),
    "propagationPolicy": ("Background", "Foreground", "Orphan"),
    "gracePeriodSeconds": ("0", "1"),
    "pretty": ("true", "false"),
    "watch": ("true", "false"),
    "allowWatchBookmarks": ("true", "false"),
}


def as_generated(subject: Subject, case: Any) -> Asked:
    """The case unchanged, but for what would harm the others."""
    return _asked(subject, case, case.formatted_path, dict(case.query or {}), _body(case), case.media_type)


def in_place(subject: Subject, case: Any, name: str, random: Random) -> Asked:
    """The case on a name and in a namespace that exist, with its body naming itself rightly."""
    body, media = _body(case), case.media_type
    if isinstance(body, dict):
        body = _named(subject, case, body, name, random)
    if case.method == "PATCH":
        media = random.choice((*_MERGES, _APPLY))
    return _asked(subject, case, _path(subject, case, name), _query(case, media, random), body, media)


def grafted(subject: Subject, case: Any, name: str, random: Random, present: Object | None = None) -> Asked:
    """A good object, or the one that is there, with a few parts of the generated one."""
    body, media = copy.deepcopy(present) or _good(subject, case, name), case.media_type
    generated = _body(case)
    if isinstance(generated, dict):
        leaves = [leaf for leaf in _leaves(generated) if leaf[0][0] not in {"apiVersion", "kind"}]
        for path, value in random.sample(leaves, min(len(leaves), random.randrange(4))):
            _graft(body, path, value)
        if present is None:
            body = _named(subject, case, body, name, random)
    content: Any = body
    if case.method == "PATCH":
        media = random.choice((*_MERGES, _APPLY, _JSON_PATCH))
        content = _operations(body, random) if media == _JSON_PATCH else body
    return _asked(subject, case, _path(subject, case, name), _query(case, media, random), content, media)


def _asked(subject: Subject, case: Any, path: str, query: Object, body: Any, content_type: str | None) -> Asked:
    method: str = case.method
    if subject.only_tried and method != "GET":
        query["dryRun"] = "All"
    if method == "DELETE" and "{name}" not in case.path and not subject.namespaced:
        query["labelSelector"] = "nothing"
    target = f"{path}?{urlencode(query, doseq=True)}" if query else path
    encoded = None if body is None else json.dumps(body).encode()
    return Asked(method, target, encoded, content_type or "application/json")


def _body(case: Any) -> Any:
    return case.body if isinstance(case.body, dict | list | str | int | float | bool) else None


def _path(subject: Subject, case: Any, name: str) -> str:
    path: str = case.path
    return path.replace("{namespace}", subject.namespace).replace("{name}", quote(name, safe=""))


def _query(case: Any, media: str | None, random: Random) -> Object:
    """The generated options, most of them with a value that means something."""
    query: Object = {}
    for name, value in (case.query or {}).items():
        chance = random.random()
        if chance < 0.5 and name in _GOOD_QUERY:
            query[name] = random.choice(_GOOD_QUERY[name])
        elif chance < 0.55:
            query[name] = value
    if media == _APPLY:
        query.setdefault("fieldManager", "fuzz")
        if random.random() < 0.7:
            query["force"] = "true"
    else:
        query.pop("force", None)
    return query


def _good(subject: Subject, case: Any, name: str) -> Object:
    """An object of the subject's kind, or the least of the kind that a subresource takes."""
    group, version, kind = case.operation.definition.raw["x-kubernetes-group-version-kind"].values()
    good = subject.good(name)
    if kind == subject.kind:
        return good
    return {"apiVersion": f"{group}/{version}" if group else version, "kind": kind, "metadata": good["metadata"]}


def _named(subject: Subject, case: Any, body: Object, name: str, random: Random) -> Object:
    given = body.get("metadata")
    metadata: Object = dict(given) if isinstance(given, dict) else {}
    for field in _SYSTEM:
        if random.random() < 0.9:
            metadata.pop(field, None)
    for field in ("labels", "annotations"):
        if random.random() < 0.7:
            metadata.pop(field, None)
    good = _good(subject, case, name)
    metadata |= good["metadata"]
    return {**body, "apiVersion": good["apiVersion"], "kind": good["kind"], "metadata": metadata}


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _leaves(child, (*path, key))
        if 0 < len(path) < 4:
            yield path, value
    elif path:
        yield path, value


def _graft(body: Object, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        child = body.setdefault(key, {})
        if not isinstance(child, dict):
            return
        body = child
    body[path[-1]] = copy.deepcopy(value)


def _operations(body: Object, random: Random) -> list[Object]:
    leaves = list(_leaves(body))
    operations: list[Object] = []
    for path, value in random.sample(leaves, min(2, len(leaves))):
        pointer = "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in path)
        kind = random.choice(("add", "add", "add", "replace", "remove", "test", "copy", "move"))
        operations.append({"op": kind, "path": pointer, "from": "/metadata/labels", "value": value})
    return operations
