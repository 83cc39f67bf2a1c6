"""Connections to worker clusters: one client and a few caches each, for as long as a MultiKueueCluster names them.

A worker cluster that does not answer costs nothing but itself: its caches stay as they were, and it counts as not
connected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.kueue import MultiKueueCluster, Workload
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES, WORKLOADS
from rayward.kube.client.access import Access, ConfigError
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.core.objects import Key
from rayward.kube.runtime.cache import Cache, by_label
from rayward.kube.runtime.clock import Clock
from rayward.kube.runtime.registry import Informers, Source
from rayward.quota.multicluster.claims import ORIGIN

BY_SERVICE: Final = "service"
_LOOK_SECONDS: Final = 2.0
_SILENT_SECONDS: Final = 90.0
"""A watch that hears nothing for 70 s is opened anew; what is older than this has failed to."""
_MADE_HERE: Final = f"{labels.MULTICLUSTER}={ORIGIN}"
_by_origin = by_label(labels.ORIGIN_NAME)
# All RayServices: one of the same name that is not ours must be seen.
_SERVICES: Final = Source(RAY_SERVICES, RayService, keep_raw=True)
_CLUSTERS: Final = Source(RAY_CLUSTERS, RayCluster, {"label_selector": _MADE_HERE}, indexes={BY_SERVICE: _by_origin})
_WORKLOADS: Final = Source(WORKLOADS, Workload, {"label_selector": _MADE_HERE}, indexes={BY_SERVICE: _by_origin})

_log = logging.getLogger(__name__)


class Remote:
    def __init__(self, name: str, client: Client, clock: Clock) -> None:
        self.name = name
        self.client = client
        informers = Informers(client, None, clock)
        self.services: Cache[RayService] = informers.cache(_SERVICES)
        self.clusters: Cache[RayCluster] = informers.cache(_CLUSTERS)
        self.workloads: Cache[Workload] = informers.cache(_WORKLOADS)
        self._reflectors = informers.reflectors

    @property
    def problem(self) -> str:
        """Why the caches cannot be relied upon; empty where they can."""
        for reflector in self._reflectors:
            if reflector.last_error is not None:
                return str(reflector.last_error)
            age = reflector.last_sync_age
            if not reflector.cache.synced or age is None:
                return "still connecting"
            if age > _SILENT_SECONDS:
                return f"nothing was heard for {age:.0f} s"
        return ""

    async def run(self) -> None:
        """Follow the worker cluster until cancelled."""
        async with self.client, asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors:
                tasks.create_task(reflector.run())


class Remotes:
    """The worker clusters that MultiKueueClusters name.

    ``opened`` is called with each new connection, before it is read; ``changed`` with the name of one that was
    connected or lost.
    """

    def __init__(
        self,
        clusters: Cache[MultiKueueCluster],
        clock: Clock,
        opened: Callable[[Remote], None],
        changed: Callable[[str], None],
    ) -> None:
        self._clusters = clusters
        self._clock = clock
        self._opened = opened
        self._changed = changed
        self._remotes: dict[str, tuple[str, Remote, asyncio.Task[None]]] = {}
        self._problems: dict[str, str] = {}
        self._wake = asyncio.Event()
        clusters.subscribe(lambda old, new: self._wake.set())

    def get(self, name: str) -> Remote | None:
        """The connection to one worker cluster, up or down."""
        found = self._remotes.get(name)
        return found[1] if found is not None else None

    def names(self) -> list[str]:
        """Of all that there are connections to."""
        return sorted(self._remotes)

    def problem(self, name: str) -> str:
        """Why a worker cluster is not connected; empty where it is."""
        return self._problems.get(name, "no MultiKueueCluster has this name")

    async def run(self) -> None:
        """Connect and disconnect until cancelled."""
        try:
            while True:
                self._sync()
                self._look()
                self._wake.clear()
                try:
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await self._wake.wait()
                except TimeoutError:
                    continue
        finally:
            for _, _, task in self._remotes.values():
                task.cancel()
            await asyncio.gather(*(task for _, _, task in self._remotes.values()), return_exceptions=True)

    def _sync(self) -> None:
        wanted = {one.metadata.name: one for one in self._clusters}
        for name in [name for name in self._remotes if name not in wanted]:
            self._remotes.pop(name)[2].cancel()
        for name, cluster in wanted.items():
            source = cluster.spec.cluster_source.kube_config
            location = source.location if source is not None and source.location_type == "Path" else ""
            known = self._remotes.get(name)
            if known is not None and (known[0] != location or known[2].done()):
                self._remotes.pop(name)[2].cancel()
                known = None
            if known is None and location:
                self._connect(name, location)

    def _connect(self, name: str, location: str) -> None:
        try:
            access: Access = find_access(Path(location))
        except ConfigError as error:
            self._problems[name] = str(error)
            return
        remote = Remote(name, Client.connect(access, user_agent="rayward-multicluster"), self._clock)
        self._opened(remote)
        task = asyncio.create_task(remote.run(), name=f"worker cluster {name}")
        self._remotes[name] = (location, remote, task)

    def _look(self) -> None:
        for cluster in self._clusters:
            name = cluster.metadata.name
            found = self._remotes.get(name)
            if found is not None:
                problem = found[1].problem
            else:
                source = cluster.spec.cluster_source.kube_config
                problem = self._problems.get(name, "")
                if source is None or source.location_type != "Path":
                    problem = "only kubeConfig with locationType Path is supported: mount the Secret, and name the file"
            before = self._problems.get(name)
            self._problems[name] = problem
            if before is None or bool(before) != bool(problem):
                _log.info("worker cluster %s: %s", name, problem or "connected")
                self._changed(name)
        present = {one.metadata.name for one in self._clusters}
        for name in [name for name in self._problems if name not in present]:
            del self._problems[name]
            self._changed(name)


def service_key(old: Any, new: Any) -> Key:
    """The RayService that a Workload or a RayCluster of a worker cluster belongs to."""
    meta = (new or old).metadata
    return Key(meta.namespace, meta.label(labels.ORIGIN_NAME))
