"""The operator as one process: who leads, what is watched, when it is ready."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry

from rayward.kinds import crds
from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kinds.resources import KUEUE_GROUP
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Forbidden, NotFound
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.health import Health, follows
from rayward.kube.runtime.leader import Elector, Terms
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.registry import Registration
from rayward.kube.runtime.scraping import write_target
from rayward.net.client import HttpClient
from rayward.net.errors import NetworkError
from rayward.operator.base.takeover import find_kuberay
from rayward.operator.base.writing import WORKERS
from rayward.operator.endpoints import Endpoints
from rayward.operator.errors import OperatorError
from rayward.operator.ray.reach import DirectReach, ProxiedReach, Reach
from rayward.operator.registry import registrations

LEASE: Final = "rayward-operator"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the operator runs."""

    namespaces: tuple[str, ...] = ()
    """Watched one by one; all namespaces without any."""
    leader_election: bool | None = None
    """None: unless the server is on this very machine, where one supervisor starts one operator."""
    lease_namespace: str = ""
    metrics_address: str = ""
    metrics_file: Path | None = None
    """Where to tell Prometheus the address that came of ``metrics_address``."""
    health_address: str = ""
    ready_file: Path | None = None
    workers: int = WORKERS
    check_for_kuberay: bool = True
    queueing: Queueing = NO_QUEUES
    """Who admits pods that wait for quota, and which do."""
    machine_queue: str = ""
    """The name of queues that cover the nodes, where the embedded engine is to keep some."""
    fair_sharing: bool = False
    """Whether the embedded engine shares what is borrowed by weights."""
    pods_ready_timeout: float | None = None
    """After how many seconds the embedded engine evicts what is not ready; None for never."""
    block_until_pods_ready: bool = False
    """Whether the embedded engine admits nothing while admitted pods are not ready."""
    use_kubernetes_proxy: bool = False
    """Dashboards are reached through the API server, not over the cluster's network."""
    kinds_seconds: float = 30.0
    """How often it is looked whether an optional kind is there by now."""


Compose = Callable[[Reach], Sequence[Registration]]
"""Which kinds the process reconciles, given the way to Ray's dashboards."""


Check = Callable[[Client], Awaitable[None]]
"""Raises OperatorError where the process must not start."""


async def run(
    access: Access, settings: Settings, compose: Compose = registrations, checks: Sequence[Check] = ()
) -> None:
    """Work until cancelled.

    Raises:
        OperatorError: It cannot start here.
        LeadershipLost: Another process leads now.
    """
    metrics = Metrics(CollectorRegistry())
    observe = metrics.client(access.server)
    async with Client.connect(access, user_agent="rayward-operator", observe=observe) as client, HttpClient() as http:
        reach = ProxiedReach(client.transport) if settings.use_kubernetes_proxy else DirectReach(http)
        registered = compose(reach)
        absent = await _check(client, settings, registered)
        for check in checks:
            await check(client)
        local = on_this_machine(access.server)
        await Operator(client, settings, registered, metrics, local=local, absent=absent).run()


class Operator:
    """The parts of the process, on one client."""

    def __init__(
        self,
        client: Client,
        settings: Settings,
        registered: Sequence[Registration],
        metrics: Metrics,
        *,
        local: bool = False,
        absent: Collection[Registration] = (),
    ) -> None:
        """``absent`` are those of ``registered`` whose kinds are not there yet."""
        self._client = client
        self._settings = settings
        self._metrics = metrics
        self._recorder = EventRecorder(client, LEASE)
        self._absent = tuple(absent)
        self.managers = self._managers([entry for entry in registered if entry not in self._absent])
        self._reflectors = [reflector for manager in self.managers for reflector in manager.reflectors]
        metrics.follow(self._reflectors)
        self._elected = not local if settings.leader_election is None else settings.leader_election
        self._leading = False

    async def run(self) -> None:
        settings = self._settings
        alive, ready = Health(), Health()
        alive.add("ping", lambda: None)
        ready.add("caches", lambda: follows(self._reflectors)() if self._leading else None)
        endpoints = Endpoints(self._metrics.registry, alive, ready)
        address = await endpoints.start(settings.metrics_address, settings.health_address)
        if settings.metrics_file is not None and address is not None:
            write_target(settings.metrics_file, address, "operator")
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
            for manager in self.managers:
                tasks.create_task(manager.run())
            for entry in self._absent:
                tasks.create_task(self._run_late(entry))
            for reflector in tuple(self._reflectors):
                await reflector.wait_synced()
            _log.info("watching %s", ", ".join(self._settings.namespaces) or "all namespaces")
            if self._settings.ready_file is not None:
                self._settings.ready_file.write_text(f"{os.getpid()}\n")

    async def _run_late(self, entry: Registration) -> None:
        """Wait until somebody defines a kind, then reconcile it beside the others, on caches of its own."""
        namespace = self._settings.namespaces[0] if self._settings.namespaces else None
        while True:
            if await _is_served(self._client, entry, namespace):
                break
            await asyncio.sleep(self._settings.kinds_seconds)
        _log.info("%s are defined now", entry.resource)
        managers = self._managers([entry])
        async with asyncio.TaskGroup() as tasks:
            for manager in managers:
                self._reflectors.extend(manager.reflectors)
                tasks.create_task(manager.run())

    def _managers(self, registered: Sequence[Registration]) -> list[Manager]:
        settings = self._settings
        return [
            Manager(
                self._client,
                registered,
                namespace,
                recorder=self._recorder,
                metrics=self._metrics,
                workers=settings.workers,
            )
            for namespace in settings.namespaces or (None,)
        ]


async def _is_served(client: Client, entry: Registration, namespace: str | None) -> bool:
    try:
        await client.page(entry.resource, namespace, limit=1)
    except (ApiError, NetworkError):
        return False
    return True


def on_this_machine(server: str) -> bool:
    """Whether a server's address is a loopback one."""
    host = urlsplit(server).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _check(client: Client, settings: Settings, registered: Sequence[Registration]) -> list[Registration]:
    """Whether the process can work here; gives back the optional entries whose kinds the server does not have."""
    namespaces: Sequence[str] = settings.namespaces
    kinds = " and ".join(dict.fromkeys(f"{entry.resource.kind}s" for entry in registered))
    absent: list[Registration] = []
    try:
        for entry in registered:
            try:
                await client.page(entry.resource, namespaces[0] if namespaces else None, limit=1)
            except NotFound:
                if not entry.optional:
                    raise
                absent.append(entry)
                _log.warning("%s are not defined here and are left out until they are", entry.resource)
    except NotFound as error:
        raise OperatorError(
            f"this cluster does not know {kinds}",
            error.message,
            f"rayward crds{_queueing_kinds(registered)} | kubectl apply --server-side --force-conflicts -f -",
        ) from error
    except Forbidden as error:
        flag = f" --namespace {namespaces[0]}" if namespaces else ""
        raise OperatorError(
            f"the operator may not read {kinds}",
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
    return absent


def _queueing_kinds(registered: Sequence[Registration]) -> str:
    """The words that let ``rayward crds`` print Kueue's kinds too, where they are needed."""
    if not any(entry.resource.group == KUEUE_GROUP for entry in registered):
        return ""
    return "".join(f" {plural}" for plural in (*crds.PLURALS, *crds.QUEUEING_PLURALS))
