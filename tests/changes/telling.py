"""Somebody who writes the status of a RayCluster, in the place of an operator."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rayward.changes import writing
from rayward.changes.judging import Verdict
from rayward.changes.refs import Ref
from rayward.changes.steps import run
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.access import Access
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from tests.kinds.clusters import Object, manifest

Write = Callable[[SyncClient], object]


def status(ref: Ref, generation: int, ready: str, reason: str = "R") -> Write:
    conditions = [
        {
            "type": "Ready",
            "status": ready,
            "reason": reason,
            "message": "",
            "observedGeneration": generation,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    body: Object = {"status": {"observedGeneration": generation, "conditions": conditions}}
    return lambda client: client.patch(
        RAY_CLUSTERS, ref.name, body, PatchType.MERGE, ref.namespace, subresource="status"
    )


@contextmanager
def after_each_state(access: Access, *writes: Write) -> Generator[Callable[[Verdict], None]]:
    """Somebody who makes the next write when the one who waits has told a state."""
    states = threading.Semaphore(0)

    def work() -> None:
        with SyncClient.connect(access) as own:
            for write in writes:
                states.acquire()
                write(own)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield lambda _verdict: states.release()
    finally:
        for _ in writes:
            states.release()
        thread.join()


def made_cluster(client: SyncClient, namespace: str) -> tuple[Ref, int]:
    ref = Ref("RayCluster", "c", namespace)
    made = run(client, writing.apply(ref, manifest()))
    return ref, made.object["metadata"]["generation"]
