"""Custom resource definitions: their own defaults and table; what is declared in them is checked elsewhere."""

from __future__ import annotations

from typing import Any

from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import behaviour, keep_spec, keep_status, meta_of, name_of


def definition_behaviour() -> Behaviour:
    """The rules of ``apiextensions.k8s.io/v1/customresourcedefinitions``."""
    return behaviour(
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
        "apiextensions.k8s.io/v1/customresourcedefinitions",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=keep_status,
        prepare_status=keep_spec,
        has_status=True,
        counts_generation=True,
    )


def default(obj: Object) -> None:
    """Fill in names and the way versions are converted."""
    spec, status = obj["spec"], obj.setdefault("status", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind") or ""
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    webhook = conversion.get("webhook")
    if webhook is not None and not any(webhook.values()):
        del conversion["webhook"]
    service = ((webhook or NOTHING).get("clientConfig") or NOTHING).get("service")
    if service is not None:
        service.setdefault("port", 443)
    if not status.get("storedVersions"):
        stored = [v.get("name") or "" for v in spec.get("versions") or NO_ITEMS if v.get("storage")]
        if stored:
            status["storedVersions"] = stored[:1]


def prepare_create(obj: Object) -> None:
    """A new definition is not served yet."""
    stored = [v.get("name") or "" for v in obj["spec"].get("versions") or NO_ITEMS if v.get("storage")]
    obj["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored[:1],
    }


def cells(obj: Object, _now: float) -> list[Any]:
    """Name, Created At."""
    return [name_of(obj), meta_of(obj).get("creationTimestamp")]
