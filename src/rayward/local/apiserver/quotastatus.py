"""Keeps what a ResourceQuota says of itself, its limits and how much of them is used, in step with the objects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence

import orjson

from rayward.kube.machinery.apply import track_update
from rayward.kube.machinery.jsonvalue import section
from rayward.kube.machinery.quotausage import kind_counted
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import encode, stamp
from rayward.local.apiserver.quota import PREFIX, Quota, Quotas, namespace_of, quota_in
from rayward.local.store import Conflict, Event, Overloaded, StoreClosed, StoreFailed

_log = logging.getLogger(__name__)


class QuotaStatus:
    """Writes once for all that was committed together, and only where a quota counts it."""

    def __init__(self, core: Core, quotas: Quotas) -> None:
        self._core = core
        self._quotas = quotas
        resource = core.registry.find("", "v1", "resourcequotas")
        assert resource is not None
        self._resource = resource
        self._due: set[str] = set()
        self._work: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Make up for what was not written before the last end."""
        self._due.update(self._quotas.namespaces)
        self._begin()

    def on_commit(self, events: Sequence[Event]) -> None:
        """Follow what quotas count, and their limits."""
        if not self._quotas.namespaces:
            return
        for event in events:
            namespace = namespace_of(event.key)
            if namespace not in self._due and _concerns(event, self._quotas.of(namespace)):
                self._due.add(namespace)
        self._begin()

    def _begin(self) -> None:
        if self._due and self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._write_due())
            self._work.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            _log.error("writing the status of quotas failed", exc_info=task.exception())

    async def _write_due(self) -> None:
        store = self._core.objects.store
        try:
            while self._due:
                namespace = self._due.pop()
                try:
                    for quota in tuple(self._quotas.of(namespace)):
                        await self._write(quota, namespace)
                except Conflict:
                    self._due.add(namespace)
                except Overloaded:
                    self._due.add(namespace)
                    await store.committed(store.newest_revision)
        except (StoreClosed, StoreFailed):
            # the next start makes up for it
            return
        finally:
            # here and not when the loop tells of the end: what is committed in between would find nobody
            self._work = None

    async def _write(self, quota: Quota, namespace: str) -> None:
        store, resource, now = self._core.objects.store, self._resource, self._core.clock()
        record = store.newest(quota.key)
        if record is None:
            return
        old: Object = orjson.loads(record.value)
        quota = quota_in(record)
        names = [name for name in quota.hard if kind_counted(name)]
        used = self._quotas.used(quota, namespace, names, now)
        told = {"hard": dict(quota.hard), "used": {name: str(used[name]) for name in names}}
        if section(old, "status") == told:
            return
        new, _owners = track_update(
            old,
            {**old, "status": told},
            type=resource.behaviour.type,
            manager="kube-controller-manager",
            api_version=resource.api_version,
            subresource="status",
            now=stamp(now),
            reset=resource.behaviour.reset_status,
        )
        await store.put(record.key, lambda revision: encode(resource, new, revision), expect=record.revision)


def _concerns(event: Event, quotas: Collection[Quota]) -> bool:
    """Whether one of the quotas of the event's namespace may have to say something else now."""
    if not quotas:
        return False
    if event.key.startswith(PREFIX) and event.record is not None:
        # where only the status was written, perhaps by us, the limits are what they were
        return event.previous is None or quota_in(event.record) != quota_in(event.previous)
    kind = event.key.split("/", 2)[1]
    return any(kind in quota.kinds for quota in quotas)
