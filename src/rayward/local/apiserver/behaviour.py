"""What is particular to a kind: how it is decoded, defaulted, validated, changed, selected and shown.

The verbs know no kind; they ask the behaviour of the resource at hand. Objects are plain dicts owned by the request,
so the ``prepare`` steps change them in place; ``old`` is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rayward.kube.machinery.apply import NOTHING, FieldSet, Map
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.names import NameCheck, subdomain_name


class DecodeError(Exception):
    """The body is not an object of this kind; the text is for the 400 Status."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the kind's table, as in meta.k8s.io/v1 Table."""

    name: str
    type: str
    format: str = ""
    description: str = ""
    priority: int = 0

    def definition(self) -> Object:
        """The column as a table tells of it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def _nothing(_obj: Object) -> None:
    return None


def _keep(_new: Object, _old: Object) -> None:
    return None


def _fine(_obj: Object) -> list[FieldError]:
    return []


def _fine_change(_new: Object, _old: Object) -> list[FieldError]:
    return []


def _no_warnings(_new: Object, _old: Object | None) -> list[str]:
    return []


def _never(_obj: Object) -> bool:
    return False


def _no_fields(_obj: Object) -> dict[str, str]:
    return {}


def _no_conditions(_obj: Object) -> list[Object]:
    return []


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The rules of a subresource through which an object is changed."""

    prepare: Callable[[Object, Object], None] = _keep
    validate: Callable[[Object, Object], list[FieldError]] = _fine_change
    counts_generation: bool = False


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The rules of one kind in one version."""

    type: Map
    """The structure that server-side apply walks."""
    coerce: Callable[[Object], list[str]]
    """Make the decoded body what a typed server would keep of it: drops unknown fields and returns their paths, brings
    quantities, times and empty values into canonical form. Raises DecodeError."""
    default: Callable[[Object], None]
    """Fill in defaults."""
    columns: Sequence[Column]
    cells: Callable[[Object, float], list[Any]]
    """The table row of an object at a time (seconds since the epoch)."""
    row_conditions: Callable[[Object], list[Object]] = _no_conditions
    """What the row says beside its cells, such as that a pod has completed."""
    prepare_create: Callable[[Object], None] = _nothing
    prepare_update: Callable[[Object, Object], None] = _keep
    prepare_status: Callable[[Object, Object], None] = _keep
    validate: Callable[[Object], list[FieldError]] = _fine
    """Everything but metadata, which is the same for all kinds."""
    validate_update: Callable[[Object, Object], list[FieldError]] = _fine_change
    validate_status: Callable[[Object, Object], list[FieldError]] = _fine_change
    check_name: NameCheck = subdomain_name
    """Messages against a name."""
    kube_finalizers: bool = False
    """A finalizer without a domain must be one of Kubernetes' own."""
    warnings: Callable[[Object, Object | None], list[str]] = _no_warnings
    fields: Callable[[Object], dict[str, str]] = _no_fields
    """Selectable fields beyond metadata.name and metadata.namespace."""
    selectable: frozenset[str] = frozenset()
    """Names of those fields, so that an unknown one can be refused."""
    reset: FieldSet = field(default_factory=lambda: NOTHING)
    """What the main endpoint never takes from a writer."""
    reset_status: FieldSet = field(default_factory=lambda: NOTHING)
    has_status: bool = False
    counts_generation: bool = False
    """metadata.generation starts at 1 and rises when anything but metadata and status changes."""
    create_on_update: bool = False
    """PUT and apply-less PATCH of a missing object create it."""
    needs_resource_version: bool = False
    """PUT must carry resourceVersion."""
    returns_deleted: bool = False
    """DELETE answers with the object, not with a Status."""
    orphans: str = ""
    """A delete without a propagation policy leaves the dependents alone, with this warning."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint])
    """Subresources other than status that change the object."""
    mark: Callable[[Object, str], Object] | None = None
    """The object at the moment it is first asked to go, where that is a step of its own."""
    held: Callable[[Object], bool] = _never
    """Whether something beyond its finalizers keeps a deleted object."""
    grace: Callable[[Object, int | None], int] | None = None
    """Seconds of grace for a delete with the asked ones; None: the kind has no graceful deletion."""
    patch_schema: Object | None = None
    """The recorded structure that strategic merge patches follow; None: refused with 415."""
