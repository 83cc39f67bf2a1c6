"""KubeRay's own operator on the embedded server, its pods played: what it does without Ray, in seconds."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Final

from rayward import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import NAMESPACES, SERVICE_ACCOUNTS
from tests.contract.kubectl import targets
from tests.kube import kuberay
from tests.kube.kubelet import play_kubelet
from tests.waiting import eventually

NAMESPACE: Final = "team"


@contextlib.contextmanager
def kuberay_with_played_pods() -> Generator[Client]:
    """A client of its namespace."""
    with (
        targets.embedded() as kubeconfig,
        kuberay.operating(contextlib.nullcontext(kubeconfig)) as api,
        _kubelet(kubeconfig),
    ):
        api.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        eventually(lambda: bool(api.get(SERVICE_ACCOUNTS, "default", NAMESPACE)))
        yield Client(api, namespace=NAMESPACE)


@contextlib.contextmanager
def _kubelet(kubeconfig: Path) -> Generator[None]:
    """Pods of the namespace come up and go, round after round."""
    over = threading.Event()

    def play() -> None:
        with SyncClient.connect(find_access(kubeconfig)) as client:
            while not over.wait(0.1):
                # somebody else wrote or deleted the pod meanwhile: the next round sees it
                with contextlib.suppress(ApiError):
                    play_kubelet(client, NAMESPACE)

    thread = threading.Thread(target=play)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
