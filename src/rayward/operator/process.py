"""The operator as one process: who leads, what is watched, when it is ready."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from prometheus_client import CollectorRegistry

from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Forbidden, NotFound
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.health import Health, follows
from rayward.kube.runtime.leader import Elector, Terms
from rayward.net.client import HttpClient
from rayward.net.errors import NetworkError
from rayward.operator.endpoints import Endpoints
from rayward.operator.errors import OperatorError
from rayward.operator.handover import find_kuberay
from rayward.operator.metrics import OperatorMetrics
from rayward.operator.ray.reach import DirectReach, ProxiedReach, Reach
from rayward.operator.scope import Scope
from rayward.operator.writing import WORKERS

LEASE: Final = "rayward-operator"
COMPONENT: Final = "raycluster-controller"
"""Who tells events: the name that tools know from KubeRay."""

_log = logging.getLogger(__name__)


class Settings(msgspec.Struct, frozen=True):
    """How the operator runs."""

    namespaces: tuple[str, ...] = ()
    """Watched one by one; all namespaces without any."""
    leader_election: bool | None = None
    """None: unless the server is on this very machine, where one supervisor starts one operator."""
    lease_namespace: str = ""
    metrics_address: str = ""
    health_address: str = ""
    ready_file: Path | None = None
    workers: int = WORKERS
    check_for_kuberay: bool = True
    use_kubernetes_proxy: bool = False
    """Dashboards are reached through the API server, not over the cluster's network."""


async def run(access: Access, settings: Settings) -> None:
    """Work until cancelled.

    Raises:
        OperatorError: It cannot start here.
        LeadershipLost: Another process leads now.
    """
    metrics = OperatorMetrics(CollectorRegistry())
    observe = metrics.client(access.server)
    async with Client.connect(access, user_agent="rayward-operator", observe=observe) as client:
        await _check(client, settings)
        async with HttpClient() as http:
            reach = ProxiedReach(client.transport) if settings.use_kubernetes_proxy else DirectReach(http)
            await Operator(client, settings, metrics, reach, local=on_this_machine(access.server)).run()


class Operator:
    """The parts of the process, on one client."""

    def __init__(
        self,
        client: Client,
        settings: Settings,
        metrics: OperatorMetrics,
        reach: Reach | None = None,
        *,
        local: bool = False,
    ) -> None:
        self._client = client
        self._settings = settings
        self._metrics = metrics
        self._recorder = EventRecorder(client, COMPONENT)
        self.scopes = [
            Scope(client, namespace, recorder=self._recorder, reach=reach, metrics=metrics, workers=settings.workers)
            for namespace in settings.namespaces or (None,)
        ]
        metrics.show_reflectors()
        self._elected = not local if settings.leader_election is None else settings.leader_election
        self._leading = False

    async def run(self) -> None:
        """Work until cancelled."""
        settings = self._settings
        alive, ready = Health(), Health()
        alive.add("ping", lambda: None)
        reflectors = [reflector for scope in self.scopes for reflector in scope.reflectors]
        ready.add("caches", lambda: follows(reflectors)() if self._leading else None)
        endpoints = Endpoints(self._metrics.registry, alive, ready)
        await endpoints.start(settings.metrics_address, settings.health_address)
        try:
            if self._elected:
                await self._elect().run(self._lead)
            else:
                await self._lead()
        finally:
            await endpoints.stop()
            if settings.ready_file is not None:
                settings.ready_file.unlink(missing_ok=True)

    def _elect(self) -> Elector:
        settings = self._settings
        single = settings.namespaces[0] if len(settings.namespaces) == 1 else ""
        namespace = settings.lease_namespace or single or self._client.namespace
        identity = f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"
        return Elector(self._client, Terms(namespace, LEASE, identity), changed=self._metrics.leadership(LEASE))

    async def _lead(self) -> None:
        self._leading = True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            for scope in self.scopes:
                tasks.create_task(scope.run())
            for scope in self.scopes:
                for reflector in scope.reflectors:
                    await reflector.wait_synced()
            _log.info("watching %s", ", ".join(self._settings.namespaces) or "all namespaces")
            if self._settings.ready_file is not None:
                self._settings.ready_file.write_text(f"{os.getpid()}\n")


def on_this_machine(server: str) -> bool:
    """Whether a server's address is a loopback one."""
    host = urlsplit(server).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _check(client: Client, settings: Settings) -> None:
    namespaces: Sequence[str] = settings.namespaces
    try:
        for resource in (RAY_CLUSTERS, RAY_SERVICES):
            await client.page(resource, namespaces[0] if namespaces else None, limit=1)
    except NotFound as error:
        raise OperatorError(
            "this cluster does not know RayClusters and RayServices",
            error.message,
            "rayward crds | kubectl apply --server-side --force-conflicts -f -",
        ) from error
    except Forbidden as error:
        flag = f" --namespace {namespaces[0]}" if namespaces else ""
        raise OperatorError(
            "the operator may not read RayClusters and RayServices",
            error.message,
            f"rayward operator rbac{flag} | kubectl apply -f -",
        ) from error
    except (ApiError, NetworkError) as error:
        raise OperatorError(
            "the API server does not answer", str(error), "kubectl get --raw /readyz, with the same kubeconfig"
        ) from error
    if settings.check_for_kuberay:
        holder = await find_kuberay(client, namespaces)
        if holder is not None:
            raise holder.refusal()
