"""What to do about a claim, and about a volume."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, Literal

import msgspec

from rayward.kinds.labels import PROVISIONER
from rayward.local.controllers.claims.fit import misfit
from rayward.local.controllers.claims.volume import PROTECTION, Claim, StorageClass, Volume


class Step(Enum):
    """What comes next for a claim or a volume."""

    NOTHING = auto()
    PROVISION = auto()
    """Make the volume."""
    TAKE = auto()
    """Name the claim in the volume."""
    BIND = auto()
    """Name the volume in the claim."""
    REPORT = auto()
    """Say that both are bound."""
    OFFER = auto()
    """Say that the volume may be taken."""
    RELEASE = auto()
    """Say that the volume's claim is gone; its files stay."""
    CLEAR = auto()
    """Remove the files, and then the volume."""
    LET_GO = auto()
    """Lift the protection of a deleted volume that nobody has."""


class Refusal(msgspec.Struct, frozen=True):
    """Why a claim gets no volume, as an Event says it."""

    kind: Literal["Normal", "Warning"]
    reason: str
    message: str


_NO_CLASS: Final = Refusal(
    "Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set"
)
_OF_KUBERNETES: Final = "kubernetes.io/"


def next_for_claim(claim: Claim, volume: Volume | None, found: StorageClass | None) -> Step | Refusal:
    """The next step for a claim; ``volume`` is the one that it names, or the best for it."""
    if claim.deleting:
        return Step.NOTHING
    if volume is None:
        return Step.NOTHING if claim.spec.volume_name else _refusal(claim, found) or Step.PROVISION
    held = volume.spec.claim_ref
    if held is not None and not volume.holds(claim):
        text = f'volume "{volume.metadata.name}" already bound to a different claim.'
        return Step.NOTHING if claim.was_bound else Refusal("Warning", "FailedBinding", text)
    if held is None and not claim.was_bound and (why := misfit(volume, claim)):
        text = f'Cannot bind to requested volume "{volume.metadata.name}": {why}'
        return Refusal("Warning", "VolumeMismatch", text)
    if held is None or held.uid != claim.metadata.uid:
        return Step.TAKE
    if not claim.was_bound:
        return Step.BIND
    return Step.NOTHING if claim.status.phase == volume.status.phase == "Bound" else Step.REPORT


def _refusal(claim: Claim, found: StorageClass | None) -> Refusal | None:
    if not claim.storage_class:
        return _NO_CLASS
    if found is None:
        text = f'storageclass.storage.k8s.io "{claim.storage_class}" not found'
        return Refusal("Warning", "ProvisioningFailed", text)
    if found.provisioner.startswith(_OF_KUBERNETES):
        text = f"no volume plugin matched name: {found.provisioner}"
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
    if held is not None and held.uid:
        if claim is not None and claim.metadata.uid == held.uid:
            return Step.NOTHING
        if volume.ours and volume.spec.persistent_volume_reclaim_policy == "Delete":
            return Step.CLEAR
        if volume.status.phase not in ("Released", "Failed"):
            return Step.RELEASE
    elif volume.status.phase != "Available":
        return Step.OFFER
    return Step.LET_GO if volume.deleting and PROTECTION in (volume.metadata.finalizers or ()) else Step.NOTHING
