"""What is done about claims and their volumes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.local.controllers.claims.decide import Refusal, Step, next_for_claim, next_for_volume
from rayward.local.controllers.claims.volume import PROVISIONER, Claim, StorageClass, Volume

_OURS = StorageClass(provisioner=PROVISIONER)


def _claim(phase: str = "Pending", *, deleting: bool = False, uid: str = "u", **spec: Any) -> Claim:
    metadata: dict[str, Any] = {"name": "data", "namespace": "x", "uid": uid}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Claim)


def _volume(phase: str = "Pending", *, by: str = PROVISIONER, uid: str = "u") -> Volume:
    metadata = {"name": f"pvc-{uid}", "annotations": {"pv.kubernetes.io/provisioned-by": by}}
    spec = {"claimRef": {"namespace": "x", "name": "data", "uid": uid}}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Volume)


@pytest.mark.parametrize(
    ("claim", "volume", "namesakes", "step"),
    [
        (_claim(), None, [], Step.PROVISION),
        (_claim(), None, [_volume(uid="older")], Step.NOTHING),
        (_claim(deleting=True), None, [], Step.NOTHING),
        (_claim(volumeName="of-the-user"), None, [], Step.NOTHING),
        (_claim(), _volume(), [], Step.BIND),
        (_claim(volumeName="pvc-u"), _volume(), [], Step.REPORT),
        (_claim("Bound", volumeName="pvc-u"), _volume(), [], Step.REPORT),
        (_claim("Bound", volumeName="pvc-u"), _volume("Bound"), [], Step.NOTHING),
        (_claim("Bound", volumeName="pvc-u"), None, [], Step.NOTHING),
    ],
    ids=[
        "new",
        "the files of an earlier one are still there",
        "deleted",
        "the user chose a volume",
        "the volume is made",
        "it is named",
        "one of both says so",
        "bound",
        "the volume is lost",
    ],
)
def test_a_claim_is_bound_step_by_step(
    claim: Claim, volume: Volume | None, namesakes: list[Volume], step: Step
) -> None:
    assert next_for_claim(claim, volume, _OURS, namesakes) is step


@pytest.mark.parametrize(
    ("claim", "found", "reason", "message"),
    [
        (
            _claim(storageClassName="fast"),
            None,
            "ProvisioningFailed",
            'storageclass.storage.k8s.io "fast" not found',
        ),
        (_claim(storageClassName=""), None, "FailedBinding", "no storage class is set"),
        (_claim(storageClassName="fast"), StorageClass(provisioner="x.io/y"), "ExternalProvisioning", "'x.io/y'"),
        (_claim(volumeMode="Block"), _OURS, "ProvisioningFailed", "a folder is no block device"),
    ],
    ids=["no such class", "no class", "a class of another", "a block device"],
)
def test_a_claim_is_refused(claim: Claim, found: StorageClass | None, reason: str, message: str) -> None:
    refusal = next_for_claim(claim, None, found, [])
    assert isinstance(refusal, Refusal)
    assert refusal.reason == reason
    assert message in refusal.message


@pytest.mark.parametrize(
    ("volume", "claim", "step"),
    [
        (_volume(), _claim(), Step.NOTHING),
        (_volume(), None, Step.CLEAR),
        (_volume(), _claim(uid="newer"), Step.CLEAR),
        (_volume(by="x.io/y"), None, Step.NOTHING),
    ],
    ids=["its claim is there", "its claim is gone", "its claim was made again", "made by another"],
)
def test_the_files_of_a_claim_that_is_gone_go(volume: Volume, claim: Claim | None, step: Step) -> None:
    assert next_for_volume(volume, claim) is step
