"""A served resource: its names, scope and where its objects lie in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rayward.kube.machinery import table
from rayward.local.apiserver import recorded
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.crd.strategy import Conversion


def _head(group: str, version: str, kind: str) -> bytes:
    api_version = f"{group}/{version}" if group else version
    return f'{{"apiVersion":"{api_version}","kind":"{kind}",'.encode()


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object with verbs of its own, such as ``pods/status``."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """Where an object keeps its replicas, as simple paths such as ``.spec.replicas``."""

    spec_path: str
    status_path: str
    selector_path: str = ""


@dataclass(frozen=True)
class Resource:
    """One resource of one group and version, e.g. ``apps/v1 deployments``."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    behaviour: Behaviour
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict[str, "Subresource"])
    storage_hash: str = ""
    """What discovery tells storage migrators; copied from a real server for built-in kinds."""
    storage_version: str = ""
    """The version objects are stored in; empty: this one."""
    stored_as: tuple[str, str] | None = None
    """Group and version under which the objects are stored, where they are shared with another group."""
    builtin: bool = True
    refresh: Callable[[Object], Object] | None = None
    """Brings an object stored under an older schema to the present one."""
    served_since: int = 0
    """The revision at which a definition began to be served: a watch from before it is told to list again."""
    schema_since: int = 0
    """The revision at which the present schema took effect."""
    to_storage: Callable[[Object], None] | None = None
    """Drops what the stored version does not know, where that is another one."""
    conversion: Conversion | None = None
    """The webhook that knows the other versions; None: they differ in nothing but their name."""
    terminating: bool = False
    """Its definition is being deleted: no new objects."""
    scale: Scale | None = None
    deprecation: str = ""
    """The warning that every answer of a deprecated version carries."""
    source: Mapping[str, Any] | None = None
    """The schema a custom resource was declared with."""

    @cached_property
    def api_version(self) -> str:
        """``v1`` or ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def head(self) -> bytes:
        """How every object of this version begins in JSON."""
        return _head(self.group, self.version, self.kind)

    @cached_property
    def stored_head(self) -> bytes:
        """How every stored object begins; the same bytes as ``head`` unless versions differ."""
        if self.stored_as is not None:
            return _head(*self.stored_as, self.kind)
        if self.storage_version in {"", self.version}:
            return self.head
        return _head(self.group, self.storage_version, self.kind)

    @cached_property
    def empty(self) -> Object:
        """What a typed server shows of an object with nothing set, as its bookmarks do."""
        name = recorded.type_name(self.group, self.version, self.kind) if self.builtin else None
        return recorded.wire()[name]["zero"] if name is not None else {}

    @cached_property
    def qualified_name(self) -> str:
        """``pods`` or ``deployments.apps``, as error texts say it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def prefix(self) -> str:
        """Where all objects of this resource lie in the store; versions share it."""
        if self.stored_as is not None and not self.stored_as[0]:
            return f"/{self.plural}/"
        return f"/{self.qualified_name}/"

    @cached_property
    def layout(self) -> table.Layout:
        """The columns of its table and how the cells come about."""
        behaviour = self.behaviour
        definitions = tuple(column.definition() for column in behaviour.columns)
        return table.Layout(definitions, lambda obj, now: behaviour.cells(obj, now.timestamp()))

    @property
    def judged_group(self) -> str:
        """The group that refusals name: the one in which the kind is judged."""
        return self.group if self.stored_as is None else self.stored_as[0]

    @property
    def go_name(self) -> str:
        """The kind's type as kube-apiserver's texts name it."""
        return f"{self.group.partition('.')[0] or 'core'}.{self.kind}" if self.builtin else "unstructured.Unstructured"

    def key(self, namespace: str, name: str) -> str:
        """Where one object lies in the store."""
        return f"{self.prefix}{namespace}/{name}" if self.namespaced else f"{self.prefix}{name}"

    def scope(self, namespace: str) -> str:
        """The key prefix of a list: one namespace, or all."""
        return f"{self.prefix}{namespace}/" if namespace else self.prefix
