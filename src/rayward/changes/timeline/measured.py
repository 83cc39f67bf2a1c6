"""How changes went, for Prometheus: counted when a revision's end is first seen, whoever noted it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Summary

from rayward.changes.recording import BY_UID
from rayward.changes.revisions import RESULT, Revision, read_revisions
from rayward.changes.timeline.stats import TEAM, endings
from rayward.kube.core.objects import Key, KubeObject, OwnerReference
from rayward.kube.runtime.cache import Cache

_NOBODY: Final = OwnerReference()
_ABOUT: Final = ("namespace", "team", "kind", "name")


class ChangeMetrics:
    """Changes that ended, those that failed, how long they took and how long it took to recover."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._changes = Counter(
            "rayward_changes", "Generations that ended, by how they did.", (*_ABOUT, "result"), registry=registry
        )
        self._leads = Summary(
            "rayward_change_lead_seconds",
            "Seconds from when a generation was asked for until it was true.",
            _ABOUT,
            registry=registry,
        )
        self._restores = Summary(
            "rayward_change_restore_seconds",
            "Seconds from the end of a failed generation until the next one was true.",
            _ABOUT,
            registry=registry,
        )

    def follow(self, revisions: Cache[KubeObject], kinds: Mapping[str, Cache[Any]]) -> None:
        """Count what ends from now on; what had ended before this process began, another one counted."""

        def changed(old: KubeObject | None, new: KubeObject | None) -> None:
            told = old.metadata.annotation(RESULT) if old is not None else ""
            if revisions.synced and new is not None and new.metadata.annotation(RESULT) and not told:
                self._count(new, revisions, kinds)
            elif new is None and old is not None and not revisions.find(BY_UID, _owner(old).uid):
                self._forget(old)

        revisions.subscribe(changed)

    def _count(self, ended: KubeObject, revisions: Cache[KubeObject], kinds: Mapping[str, Cache[Any]]) -> None:
        owner, namespace = _owner(ended), ended.metadata.namespace
        cache = kinds.get(owner.kind)
        found = cache.get(Key(namespace, owner.name)) if cache is not None else None
        team = found.metadata.label(TEAM) if found is not None else ""
        about = (namespace, team or namespace, owner.kind, owner.name)
        history = _history(revisions.find(BY_UID, owner.uid))
        one = next((one for one in endings(history) if one.revision.revision == _number(ended)), None)
        if one is None:
            return
        self._changes.labels(*about, "Failed" if one.failed else "Applied").inc()
        if not one.failed:
            self._leads.labels(*about).observe(one.revision.seconds)
        if one.restored_seconds is not None:
            self._restores.labels(*about).observe(one.restored_seconds)

    def _forget(self, last: KubeObject) -> None:
        owner = _owner(last)
        gone = {"namespace": last.metadata.namespace, "kind": owner.kind, "name": owner.name}
        for metric in (self._changes, self._leads, self._restores):
            metric.remove_by_labels(gone)


def _history(found: list[KubeObject]) -> tuple[Revision, ...]:
    """Revisions as far as their metadata tells: all but the spec."""
    return read_revisions(
        {"revision": _number(one), "metadata": {"annotations": one.metadata.annotations or {}}} for one in found
    )


def _number(revision: KubeObject) -> int:
    number = revision.metadata.name.rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def _owner(revision: KubeObject) -> OwnerReference:
    return next(iter(revision.metadata.owner_references or ()), _NOBODY)
