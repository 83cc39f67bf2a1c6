"""The examples of the client's docstrings, each in a namespace of its own: what they show is what happens.

The operator does not run here. Where an example is about what it made, its status is written beforehand.
"""

from __future__ import annotations

import doctest
import inspect
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from rayward import Client
from rayward.changes.intents import SetField
from rayward.changes.outcomes import WaitTimeout
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import NAMESPACES, Resource
from tests.kinds.clusters import Object, changed, job_manifest, manifest, service_manifest

_OBJECTS: Final = ((RAY_CLUSTERS, manifest()), (RAY_SERVICES, service_manifest()), (RAY_JOBS, job_manifest()))


def _status(resource: Resource, name: str, status: Object) -> Callable[[Client], None]:
    def write(client: Client) -> None:
        body = {"status": status}
        client.api.patch(resource, name, body, PatchType.MERGE, client.namespace, subresource="status")

    return write


def _condition(kind: str, status: str, reason: str, message: str = "") -> Object:
    since = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


def _stuck(client: Client) -> None:
    held: Object = {"metadata": {"finalizers": ["example.com/held"]}}
    client.api.patch(RAY_CLUSTERS, "c", held, PatchType.MERGE, client.namespace)
    client.api.delete(RAY_CLUSTERS, "c", client.namespace)


def _lost(client: Client) -> None:
    marks = {labels.ORIGIN_NAME: "gone", labels.ORIGIN_KIND: "RayService"}
    client.api.create(RAY_CLUSTERS, changed(manifest("old"), "metadata.labels", marks), client.namespace)


def _in_transaction(client: Client) -> None:
    with suppress(WaitTimeout):
        client.reassemble("raycluster/c", SetField("rayVersion", "2.61.0"), timeout=1e-9)


_READY: Final = _status(
    RAY_CLUSTERS,
    "c",
    {
        "state": "ready",
        "observedGeneration": 1,
        "conditions": [_condition("Ready", "True", "AllPodsReady", "The head and all workers are ready")],
    },
)
_UPGRADING: Final = _status(RAY_SERVICES, "s", {"pendingServiceStatus": {"rayClusterName": "s-next"}})
_ENDED: Final = _status(
    RAY_JOBS,
    "j",
    {
        "jobDeploymentStatus": "Complete",
        "jobStatus": "SUCCEEDED",
        "attempts": [{"number": 1, "jobId": "j-1", "logTail": "done"}],
    },
)


def _came_true(client: Client) -> None:
    _READY(client)
    client.history("raycluster/c")
    client.wait("raycluster/c")


_BEFORE: Final[dict[str, Callable[[Client], None]]] = {
    "wait": _READY,
    "settle": _READY,
    "stats": _came_true,
    "why": _READY,
    # seen as suspended as soon as it is asked to be
    "reassemble": _status(RAY_CLUSTERS, "c", {"state": "suspended", "observedGeneration": 2}),
    "edit": _status(RAY_JOBS, "j", {"jobDeploymentStatus": "Suspended"}),
    "undo_transaction": _in_transaction,
    "promote": _UPGRADING,
    "abort": _UPGRADING,
    "retry": _status(
        RAY_SERVICES,
        "s",
        {"conditions": [{**_condition("ReleaseFailed", "True", "ProgressDeadlineExceeded"), "observedGeneration": 1}]},
    ),
    "stuck": _stuck,
    "unstick": _stuck,
    "leftovers": _lost,
    "clean": _lost,
    "follow": _ENDED,
    "job_log": _ENDED,
    "stop": _ENDED,
}


def _verbs() -> Iterator[tuple[str, Any]]:
    for name, method in inspect.getmembers(Client, callable):
        if not name.startswith("_"):
            yield name, method


def _examples(name: str, documented: Any, globs: dict[str, Any]) -> list[doctest.DocTest]:
    return doctest.DocTestFinder(recurse=False).find(documented, name, extraglobs=globs, module=False)  # pyright: ignore[reportArgumentType]


@pytest.fixture
def access(embedded_kubeconfig: Path) -> Access:
    """One server is enough: what differs between servers has tests of its own."""
    return find_access(embedded_kubeconfig)


@pytest.fixture
def at_work(access: Access) -> Iterator[Callable[[], Client]]:
    """Makes clients, each of a new namespace."""
    clients: list[Client] = []
    with SyncClient.connect(access) as api:

        def make() -> Client:
            name = f"e{uuid.uuid4().hex[:8]}"
            api.create(NAMESPACES, {"metadata": {"name": name}})
            clients.append(Client.connect(access, namespace=name))
            return clients[-1]

        yield make
        for client in clients:
            client.close()


def test_the_first_example_begins_with_nothing(access: Access, at_work: Callable[[], Client]) -> None:
    _run("Client", Client, access, at_work())


@pytest.mark.parametrize("topic", [kind.__name__ for kind in Client.__mro__ if kind not in (Client, object)])
def test_each_verb_has_an_example_that_is_true(topic: str, access: Access, at_work: Callable[[], Client]) -> None:
    of_topic = next(kind for kind in Client.__mro__ if kind.__name__ == topic)
    for name, method in _verbs():
        if name not in vars(of_topic):
            continue
        client = at_work()
        for resource, body in _OBJECTS:
            client.api.apply(
                resource,
                {**body, "metadata": {**body["metadata"], "namespace": client.namespace}},
                field_manager=client.field_manager,
            )
        _BEFORE.get(name, lambda client: None)(client)
        _run(name, method, access, client)


def _run(name: str, documented: Any, access: Access, client: Client) -> None:
    globs: dict[str, Any] = {"client": client, "manifest": manifest(), "access": access, "Client": Client}
    found = _examples(name, documented, globs)
    assert [example for one in found for example in one.examples], f"{name} has no example"
    for one in found:
        told: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        assert runner.run(one, out=told.append).failed == 0, "".join(told)
