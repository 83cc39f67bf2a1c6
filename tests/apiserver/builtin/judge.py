"""A server that is asked to judge objects of the built-in kinds: a real kube-apiserver, or ours."""

from __future__ import annotations

import contextlib
import copy
import json
import re
from collections.abc import Generator
from typing import Any, Final

from rayward.kube.machinery.fielderror import FieldError
from rayward.local.apiserver import builtin
from rayward.local.apiserver.resource import Resource
from tests.contract.server import Connection
from tests.waiting import eventually

Object = dict[str, Any]

UID: Final = "00000000-0000-0000-0000-000000000000"
CREATED: Final = "2020-01-01T00:00:00Z"
_UNEQUAL: Final = ("managedFields", "creationTimestamp", "resourceVersion", "uid", "selfLink")
_AGE: Final = re.compile(r"(?<![\w.])(\d+y)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(?<=\d[ydhms])(?![\w.])")
_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOKEN_VOLUME: Final = re.compile(r"kube-api-access-[a-z0-9]{5}")
# The given objects are older.
_NOW: Final = re.compile(r"20(2[5-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_WARNING: Final = re.compile(r'^299 - "(.*)"$')
_JSON: Final = {"Content-Type": "application/json"}
_TABLE: Final = _JSON | {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}


def resource_named(name: str) -> Resource:
    """A built-in resource, ``pods`` or ``jobs.batch``."""
    plural, _, group = name.partition(".")
    return next(r for r in builtin.resources() if (r.plural, r.group) == (plural, group))


def merged(target: Any, patch: Any) -> Any:
    """An object with a merge patch applied."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result: Object = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def shared(obj: Object) -> Object:
    """The part of an object that two servers agree on."""
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _UNEQUAL}
    return {**obj, "metadata": metadata}


def in_any_order(answer: Object) -> Object:
    """An answer with its causes sorted."""
    return {**answer, "causes": sorted(answer["causes"])}


def causes(errors: list[FieldError]) -> list[list[str]]:
    """Errors as a Status lists them."""
    return [[error.field, error.body, error.reason.value] for error in errors]


class Judge:
    """A server that is asked, ``attempts`` times each."""

    def __init__(self, connection: Connection, attempts: int = 1) -> None:
        self._connection = connection
        self._attempts = attempts

    @contextlib.contextmanager
    def account(self, name: str) -> Generator[None]:
        """An account that pods run as. It goes again: an account of that name may be judged next."""
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        self._must("POST", accounts, {"metadata": {"name": name}})
        yield
        self._must("DELETE", f"{accounts}/{name}")

    def ready(self) -> None:
        """Wait until pods are let in: the account that they run as is there."""
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        eventually(lambda: self._send("GET", account).code == 200)

    def created(self, name: str, given: Object) -> Object:
        """The answer to an object that is created."""
        return self._steady("POST", _path(name), given)

    def changed(self, name: str, line: Object, changes: list[Object]) -> list[Object]:
        """The answers to changes of an object, which is made for it."""
        path = f"{_path(name)}/{line['given']['metadata']['name']}"
        self._must("POST", _path(name), line["given"])
        try:
            old = self._must("GET", path)
            if name == "resourcequotas":
                del old["metadata"]["resourceVersion"]  # what it counts is written beside us
            if "status" in line:
                old = self._must("PUT", f"{path}/status", merged(old, {"status": line["status"]}))
            return [self._change(path, old, change) for change in changes]
        finally:
            if self._must("GET", path)["metadata"].get("finalizers"):
                self._must("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
            self._send("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
            if name == "namespaces":
                # No controller empties it here, and the next change makes it again.
                self._send("PUT", f"{path}/finalize", {**line["given"], "spec": {"finalizers": []}})

    def _change(self, path: str, old: Object, change: Object) -> Object:
        where = path + (f"/{change['subresource']}" if change.get("subresource") else "")
        return self._steady("PUT", where, merged(old, change["patch"]))

    def _send(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Any:
        data = None if body is None else json.dumps(body).encode()
        return self._connection.send(method, path, data, {"Content-Type": content})

    def _must(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Object:
        reply = self._send(method, path, body, content)
        assert reply.code < 300, reply.content
        return reply.json()

    def _steady(self, method: str, path: str, body: Object) -> Object:
        answers = [self._ask(method, f"{path}?dryRun=All&fieldValidation=Warn", body) for _ in range(self._attempts)]
        if all(answer == answers[0] for answer in answers):
            return answers[0]
        assert all(in_any_order(answer) == in_any_order(answers[0]) for answer in answers), answers
        return {**in_any_order(answers[0]), "unordered": True}

    def _ask(self, method: str, path: str, body: Object) -> Object:
        reply = self._connection.send(method, path, json.dumps(body).encode(), _JSON)
        said = _masked(reply.json())
        found = [_WARNING.match(text) for text in reply.headers.get_all("Warning") or ()]
        warnings = [match[1].replace('\\"', '"').replace("\\\\", "\\") for match in found if match]
        answer: Object = {"code": reply.code}
        if reply.code < 300:
            answer["object"] = shared(said)
            answer["cells"] = self._cells(method, path, body)
        elif reply.code == 422:
            answer["causes"] = [[c["field"], c["message"], c["reason"]] for c in said["details"]["causes"]]
        else:
            answer["message"] = said["message"]
        return {**answer, "warnings": warnings}

    def _cells(self, method: str, path: str, body: Object) -> list[Any]:
        """A row of a table without the ages in it; nothing where there are no tables."""
        reply = self._connection.send(method, path, json.dumps(body).encode(), _TABLE)
        if reply.code == 406:
            return []
        cells = _masked(reply.json()["rows"][0]["cells"])
        return [_AGE.sub("<age>", cell) if isinstance(cell, str) else cell for cell in cells]


def _masked(value: Any) -> Any:
    """A value without what is made anew each time."""
    text = _NOW.sub(CREATED, _UID.sub(UID, json.dumps(value)))
    return json.loads(_TOKEN_VOLUME.sub("kube-api-access-xxxxx", text))


def _path(name: str) -> str:
    resource = resource_named(name)
    root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    place = "/namespaces/default" if resource.namespaced else ""
    return f"{root}{place}/{resource.plural}"
