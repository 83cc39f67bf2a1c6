"""What a RayService last applied to a Service, and the patch to what it should be.

A selector is always replaced as a whole: a label that is no longer wanted in it must not stay. Where it does not differ
it is in no patch.
"""

from __future__ import annotations

from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.raycluster import Object
from rayward.kube.core.service import Service
from rayward.kube.machinery.jsonvalue import section
from rayward.kube.runtime.applied import AppliedMark

_MARK: Final = AppliedMark(labels.APPLIED_FOR_SERVICE)


def marked(body: Object) -> Object:
    """The Service to create."""
    return _MARK.marked(body)


def change(found: Service, body: Object) -> Object | None:
    """The merge patch from ``found`` to ``body``; None where there is nothing to do."""
    selector = selector_change(found, body)
    if selector is None and _MARK.matches(found, body):
        return None
    result = _MARK.change(found, body)
    before, metadata = _given_before(found), result["metadata"]
    spec = {**dict.fromkeys(before.get("spec", ())), **result["spec"]}
    del spec["selector"]
    if selector is not None:
        spec |= selector["spec"]
    for part in ("labels", "annotations"):
        metadata[part] = {**dict.fromkeys(before.get(part, ())), **metadata[part]}
    if found.metadata.annotation(labels.GIVEN_BY_SERVICE):
        metadata["annotations"][labels.GIVEN_BY_SERVICE] = None
    return {**result, "metadata": metadata, "spec": spec}


def selector_change(found: Service, body: Object) -> Object | None:
    """The merge patch of the selector alone."""
    wanted: dict[str, str] = section(body, "spec").get("selector") or {}
    before = found.spec.selector or {}
    if before == wanted:
        return None
    replaced: dict[str, str | None] = {**dict.fromkeys(before), **wanted}
    return {"metadata": {"uid": found.metadata.uid}, "spec": {"selector": replaced}}


def _given_before(found: Service) -> dict[str, list[str]]:
    """What an older Rayward applied, by part: its names of labels, annotations and fields of the spec."""
    text = found.metadata.annotation(labels.GIVEN_BY_SERVICE)
    try:
        return msgspec.json.decode(text, type=dict[str, list[str]]) if text else {}
    except msgspec.DecodeError:
        return {}
