"""A server, a namespace on it for each test, and webhooks for that namespace."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.apiserver.admission import hooks
from tests.apiserver.admission.api import Api, Object, numbers
from tests.apiserver.admission.hooks import HookServer
from tests.contract.server import Server
from tests.contract.target import embedded_server


@pytest.fixture(scope="session")
def server() -> Generator[Server]:
    with embedded_server() as server:
        yield server


@pytest.fixture
def api(server: Server) -> Generator[Api]:
    api = Api(server, f"hooks-{next(numbers)}")
    labels = {"kubernetes.io/metadata.name": api.namespace, "team": "ours"}
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": api.namespace, "labels": labels}})
    yield api
    api.close()


@pytest.fixture
def hook_server() -> Generator[HookServer]:
    with hooks.serving() as serving:
        yield serving


@pytest.fixture
def hook(api: Api, hook_server: HookServer) -> Any:
    """Makes webhooks of the test's namespace."""

    def make(path: str, decide: hooks.Decide, resources: tuple[str, ...] = ("configmaps",), **settings: Any) -> Object:
        hook_server.answers[path] = decide
        rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": list(resources)}
        name = f"{path.strip('/')}.example.com"
        return {
            "name": name,
            "clientConfig": {"url": hook_server.url + path, "caBundle": hook_server.ca_bundle},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 10,
            **settings,
        }

    return make
