"""What is done about claims and volumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayward.kinds.labels import PROVISIONER
from rayward.local.controllers.claims.decide import Refusal, Step, next_for_claim, next_for_volume
from rayward.local.controllers.claims.volume import Claim, StorageClass, Volume

_OURS = StorageClass(provisioner=PROVISIONER)
_DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def _claim(phase: str = "Pending", *, uid: str = "u", bound: str = "", deleting: bool = False, **spec: Any) -> Claim:
    """A claim; ``bound`` names the volume that it was given."""
    metadata: dict[str, Any] = {"name": "data", "namespace": "x", "uid": uid}
    if bound:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        spec["volumeName"] = bound
    metadata |= _DELETED if deleting else {}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Claim)


def _volume(
    phase: str = "Pending",
    *,
    by: str = PROVISIONER,
    held: str | None = "u",
    policy: str = "Delete",
    deleting: bool = False,
    **spec: Any,
) -> Volume:
    """A volume; ``held`` is the uid of its claim, empty if it is kept for one, None if it is free."""
    metadata: dict[str, Any] = {"name": "pvc-u", "annotations": {"pv.kubernetes.io/provisioned-by": by}}
    metadata["finalizers"] = ["kubernetes.io/pv-protection"]
    metadata |= _DELETED if deleting else {}
    spec = {"persistentVolumeReclaimPolicy": policy, "storageClassName": "standard", **spec}
    if held is not None:
        spec["claimRef"] = {"namespace": "x", "name": "data", "uid": held}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Volume)


@pytest.mark.parametrize(
    ("claim", "volume", "step"),
    [
        (_claim(), None, Step.PROVISION),
        (_claim(deleting=True), None, Step.NOTHING),
        (_claim(volumeName="of-the-user"), None, Step.NOTHING),
        (_claim(), _volume(held=None), Step.TAKE),
        (_claim(), _volume(held=""), Step.TAKE),
        (_claim(volumeName="pvc-u"), _volume(held=None), Step.TAKE),
        (_claim(volumeName="pvc-u"), _volume(held="", storageClassName="other"), Step.TAKE),
        (_claim(), _volume(), Step.BIND),
        (_claim(volumeName="pvc-u"), _volume(), Step.BIND),
        (_claim(bound="pvc-u"), _volume(), Step.REPORT),
        (_claim("Bound", bound="pvc-u"), _volume(), Step.REPORT),
        (_claim("Bound", bound="pvc-u"), _volume("Bound"), Step.NOTHING),
        (_claim("Bound", bound="pvc-u"), _volume(held=None, storageClassName="other"), Step.TAKE),
        (_claim("Bound", bound="pvc-u"), _volume("Bound", held="other"), Step.NOTHING),
        (_claim("Bound", bound="pvc-u"), None, Step.NOTHING),
    ],
    ids=[
        "new",
        "deleted",
        "the volume it names is not there yet",
        "a free volume is found",
        "a volume is kept for it",
        "the volume it names is free",
        "the volume it names is kept for it",
        "the volume names it",
        "both name each other",
        "it is bound",
        "one of both says so",
        "both say so",
        "the volume was taken from it",
        "the volume was given to another",
        "the volume is lost",
    ],
)
def test_a_claim_is_bound_step_by_step(claim: Claim, volume: Volume | None, step: Step) -> None:
    assert next_for_claim(claim, volume, _OURS) is step


@pytest.mark.parametrize(
    ("claim", "volume", "found", "reason", "message"),
    [
        (
            _claim(storageClassName="fast"),
            None,
            None,
            "ProvisioningFailed",
            'storageclass.storage.k8s.io "fast" not found',
        ),
        (_claim(storageClassName=""), None, None, "FailedBinding", "no storage class is set"),
        (_claim(storageClassName="fast"), None, StorageClass(provisioner="x.io/y"), "ExternalProvisioning", "'x.io/y'"),
        (
            _claim(storageClassName="local"),
            None,
            StorageClass(provisioner="kubernetes.io/no-provisioner"),
            "ProvisioningFailed",
            "no volume plugin matched name: kubernetes.io/no-provisioner",
        ),
        (_claim(volumeMode="Block"), None, _OURS, "ProvisioningFailed", "a folder is no block device"),
        (
            _claim(volumeName="pvc-u"),
            _volume("Bound", held="other"),
            _OURS,
            "FailedBinding",
            'volume "pvc-u" already bound to a different claim.',
        ),
        (
            _claim(volumeName="pvc-u"),
            _volume(held=None, storageClassName="other"),
            _OURS,
            "VolumeMismatch",
            'Cannot bind to requested volume "pvc-u": storageClassName does not match',
        ),
    ],
    ids=[
        "no such class",
        "no class",
        "a class of another",
        "a class without a provisioner",
        "a block device",
        "the volume it names has a claim",
        "the volume it names does not fit",
    ],
)
def test_a_claim_is_refused(
    claim: Claim, volume: Volume | None, found: StorageClass | None, reason: str, message: str
) -> None:
    refusal = next_for_claim(claim, volume, found)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == reason
    assert message in refusal.message


@pytest.mark.parametrize(
    ("volume", "claim", "step"),
    [
        (_volume(held=None), None, Step.OFFER),
        (_volume(held=""), None, Step.OFFER),
        (_volume("Available", held=None), None, Step.NOTHING),
        (_volume("Released", held=None), None, Step.OFFER),
        (_volume(), _claim(), Step.NOTHING),
        (_volume("Bound", deleting=True), _claim(), Step.NOTHING),
        (_volume("Bound"), None, Step.CLEAR),
        (_volume("Bound"), _claim(uid="newer"), Step.CLEAR),
        (_volume("Bound", policy="Retain"), None, Step.RELEASE),
        (_volume("Bound", policy="Retain"), _claim(uid="newer"), Step.RELEASE),
        (_volume("Released", policy="Retain"), None, Step.NOTHING),
        (_volume("Released", policy="Delete"), None, Step.CLEAR),
        (_volume("Bound", by="x.io/y"), None, Step.RELEASE),
        (_volume("Released", by="x.io/y"), None, Step.NOTHING),
        (_volume("Released", policy="Retain", deleting=True), None, Step.LET_GO),
        (_volume("Available", held=None, deleting=True), None, Step.LET_GO),
    ],
    ids=[
        "new",
        "kept for a claim",
        "free",
        "its claim was taken out of it",
        "its claim is there",
        "deleted, and its claim is there",
        "its claim is gone",
        "its claim was made again",
        "its claim is gone, its files stay",
        "its claim was made again, its files stay",
        "released",
        "released, and its files may go now",
        "made by another",
        "made by another, and released",
        "released and deleted",
        "free and deleted",
    ],
)
def test_a_volume_is_kept_as_its_claim_leaves_it(volume: Volume, claim: Claim | None, step: Step) -> None:
    assert next_for_volume(volume, claim) is step


@pytest.mark.parametrize(
    ("path", "ours"),
    [
        ("/claims/x/pvc-u", True),
        ("/claims/x/data", True),
        ("/claims", False),
        ("/claims/x", False),
        ("/claims/../home", False),
        ("/claims/x/..", False),
        ("/home/me", False),
        ("", False),
    ],
    ids=["of a claim", "of an earlier Rayward", "of all", "of a namespace", "out of it", "up", "of the user", "none"],
)
def test_only_folders_of_claims_are_ever_removed(path: str, ours: bool) -> None:
    volume = _volume(hostPath={"path": path})
    assert volume.folder(Path("/claims")) == (Path(path) if ours else None)
