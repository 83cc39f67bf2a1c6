"""A running server as the tests of this folder see it."""

from __future__ import annotations

import itertools
import json
from typing import Any

from tests.contract.server import Connection, Reply, Server

MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
MERGE = "application/merge-patch+json"
numbers = itertools.count()
Object = dict[str, Any]


class Api:
    """A server and a namespace on it that one test has for itself."""

    def __init__(self, server: Server, namespace: str) -> None:
        self._server = server
        self._connection: Connection = server.connect()
        self._others: list[Api] = []
        self.namespace = namespace
        self.installed: list[str] = []

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Reply:
        """One request and its answer."""
        data = None if body is None else json.dumps(body).encode()
        return self._connection.send(method, path, data, {"Content-Type": content_type if data else ""})

    def maps(self, name: str = "", query: str = "") -> str:
        """The path of the ConfigMaps, or of one."""
        return f"/api/v1/namespaces/{self.namespace}/configmaps{f'/{name}' if name else ''}{query}"

    def create(self, name: str, query: str = "", **metadata: Any) -> Reply:
        """Make a ConfigMap."""
        return self.call("POST", self.maps(query=query), {"metadata": {"name": name, **metadata}, "data": {"a": "1"}})

    def install(self, kind: str, *webhooks: Object) -> None:
        """A configuration that sees the test's namespace alone."""
        path = f"{CONFIGURATIONS}/{kind.lower()}s"
        name = f"hooks-{next(numbers)}"
        made = self.call("POST", path, {"metadata": {"name": name}, "webhooks": list(webhooks)})
        assert made.code == 201, made.content
        self.installed.append(f"{path}/{name}")

    def again(self) -> Api:
        """The same namespace over another connection."""
        other = Api(self._server, self.namespace)
        self._others.append(other)
        return other

    def close(self) -> None:
        """Take the configurations away and let go."""
        for other in self._others:
            other.close()
        for path in self.installed:
            self.call("DELETE", path)
        self._connection.close()


def refusal(reply: Reply) -> tuple[int, str, str]:
    """Code, reason and message of a Status."""
    status = reply.json()
    return reply.code, status.get("reason", ""), status["message"]
