"""The annotation of ``kubectl apply`` without ``--server-side``, for objects that move over to server-side apply."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rayward.kube.machinery.apply.changes import compare
from rayward.kube.machinery.apply.checking import MisfitError, check
from rayward.kube.machinery.apply.fieldset import NOTHING, FieldSet, difference
from rayward.kube.machinery.apply.mention import mentioned
from rayward.kube.machinery.apply.types import ItemError
from rayward.kube.machinery.apply.values import OBJECT, Object, metadata_of
from rayward.kube.machinery.gotext import json_text

if TYPE_CHECKING:
    from rayward.kube.machinery.apply.types import Type

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER: Final = "kubectl"
"""The one manager that keeps the annotation and takes over what it names."""

_MAX_ANNOTATIONS: Final = 256 * 1024


def taken_over(live: Object, of: Type, api_version: str) -> FieldSet:
    """The fields that were applied client-side and still are as they were then."""
    text = _annotations(live).get(ANNOTATION)
    if not isinstance(text, str) or not text:
        return NOTHING
    try:
        applied: Any = json.loads(text)
        if type(applied) is not OBJECT or applied.get("apiVersion") != api_version or not applied.get("kind"):
            return NOTHING
        check(applied, of)
        changes = compare(applied, live, of)
    except (ValueError, MisfitError, ItemError, RecursionError):
        return NOTHING
    return difference(difference(mentioned(applied, of), changes.changed), changes.removed)


def kept_up(obj: Object, config: Object) -> Object:
    """The object with its annotation, if it has one, saying what was just applied."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    new = {**annotations, ANNOTATION: _text(config)}
    if sum(len(key.encode()) + len(str(value).encode()) for key, value in new.items()) > _MAX_ANNOTATIONS:
        del new[ANNOTATION]
    if new == annotations:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "annotations": new}}


def _text(config: Object) -> str:
    annotations = _annotations(config)
    if ANNOTATION in annotations:
        rest = {key: value for key, value in annotations.items() if key != ANNOTATION}
        config = {**config, "metadata": {**config["metadata"], "annotations": rest}}
    return json_text(config) + "\n"


def _annotations(obj: Object) -> Object:
    found: Any = metadata_of(obj).get("annotations")
    return found if type(found) is OBJECT else {}
