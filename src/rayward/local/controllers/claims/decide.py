"""What to do about a claim, and about a volume that was made for one."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final, Literal

import msgspec

from rayward.local.controllers.claims.volume import PROVISIONER, Claim, StorageClass, Volume


class Step(Enum):
    """What comes next for a claim or a volume."""

    NOTHING = auto()
    PROVISION = auto()
    """Make the volume."""
    BIND = auto()
    """Name the volume in the claim."""
    REPORT = auto()
    """Say that both are bound."""
    CLEAR = auto()
    """Remove the files, and then the volume."""


class Refusal(msgspec.Struct, frozen=True):
    """Why a claim gets no volume, as an Event says it."""

    kind: Literal["Normal", "Warning"]
    reason: str
    message: str


_NO_CLASS: Final = Refusal(
    "Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set"
)


def next_for_claim(
    claim: Claim, volume: Volume | None, found: StorageClass | None, namesakes: Iterable[Volume]
) -> Step | Refusal:
    """The next step for a claim; ``volume`` is the one made for it, ``namesakes`` those of claims of its name."""
    if claim.deleting or claim.spec.volume_name not in ("", claim.volume):
        return Step.NOTHING
    if volume is None:
        if claim.spec.volume_name:
            return Step.NOTHING
        if (refusal := _refusal(claim, found)) is not None:
            return refusal
        # The files of an earlier claim of this name are in the same folder: they go first.
        return Step.NOTHING if any(namesakes) else Step.PROVISION
    if not claim.spec.volume_name:
        return Step.BIND
    return Step.NOTHING if claim.status.phase == volume.status.phase == "Bound" else Step.REPORT


def _refusal(claim: Claim, found: StorageClass | None) -> Refusal | None:
    if not claim.storage_class:
        return _NO_CLASS
    if found is None:
        text = f'storageclass.storage.k8s.io "{claim.storage_class}" not found'
        return Refusal("Warning", "ProvisioningFailed", text)
    if found.provisioner != PROVISIONER:
        text = (
            f"Waiting for a volume to be created either by the external provisioner '{found.provisioner}' or manually"
        )
        text += " by the system administrator. If volume creation is delayed, please verify that the provisioner is"
        return Refusal("Normal", "ExternalProvisioning", f"{text} running and correctly registered.")
    if claim.spec.volume_mode != "Filesystem":
        text = f'Failed to provision volume with StorageClass "{claim.storage_class}": a folder is no block device'
        return Refusal("Warning", "ProvisioningFailed", text)
    return None


def next_for_volume(volume: Volume, claim: Claim | None) -> Step:
    """The next step for a volume; ``claim`` is the one that its reference names."""
    held = volume.spec.claim_ref
    if not volume.ours or held is None or (claim is not None and claim.metadata.uid == held.uid):
        return Step.NOTHING
    return Step.CLEAR
