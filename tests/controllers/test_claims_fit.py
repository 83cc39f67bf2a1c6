"""Which volume a claim may have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.local.controllers.claims.fit import best, misfit
from rayward.local.controllers.claims.volume import Claim, Volume


def _claim(**spec: Any) -> Claim:
    metadata = {"name": "data", "namespace": "x", "uid": "u"}
    asked: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "storageClassName": "manual"}
    asked["resources"] = {"requests": {"storage": "2Gi"}}
    return msgspec.convert({"metadata": metadata, "spec": {**asked, **spec}}, Claim)


def _volume(name: str = "disk", size: str = "2Gi", phase: str = "Available", **spec: Any) -> Volume:
    metadata: dict[str, Any] = {"name": name, "labels": {"disk": name}}
    if spec.pop("deleting", False):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    has = {"accessModes": ["ReadWriteOnce"], "storageClassName": "manual", "capacity": {"storage": size}, **spec}
    return msgspec.convert({"metadata": metadata, "spec": has, "status": {"phase": phase}}, Volume)


def _for(name: str = "data", uid: str = "") -> dict[str, str]:
    return {"namespace": "x", "name": name, "uid": uid}


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        (_volume(), ""),
        (_volume(size="2048Mi"), ""),
        (_volume(accessModes=["ReadOnlyMany", "ReadWriteOnce"]), ""),
        (_volume(deleting=True), 'the volume is marked for deletion "disk"'),
        (_volume(size="2G"), "requested PV is too small"),
        (_volume(storageClassName=""), "storageClassName does not match"),
        (_volume(volumeMode="Block"), "incompatible volumeMode"),
        (_volume(accessModes=["ReadOnlyMany"]), "incompatible accessMode"),
    ],
    ids=["fits", "as large", "has more modes", "deleted", "too small", "other class", "block", "other modes"],
)
def test_why_a_volume_does_not_fit(volume: Volume, why: str) -> None:
    assert misfit(volume, _claim()) == why


@pytest.mark.parametrize(
    ("claim", "volumes", "name"),
    [
        (_claim(), [], None),
        (_claim(), [_volume("large", "10Gi"), _volume("right", "3Gi"), _volume("small", "1Gi")], "right"),
        (_claim(), [_volume("b"), _volume("a")], "a"),
        (_claim(), [_volume("a", accessModes=["ReadWriteMany", "ReadWriteOnce"]), _volume("b", "9Gi")], "b"),
        (_claim(), [_volume("a", phase="Pending"), _volume("b", phase="Failed")], None),
        (_claim(selector={"matchLabels": {"disk": "b"}}), [_volume("a"), _volume("b")], "b"),
        (_claim(), [_volume("a"), _volume("kept", "9Gi", "Pending", claimRef=_for(), storageClassName="")], "kept"),
        (_claim(), [_volume("own", phase="Bound", claimRef=_for(uid="u"))], "own"),
        (_claim(), [_volume("a"), _volume("kept", "1Gi", claimRef=_for())], "a"),
        (_claim(), [_volume("former", claimRef=_for(uid="older")), _volume("other", claimRef=_for("other"))], None),
    ],
    ids=[
        "none",
        "the smallest that is large enough",
        "the first by name",
        "no more modes than needed",
        "none is available",
        "the one it selects",
        "the one that is kept for it, of any class",
        "its own already",
        "the one that is kept for it is too small",
        "those of others",
    ],
)
def test_the_best_volume_for_a_claim(claim: Claim, volumes: list[Volume], name: str | None) -> None:
    found = best(claim, volumes)
    assert (found.metadata.name if found else None) == name
