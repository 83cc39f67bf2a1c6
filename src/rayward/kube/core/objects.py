"""What every object has."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Slim(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Base of every slim type.

    ``gc=False`` is safe because decoded JSON holds no cycles; it keeps a cache of thousands of objects out of
    the collector's sight.
    """


class Key(NamedTuple):
    """An object's place inside its collection; cluster-wide objects have the namespace ``""``."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(Slim, frozen=True, gc=False):
    """A ``metadata.ownerReferences`` entry."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Slim, frozen=True, gc=False):
    """The part of ``metadata`` that controllers read. Times are as sent, RFC 3339."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    def label(self, name: str, default: str = "") -> str:
        """The value of one label."""
        return self.labels.get(name, default) if self.labels else default

    def annotation(self, name: str, default: str = "") -> str:
        """The value of one annotation."""
        return self.annotations.get(name, default) if self.annotations else default


_NO_META = ObjectMeta()


class KubeObject(Slim, frozen=True, gc=False):
    """Any object, by its metadata alone."""

    metadata: ObjectMeta = _NO_META

    @property
    def key(self) -> Key:
        return self.metadata.key

    @property
    def deleting(self) -> bool:
        """Whether deletion was asked for."""
        return self.metadata.deletion_timestamp is not None


class Condition(Slim, frozen=True, gc=False):
    """A ``status.conditions`` entry, of built-in and custom kinds alike."""

    type: str = ""
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


def version_number(resource_version: str) -> int:
    """A resourceVersion as the number it is on every known server; -1 where it is none.

    Kubernetes 1.35 made comparing resourceVersions of one collection legal (KEP-5504).
    """
    return int(resource_version) if resource_version.isascii() and resource_version.isdigit() else -1
