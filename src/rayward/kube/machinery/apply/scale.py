"""Managed fields of the scale subresource, which shows one field of its parent under another path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from rayward.kube.machinery.apply.fieldset import difference, holds, set_of
from rayward.kube.machinery.apply.fromschema import custom_type_of
from rayward.kube.machinery.apply.owners import Owner, OwnerKey, Owners

if TYPE_CHECKING:
    from collections.abc import Sequence

SCALE_VERSION: Final = "autoscaling/v1"
SCALE: Final = custom_type_of(
    {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
            "status": {
                "type": "object",
                "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}},
            },
        },
    }
)
"""The type of a Scale."""

_IN_SCALE: Final = ("f:spec", "f:replicas")


def scale_owners(parent: Owners, path: Sequence[str]) -> Owners:
    """The owners of a Scale: those of its parent who own the replicas, at ``path`` there."""
    replicas = set_of(_IN_SCALE)
    found = [
        msgspec.structs.replace(owner, api_version=SCALE_VERSION, fields=replicas)
        for owner in parent
        if holds(owner.fields, path)
    ]
    return Owners({owner.key: owner for owner in found}, SCALE)


def parent_owners(parent: Owners, scale: Owners, path: Sequence[str], api_version: str) -> Owners:
    """The owners of the parent after a write to its Scale: whoever owns the replicas there owns them here."""
    replicas = set_of(path)
    scalers = {_who(owner): owner for owner in scale if holds(owner.fields, _IN_SCALE)}
    after: dict[OwnerKey, Owner] = {}
    for owner in parent:
        fields = owner.fields
        if holds(fields, path) and scalers.pop(_who(owner), None) is None:
            fields = difference(fields, replicas)
        if fields:
            after[owner.key] = owner if fields is owner.fields else msgspec.structs.replace(owner, fields=fields)
    for scaler in scalers.values():
        # Kubernetes gives an owner that comes by way of a Scale no time.
        taken = msgspec.structs.replace(scaler, api_version=api_version, time=None, fields=replicas)
        after[taken.key] = taken
    return Owners(after, parent.fitted_to)


def _who(owner: Owner) -> tuple[str, str, str]:
    return owner.manager, owner.operation, owner.subresource
