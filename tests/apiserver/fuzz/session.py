"""Sends requests to a server, keeps count, and keeps what was wrong."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import ssl
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit

from tests.apiserver.fuzz import tame
from tests.apiserver.fuzz.judge import Answered, Asked, fault
from tests.apiserver.fuzz.subjects import Object, Subject, definition
from tests.contract.server import Server

_PATIENCE = 150.0
# These end at a node, and there is none: nothing of them can be accepted.
_BEYOND = re.compile(r"/(attach|exec|log|portforward|proxy)(/|\?|$)")
# a warning for every unknown field is a header each
http.client._MAXHEADERS = 1_000  # pyright: ignore[reportAttributeAccessIssue]


class Wire:
    """One kept-alive connection; ``whole`` reads answers that do not say their length, too."""

    def __init__(self, server: Server, *, whole: bool = False) -> None:
        self._server = server
        self._whole = whole
        self._tls = server.tls()
        self._http: http.client.HTTPSConnection | None = None

    def close(self) -> None:
        """Let go of it."""
        if self._http:
            self._http.close()
            self._http = None

    def send(self, asked: Asked, *, stream: Iterator[bytes] | None = None) -> Answered:
        """One request and its answer, with a body of unknown length if asked; a stream is left once it has begun."""
        fresh = self._http is None
        target = urlsplit(self._server.url)
        self._http = self._http or http.client.HTTPSConnection(
            target.hostname or "", target.port, timeout=_PATIENCE, context=self._tls
        )
        sent = {"Authorization": f"Bearer {self._server.token}", "Accept": "application/json"}
        if asked.body is not None or stream is not None:
            sent["Content-Type"] = asked.content_type
        try:
            # a server that refuses a body may answer, and close, before it has read all of it
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
                self._http.request(asked.method, asked.path, stream or asked.body, sent)
            response = self._http.getresponse()
            streams = response.headers.get("Content-Length") is None and not (self._whole and "watch" not in asked.path)
            body = b"" if streams else response.read()
        except (http.client.HTTPException, OSError):
            self.close()
            if fresh:
                raise
            return self.send(asked, stream=stream)
        if streams or response.will_close:
            response.close()
            self.close()
        return Answered(response.status, response.headers.get("Content-Type", ""), body, streams)


def prepare(server: Server, subjects: list[Subject]) -> None:
    """A namespace for each subject, and the custom kind."""
    wire = Wire(server)
    made: list[tuple[str, Object]] = []
    for subject in subjects:
        made.append(("/api/v1/namespaces", {"metadata": {"name": subject.namespace}}))
        made.append((f"/api/v1/namespaces/{subject.namespace}/serviceaccounts", {"metadata": {"name": "default"}}))
    made.append(("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition()))
    for path, body in made:
        answered = wire.send(Asked("POST", path, json.dumps(body).encode()))
        assert answered.code == 201, answered.body
    wire.close()


@dataclass
class Session:
    """Requests about one subject."""

    server: Server
    subject: Subject
    seed: int
    requests: int = 0
    beyond: int = 0
    accepted: int = 0
    codes: Counter[int] = field(default_factory=Counter[int])
    by_method: Counter[tuple[str, bool]] = field(default_factory=Counter[tuple[str, bool]])
    faults: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._wire = Wire(self.server)
        self._names: list[str] = []
        self._stores = False
        self._made = 0
        # of its own: what is drawn depends on what the server answered, and generators must not
        self._random = Random(self.seed)

    def document(self) -> Object:
        """The subject's part of its OpenAPI document."""
        answered = self._wire.send(Asked("GET", f"/openapi/v3/{self.subject.place}"))
        whole = json.loads(answered.body)
        paths = {path: item for path, item in whole["paths"].items() if self.subject.has(path)}
        self._stores = f"{self.subject.collection('{namespace}')}/{{name}}" in paths
        return {**whole, "paths": paths}

    def close(self) -> None:
        """Let go of the connection."""
        self._wire.close()

    def summary(self) -> str:
        """What was sent and what became of it."""
        methods = sorted({method for method, _ in self.by_method})
        verbs = " ".join(
            f"{method} {self.by_method[method, True]}/{self.by_method[method, True] + self.by_method[method, False]}"
            for method in methods
        )
        share = self.accepted / max(1, self.requests - self.beyond)
        return f"{self.subject}: {self.requests} requests, {share:.0%} accepted ({verbs}), {len(self.faults)} faults"

    def ask(self, asked: Asked) -> Answered:
        """Send and count."""
        answered = self._wire.send(asked)
        good = 200 <= answered.code < 300
        self.requests += 1
        self.beyond += _BEYOND.search(asked.path) is not None
        self.accepted += good
        self.codes[answered.code] += 1
        self.by_method[asked.method, good] += 1
        if wrong := fault(asked, answered):
            self.faults.append(f"{asked}\n    {wrong}")
        return answered

    def name(self, *, fresh: bool) -> str:
        """The name of an object that exists, most of the time; or one that nothing has."""
        self._made += 1
        new = f"f{self._made}"
        if self.subject.plural == "bindings":
            pods = Subject("api/v1", "pods", "Pod", True, "pods")
            path = self.subject.collection().replace("bindings", "pods")
            self.ask(Asked("POST", path.replace("fuzz-pods", "fuzz-bindings"), json.dumps(pods.good(new)).encode()))
            return new
        if fresh or (self._names and self._random.random() < 0.1):
            return new
        if not self._names and self._stores:
            made = self.ask(Asked("POST", self.subject.collection(), json.dumps(self.subject.good(new)).encode()))
            if made.code != 201:
                return new
            self._names.append(json.loads(made.body)["metadata"].get("name", new))
        return self._random.choice(self._names) if self._names else new

    def attempt(self, case: Any) -> None:
        """Send one generated case in all its forms."""
        subject, random = self.subject, self._random
        creates = case.method == "POST" and "{name}" not in case.path
        self.ask(tame.as_generated(subject, case))
        self._follow(case, tame.in_place(subject, case, self.name(fresh=creates), random))
        if case.method in {"POST", "PUT", "PATCH"}:
            for _ in range(2):
                name = self.name(fresh=creates)
                present = self._present(name) if case.method == "PUT" else None
                self._follow(case, tame.grafted(subject, case, name, random, present))

    def _present(self, name: str) -> Object | None:
        """The object as it is now, as one who wants to change it reads it first."""
        answered = self.ask(Asked("GET", f"{self.subject.collection()}/{quote(name, safe='')}"))
        return json.loads(answered.body) if answered.code == 200 else None

    def _follow(self, case: Any, asked: Asked) -> None:
        """Send, and see whether what was said to be stored is."""
        answered = self.ask(asked)
        good = 200 <= answered.code < 300
        if asked.method == "DELETE" and good:
            every = "{name}" not in case.path
            self._names = [] if every else [name for name in self._names if f"/{name}" not in asked.path][-20:]
        if asked.method == "GET" or asked.body is None or asked.method == "DELETE":
            return
        shown = json.loads(answered.body)
        if not good and case.method == "POST" and "{name}" not in case.path:
            self._look_up(asked, _name(json.loads(asked.body)), None)
        elif good and _name(shown) and shown.get("kind") == self.subject.kind and "dryRun" not in asked.path:
            self._look_up(asked, _name(shown), shown)

    def _look_up(self, asked: Asked, name: str, stored: Object | None) -> None:
        """What was accepted is there as it was shown, and what was refused is not."""
        if not name or not self._stores or self._random.random() < 0.5:
            return
        found = self._present(name)
        if stored is not None and found is not None:
            self._names.append(name)
        if found != stored and not self.subject.goes_on_by_itself:
            self.faults.append(f"{asked}\n    said {stored}\n    but then there is {found}")


def _name(body: Any) -> str:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
