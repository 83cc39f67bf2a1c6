"""Asks a real kube-apiserver."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import re
import ssl
import time
from pathlib import Path
from typing import Any

from tests.kube.real.cluster import RealControlPlane
from tests.machinery.schema.recording import suites, updates, values

FILE = Path(__file__).with_name("recorded.json.gz")

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_OBJECTS = "/apis/example.com/v1/namespaces/default"
_RULES_AT_ONCE = 20
# Type names that the server makes up anew every time.
_SELF_TYPE = re.compile(r"selfType\d+[\w.@]*")
_PATIENCE_SECONDS = 90


class _Server:
    """One connection to the server; definitions come and go under it."""

    def __init__(self, plane: RealControlPlane) -> None:
        host, _, port = plane.url.removeprefix("https://").partition(":")
        context = ssl.create_default_context(cafile=str(plane.ca_file))
        self._connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=60)
        self._headers = {"Authorization": f"Bearer {plane.token}", "Content-Type": "application/json"}

    def close(self) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        said = answer.read()
        # A path nobody serves yet is answered in plain words.
        return answer.status, json.loads(said) if said.startswith(b"{") else {}

    def define(self, plural: str, schema: dict[str, Any]) -> None:
        code, answer = self.ask("POST", _CRDS, _definition(plural, schema))
        assert code == 201, answer
        self._until(lambda: self.ask("GET", f"{_OBJECTS}/{plural}")[0] == 200)

    def redefine(self, plural: str, schema: dict[str, Any], refused: dict[str, Any]) -> None:
        """Replaces a schema and waits until it refuses an object that the one before it took."""
        _, current = self.ask("GET", f"{_CRDS}/{plural}.example.com")
        current["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
        code, answer = self.ask("PUT", f"{_CRDS}/{plural}.example.com", current)
        assert code == 200, answer
        self._until(lambda: self.ask("POST", f"{_OBJECTS}/{plural}?dryRun=All", refused)[0] == 422)

    @staticmethod
    def _until(holds: Any) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.02)


def _definition(plural: str, schema: dict[str, Any]) -> dict[str, Any]:
    kind = plural[:-1].title()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _object(plural: str, spec: dict[str, Any], metadata: Any = None) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": plural[:-1].title(),
        "metadata": {"name": "x"} if metadata is None else metadata,
        "spec": spec,
    }


def _causes(answer: dict[str, Any]) -> list[list[str]]:
    causes = (answer.get("details") or {}).get("causes") or []
    return sorted([c["reason"], c["field"], _SELF_TYPE.sub("selfType", c["message"])] for c in causes)


def _outcome(code: int, answer: dict[str, Any]) -> Any:
    """What was stored of the spec, the causes of a refusal, or the words of a request that could not be read."""
    if code < 300:
        return {"stored": answer["spec"]}
    return {"causes": _causes(answer)} if code == 422 else {"unread": answer["message"].partition(": ")[2]}


def _take_values(server: _Server) -> Any:
    server.define("values", values.SCHEMA)
    said: dict[str, list[Any]] = {}
    for name in values.FIELDS:
        for value in values.VALUES:
            body = _object("values", {name: value})
            outcome = _outcome(*server.ask("POST", f"{_OBJECTS}/values?dryRun=All&fieldValidation=Ignore", body))
            strict = server.ask("POST", f"{_OBJECTS}/values?dryRun=All&fieldValidation=Strict", body)[1]
            unknown = re.findall('unknown field "([^"]*)"', strict.get("message") or "")
            said.setdefault(name, []).append({**outcome, "unknown": unknown})
    return said


def _take_metadata(server: _Server) -> Any:
    said: list[Any] = []
    for metadata in values.METADATA:
        body = _object("values", {}, metadata)
        code, answer = server.ask("POST", f"{_OBJECTS}/values?dryRun=All&fieldValidation=Ignore", body)
        strict = server.ask("POST", f"{_OBJECTS}/values?dryRun=All&fieldValidation=Strict", body)[1]
        unknown = re.findall('unknown field "([^"]*)"', strict.get("message") or "")
        unread = answer["message"].partition(": ")[2] if code == 400 else None
        said.append({"unread": unread, "unknown": unknown})
    return said


def _take_updates(server: _Server) -> Any:
    server.define("updates", updates.LOOSE)
    code, live = server.ask("POST", f"{_OBJECTS}/updates", _object("updates", updates.BEFORE))
    assert code == 201, live
    server.redefine("updates", updates.TIGHT, _object("updates", updates.BEFORE, {"name": "y"}))
    said: list[Any] = []
    for spec in updates.specs():
        _, updated = server.ask("PUT", f"{_OBJECTS}/updates/x?dryRun=All", {**live, "spec": spec})
        _, created = server.ask("POST", f"{_OBJECTS}/updates?dryRun=All", _object("updates", spec, {"name": "y"}))
        said.append({"updated": _causes(updated), "created": _causes(created)})
    return said


def _take_definition(server: _Server, schema: dict[str, Any]) -> list[list[str]]:
    code, answer = server.ask("POST", f"{_CRDS}?dryRun=All", _definition("definitions", schema))
    assert code in (201, 422), answer
    return _causes(answer) if code == 422 else []


def _take_expressions(server: _Server) -> Any:
    spec, schemas = suites.expressions()
    said: list[Any] = [{"definition": _take_definition(server, schema)} for schema in schemas]
    valid = [place for place, each in enumerate(said) if not each["definition"]]
    for start in range(0, len(valid), _RULES_AT_ONCE):
        places = valid[start : start + _RULES_AT_ONCE]
        plural = f"expressions{start}s"
        server.define(plural, suites.joined([schemas[place] for place in places]))
        _, answer = server.ask("POST", f"{_OBJECTS}/{plural}?dryRun=All", _object(plural, spec))
        causes = answer["details"]["causes"]
        assert len(causes) == len(places)
        for place, cause in zip(places, causes, strict=True):
            said[place]["shown"] = cause["message"]
    return said


def take() -> bytes:
    """Everything the server says, as the file holds it."""
    with RealControlPlane() as plane, contextlib.closing(_Server(plane)) as server:
        said = {
            "values": _take_values(server),
            "metadata": _take_metadata(server),
            "updates": _take_updates(server),
            "definitions": [_take_definition(server, schema) for schema in suites.definitions()],
            "expressions": _take_expressions(server),
            "costs": [_take_definition(server, schema) for schema in suites.costs()],
        }
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def recorded() -> Any:
    """What the server said when it was asked last."""
    return json.loads(gzip.decompress(FILE.read_bytes()))


def write(said: bytes) -> None:
    """Keeps it, in the same bytes for the same answers."""
    FILE.write_bytes(gzip.compress(said, 9, mtime=0))
