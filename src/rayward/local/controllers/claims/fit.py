"""Which volume a claim may have."""

from __future__ import annotations

from collections.abc import Iterable

from rayward.kube.machinery.quantity import Quantity, parse
from rayward.kube.machinery.selectors.labels import from_object
from rayward.local.controllers.claims.volume import Claim, Volume


def misfit(volume: Volume, claim: Claim, *, any_class: bool = False) -> str:
    """Why a claim cannot have a volume, in Kubernetes' words; empty if it can."""
    if volume.deleting:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if _room(volume) < parse(claim.storage):
        return "requested PV is too small"
    if volume.spec.storage_class_name != claim.storage_class and not any_class:
        return "storageClassName does not match"
    if volume.spec.volume_mode != claim.spec.volume_mode:
        return "incompatible volumeMode"
    if not set(claim.spec.access_modes or ()) <= set(volume.spec.access_modes or ()):
        return "incompatible accessMode"
    return ""


def best(claim: Claim, volumes: Iterable[Volume]) -> Volume | None:
    """The volume for a claim that names none: one that is kept for it, else the closest to its wish that is free."""
    selector = from_object(claim.spec.selector or {})
    free: list[Volume] = []
    for volume in volumes:
        if volume.holds(claim):
            if not misfit(volume, claim, any_class=True):
                return volume
        elif (
            volume.spec.claim_ref is None
            and volume.status.phase == "Available"
            and not misfit(volume, claim)
            and selector.matches(volume.metadata.labels)
        ):
            free.append(volume)
    return min(free, key=_excess, default=None)


def _excess(volume: Volume) -> tuple[int, Quantity, str]:
    return len(volume.spec.access_modes or ()), _room(volume), volume.metadata.name


def _room(volume: Volume) -> Quantity:
    return parse((volume.spec.capacity or {}).get("storage", "0"))
