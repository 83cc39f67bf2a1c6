"""The registry entry that tells Prometheus of Ray's pods, in a file that its file-based service discovery reads.

Not every Prometheus is built with discovery of Kubernetes' own (Debian's is not), and pods of a local node have
addresses that only the node knows: their metrics are reached through the API server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from rayward.kinds import labels
from rayward.kube.core.objects import Key
from rayward.kube.core.rbac import READ, rule
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.registry import Environment, Registration, Source
from rayward.kube.runtime.scraping import Target, write_targets
from rayward.operator.cluster.pod import RayPod

_NAME: Final = "scraping"
_ALL: Final = Key("", _NAME)
_PORT: Final = 8080


def registration(path: Path, server: str, pods: Source[RayPod]) -> Registration:
    """The entry; ``server`` is the address of the API server, ``pods`` the operator's own source."""
    return Registration(
        name=_NAME,
        resource=PODS,
        component=_NAME,
        rules=(rule(READ, PODS),),
        build=lambda environment, metrics: _Pods(environment, path, server, pods),
    )


def targets(pods: Iterable[RayPod], server: str) -> list[Target]:
    """Where the metrics of running pods are read, and the labels that tell of which release they are."""
    found: list[Target] = []
    for pod in sorted(pods, key=lambda pod: (pod.metadata.namespace, pod.metadata.name)):
        metadata = pod.metadata
        if pod.status.phase != "Running" or metadata.deletion_timestamp is not None:
            continue
        path = f"/api/v1/namespaces/{metadata.namespace}/pods/{metadata.name}:{_PORT}/proxy/metrics"
        known = {
            "__metrics_path__": path,
            "instance": metadata.name,
            "namespace": metadata.namespace,
            "pod": metadata.name,
            "ray_cluster": metadata.label(labels.CLUSTER),
            "ray_group": metadata.label(labels.GROUP),
            "ray_node_type": metadata.label(labels.NODE_TYPE),
        }
        found.append(Target([server], known))
    return found


class _Pods:
    """Writes the file again when a pod comes, starts to run, or goes."""

    def __init__(self, environment: Environment, path: Path, server: str, pods: Source[RayPod]) -> None:
        self._path, self._server = path, server
        self._pods = environment.informers.cache(pods)
        self._written: list[Target] | None = None
        self.background: Sequence[Callable[[], Awaitable[Any]]] = ()
        self.controller = Controller(
            _NAME, self._reconcile, workers=1, observer=environment.observer, clock=environment.clock
        )
        self.controller.watch(self._pods, lambda old, new: (_ALL,))
        # also where there is no pod: a file of an earlier start names pods that are gone
        self.controller.add(_ALL)

    async def drain(self, seconds: float = 0.0) -> None:
        """Nothing is sent."""

    async def _reconcile(self, key: Key) -> Result:
        found = targets(self._pods, self._server)
        if found != self._written:
            write_targets(self._path, found)
            self._written = found
        return DONE
