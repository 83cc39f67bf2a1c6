"""How the behaviour of a built-in kind is put together from the recordings and its own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypedDict, Unpack

from rayward.kube.machinery import duration
from rayward.kube.machinery.apply import FieldSet, Type, set_of, type_of
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.names import NameCheck
from rayward.local.apiserver import recorded
from rayward.local.apiserver.behaviour import Behaviour, Column, Object
from rayward.local.apiserver.builtin.coerce import compile_kind
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING

Cells = Callable[[Object, float], list[Any]]


class Rules(TypedDict, total=False):
    """What a kind may say beside its structure; the names are those of Behaviour."""

    default: Callable[[Object], Any]
    row_conditions: Callable[[Object], list[Object]]
    prepare_create: Callable[[Object], Any]
    prepare_update: Callable[[Object, Object], Any]
    prepare_status: Callable[[Object, Object], Any]
    validate: Callable[[Object], list[FieldError]]
    validate_update: Callable[[Object, Object], list[FieldError]]
    validate_status: Callable[[Object, Object], list[FieldError]]
    check_name: NameCheck
    kube_finalizers: bool
    warnings: Callable[[Object, Object | None], list[str]]
    fields: Callable[[Object], dict[str, str]]
    selectable: frozenset[str]
    reset: FieldSet
    reset_status: FieldSet
    has_status: bool
    counts_generation: bool
    create_on_update: bool
    needs_resource_version: bool
    returns_deleted: bool
    orphans: str
    grace: Callable[[Object, int | None], int]


STATUS = set_of(("f:status",))
SPEC = set_of(("f:spec",))

_shared_types: dict[str, Type] = {}


def behaviour(type_name: str, resource: str, cells: Cells, **rules: Unpack[Rules]) -> Behaviour:
    """The behaviour of a kind, e.g. ``io.k8s.api.core.v1.Pod`` served as ``v1/pods``.

    ``rules`` are further fields of Behaviour; a kind with a status resets it on the main endpoint and everything else
    on the status endpoint unless told otherwise.
    """
    structure = recorded.schema(type_name)
    rules.setdefault("default", _nothing)
    if rules.get("has_status"):
        rules.setdefault("reset", STATUS)
        rules.setdefault("reset_status", SPEC)
    return Behaviour(
        type=type_of(structure, recorded.schemas().get, _shared_types),
        coerce=compile_kind(type_name),
        columns=columns(resource),
        cells=cells,
        patch_schema=structure,
        **rules,
    )


@cache
def columns(resource: str) -> Sequence[Column]:
    """The recorded columns of a resource such as ``v1/pods``."""
    return tuple(
        Column(c["name"], c["type"], c.get("format", ""), c.get("description", ""), c.get("priority", 0))
        for c in recorded.columns().get(resource) or _NAME_AND_AGE
    )


_NAME_AND_AGE: Sequence[Mapping[str, Any]] = (
    {"name": "Name", "type": "string", "format": "name"},
    {"name": "Created At", "type": "date"},
)


def _nothing(_obj: Object) -> None:
    return None


def meta_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of an object, to read."""
    return obj.get("metadata") or NOTHING


def name_of(obj: Mapping[str, Any]) -> str:
    """The name of an object, or nothing."""
    return meta_of(obj).get("name") or ""


def age(timestamp: str | None, now: float) -> str:
    """How long ago, as kubectl shows it."""
    return duration.since(timestamp, datetime.fromtimestamp(now, UTC))


def age_of(obj: Mapping[str, Any], now: float) -> str:
    """How old an object is."""
    return age(meta_of(obj).get("creationTimestamp"), now)


def keep_status(new: Object, old: Object) -> None:
    """The main endpoint never changes the status."""
    if "status" in old:
        new["status"] = old["status"]
    else:
        new.pop("status", None)


def keep_spec(new: Object, old: Object) -> None:
    """The status endpoint never changes the specification."""
    if "spec" in old:
        new["spec"] = old["spec"]
    else:
        new.pop("spec", None)


def keep_metadata(new: Object, old: Object) -> None:
    """What a writer of a subresource cannot change about an object."""
    metadata, former = new["metadata"], meta_of(old)
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        metadata.pop(field, None)
        if field in former:
            metadata[field] = former[field]


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A label selector in one line; ``<none>`` when it selects everything or nothing."""
    if selector is None:
        return "<none>"
    return requirements_text(selector) or "<none>"


def requirements_text(selector: Mapping[str, Any]) -> str:
    """The requirements of a label selector in the form that requests use, sorted by key."""
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or NOTHING).items()]
    for expression in selector.get("matchExpressions") or NO_ITEMS:
        key, operator = expression.get("key") or "", expression.get("operator")
        values = ",".join(sorted(expression.get("values") or NO_ITEMS))
        text = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }.get(operator or "", "<error>")
        parts.append((key, text))
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Labels in one line."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) if labels else "<none>"


def containers_text(spec: Mapping[str, Any]) -> tuple[str, str]:
    """Names and images of the containers of a pod specification."""
    containers = spec.get("containers") or NO_ITEMS
    return (
        ",".join(container.get("name") or "" for container in containers),
        ",".join(container.get("image") or "" for container in containers),
    )
