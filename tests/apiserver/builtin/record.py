"""Asks a real kube-apiserver to judge the recorded objects again: ``python -m tests.apiserver.builtin.record``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.apiserver.builtin.judge import CREATED, UID, in_any_order, masked_cells, merged, resource_named, shared
from tests.apiserver.builtin.judgements import files, lines
from tests.contract.server import Connection, Server
from tests.kube.real.cluster import RealControlPlane

Object = dict[str, Any]

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The given objects are older.
_NOW = re.compile(r"20(2[5-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_WARNING = re.compile(r'^299 - "(.*)"$')
# Where Go walks a map, errors come in any order; asked again and again, a server shows it.
_ATTEMPTS = 8


class Judge:
    """A real server that is asked."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def judged(self, name: str, line: Object) -> Object:
        """A line of a recording with fresh answers."""
        if "changes" not in line:
            return {**line, "answer": self._steady("POST", _path(name), line["given"])}
        path = f"{_path(name)}/{line['given']['metadata']['name']}"
        old = self._must("POST", _path(name), line["given"])
        if "status" in line:
            old = self._must("PUT", f"{path}/status", merged(old, {"status": line["status"]}))
        changes: list[Object] = []
        for change in line["changes"]:
            where = path + (f"/{change['subresource']}" if change.get("subresource") else "")
            changes.append({**change, "answer": self._steady("PUT", where, merged(old, change["patch"]))})
        if old["metadata"].get("finalizers"):
            self._must("PUT", path, merged(old, {"metadata": {"finalizers": None}}))
        self._must("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        old["metadata"].pop("managedFields", None)
        old["metadata"]["resourceVersion"] = "1"
        return {**line, "old": _masked(old), "changes": changes}

    def _must(self, method: str, path: str, body: Object) -> Object:
        reply = self._connection.send(method, path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        assert reply.code < 300, reply.content
        return reply.json()

    def _steady(self, method: str, path: str, body: Object) -> Object:
        answers = [self._ask(method, f"{path}?dryRun=All&fieldValidation=Warn", body) for _ in range(_ATTEMPTS)]
        if all(answer == answers[0] for answer in answers):
            return answers[0]
        assert all(in_any_order(answer) == in_any_order(answers[0]) for answer in answers), answers
        return {**in_any_order(answers[0]), "unordered": True}

    def _cells(self, method: str, path: str, body: Object) -> list[Any]:
        headers = {"Content-Type": "application/json", "Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
        reply = self._connection.send(method, path, json.dumps(body).encode(), headers)
        if reply.code == 406:
            return []
        return masked_cells(_masked(reply.json()["rows"][0]["cells"]))

    def _ask(self, method: str, path: str, body: Object) -> Object:
        reply = self._connection.send(method, path, json.dumps(body).encode(), {"Content-Type": "application/json"})
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


def _masked(value: Any) -> Any:
    return json.loads(_NOW.sub(CREATED, _UID.sub(UID, json.dumps(value))))


def _path(name: str) -> str:
    resource = resource_named(name)
    root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    place = "/namespaces/default" if resource.namespaced else ""
    return f"{root}{place}/{resource.plural}"


def take() -> dict[Path, list[Object]]:
    """Every recording, fresh."""
    with RealControlPlane() as plane:
        connection = Server(plane.url, plane.token, plane.ca_file.read_text()).connect()
        judge = Judge(connection)
        try:
            return {path: [judge.judged(path.stem, line) for line in lines(path)] for path in files()}
        finally:
            connection.close()


def write(path: Path, objects: list[Object]) -> None:
    """One line per object, so that a change shows."""
    path.write_text("".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in objects))


if __name__ == "__main__":
    for file, content in take().items():
        write(file, content)
        print(f"{file.name}: {len(content)} objects")
