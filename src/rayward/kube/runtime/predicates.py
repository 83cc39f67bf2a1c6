"""Which reconciles a change in a cache asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import Resource

Mapper = Callable[[KubeObject | None, KubeObject | None], Iterable[Key]]


def not_only_status(old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
    """The object's own key, unless only its status changed: a controller is not woken by the status it writes."""
    found = new or old
    if found is None:
        return ()
    if old is not None and new is not None:
        before, after = old.metadata, new.metadata
        if before == msgspec.structs.replace(after, resource_version=before.resource_version):
            return ()
    return (found.metadata.key,)


def controller_key(resource: Resource) -> Mapper:
    """The key of the object of ``resource`` that controls the changed one."""

    def mapper(old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        found = new or old
        owner = controller_of(found) if found else None
        if found is None or owner is None or owner.kind != resource.kind:
            return ()
        return (Key(found.metadata.namespace, owner.name),)

    return mapper


def label_key(name: str) -> Mapper:
    """The key in the same namespace that a label of the changed object names."""

    def mapper(old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        found = new or old
        value = found.metadata.label(name) if found else ""
        return (Key(found.metadata.namespace, value),) if found and value else ()

    return mapper
