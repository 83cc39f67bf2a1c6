"""Plays a case on a server and returns its masked answers."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

from tests.contract import paths, protobuf
from tests.contract.case import NAMESPACED, Case, Step
from tests.contract.mask import Mask
from tests.contract.server import Connection, Reply, Server

Answer = dict[str, Any]

_HEADERS = ("Content-Type", "Retry-After")
_PATIENCE = 150.0
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


class UnreachableError(Exception):
    """The server did not answer a step at all."""


def play(case: Case, server: Server) -> list[Answer]:
    """The answers to the case's steps, in a fresh namespace that is deleted afterwards."""
    namespace = "n" + "".join(secrets.choice(_ALPHABET) for _ in range(7))
    connection = server.connect()
    with contextlib.closing(connection):
        player = _Player(case, connection, namespace)
        player.prepare()
        try:
            return [player.answer(step) for step in case.steps]
        finally:
            player.clean()


class _Player:
    def __init__(self, case: Case, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._variables = {"ns": namespace}
        self._mask = Mask(json.dumps([[step.path, step.body] for step in case.steps], default=repr))
        self._created: list[str] = []

    def prepare(self) -> None:
        """Makes the namespace, and the service account that every Pod needs to be admitted."""
        namespace = {"metadata": {"name": "{ns}"}}
        self._reply(Step("POST", "/api/v1/namespaces", namespace))
        self._reply(Step("POST", f"/api/v1{NAMESPACED}serviceaccounts", {"metadata": {"name": "default"}}))

    def clean(self) -> None:
        """Deletes the namespace and what the case made outside it."""
        for path in [*reversed(self._created), "/api/v1/namespaces/{ns}"]:
            self._reply(Step("DELETE", path, {"gracePeriodSeconds": 0}))

    def answer(self, step: Step) -> Answer:
        """The masked answer to a step."""
        reply = self._settled(step) if step.until else self._reply(step)
        self._note_created(step, reply)
        if step.keep:
            body = reply.json()
            for name, path in step.keep.items():
                self._variables[name] = str(paths.find(body, path))
        return self._masked(step, reply)

    def _settled(self, step: Step) -> Reply:
        deadline, pause = time.monotonic() + _PATIENCE, 0.02
        while True:
            reply = self._reply(step)
            if time.monotonic() > deadline or _holds(step.until or {}, reply):
                return reply
            time.sleep(pause)
            pause = min(pause * 1.5, 0.3)

    def _reply(self, step: Step) -> Reply:
        headers = {name: self._fill(value) for name, value in step.headers.items()}
        body = step.body
        if body is not None and not isinstance(body, bytes):
            body = self._fill(body if isinstance(body, str) else json.dumps(body)).encode()
            headers.setdefault("Content-Type", "application/json")
        try:
            if step.socket:
                return self._connection.socket(self._fill(step.path), headers, step.events or 0)
            return self._connection.send(step.method, self._fill(step.path), body, headers, step.events)
        except OSError as error:
            raise UnreachableError(f"{step.method} {step.path}: {error!r}") from error

    def _fill(self, text: str) -> str:
        for name, value in self._variables.items():
            text = text.replace("{" + name + "}", value)
        return text

    def _note_created(self, step: Step, reply: Reply) -> None:
        if reply.code != 201 or NAMESPACED in step.path or "dryRun" in step.path:
            return
        path = step.path.partition("?")[0]
        name = paths.find(reply.json(), "metadata.name")
        if name is not paths.ABSENT and name:
            self._created.append(f"{path}/{name}" if step.method == "POST" else path)

    def _masked(self, step: Step, reply: Reply) -> Answer:
        headers: dict[str, Any] = {name: reply.headers[name] for name in _HEADERS if name in reply.headers}
        if step.socket and not reply.content:
            # a refusal without a word: what kind of nothing it is does not matter
            headers = {}
        warnings = [self._mask.text(self._unfill(text)) for text in reply.headers.get_all("Warning") or []]
        if warnings:
            headers["Warning"] = warnings
        if reply.events is not None:
            events = [self._body(line) for line in reply.events]
            return {"code": reply.code, "headers": headers, "events": events, "ended": reply.ended}
        binary = reply.content.startswith(protobuf.MAGIC)
        body = self._body(json.dumps(reply.json()) if binary else reply.content.decode(errors="replace"))
        if step.any_order and isinstance(body, dict):
            body = _with_sorted_causes(body)
        if step.only and isinstance(body, dict):
            body = {path: paths.find(body, path) for path in step.only}
        return {"code": reply.code, "headers": headers, "body": body}

    def _body(self, text: str) -> Any:
        text = self._unfill(text)
        try:
            return self._mask.body(json.loads(text))
        except ValueError:
            return self._mask.text(text)

    def _unfill(self, text: str) -> str:
        return text.replace(self._variables["ns"], "{ns}")


def _holds(conditions: Mapping[str, Any], reply: Reply) -> bool:
    body = reply.json()
    return all(
        (reply.code if path == "code" else paths.find(body, path)) == value for path, value in conditions.items()
    )


def _with_sorted_causes(status: dict[str, Any]) -> dict[str, Any]:
    causes = paths.find(status, "details.causes")
    if causes is paths.ABSENT:
        return status
    told = [f"{cause.get('field')}: {cause['message']}" for cause in causes]
    message = status["message"].replace(", ".join(told), ", ".join(sorted(told)))
    ordered = sorted(causes, key=lambda cause: (str(cause.get("field")), cause["message"]))
    return {**status, "message": message, "details": {**status["details"], "causes": ordered}}
