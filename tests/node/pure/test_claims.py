"""Which claims a pod waits for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kube.core.objects import Key
from rayward.local.node.scheduling.claims import Claim, obstacle
from rayward.local.node.scheduling.decide import refuse_everywhere

_CLAIMS = {
    "free": {"metadata": {"name": "free"}},
    "bound": {"spec": {"volumeName": "v"}, "status": {"phase": "Bound"}},
    "going": {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"volumeName": "v"}},
    "lost": {"spec": {"volumeName": "v"}, "status": {"phase": "Lost"}},
}


def _find(key: Key) -> Claim | None:
    found = _CLAIMS.get(key.name)
    return msgspec.convert(found, Claim) if found is not None and key.namespace == "n" else None


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([], ""),
        (["bound"], ""),
        (["bound", "free"], "pod has unbound immediate PersistentVolumeClaims"),
        (["free", "none"], 'persistentvolumeclaim "none" not found'),
        (["going"], 'persistentvolumeclaim "going" is being deleted'),
        (["lost"], 'persistentvolumeclaim "lost" bound to non-existent persistentvolume "v"'),
    ],
    ids=["none", "bound", "unbound", "missing", "going", "lost"],
)
def test_a_pod_waits_for_its_claims(names: list[str], reason: str) -> None:
    volumes: list[dict[str, Any]] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    pod = {"metadata": {"namespace": "n"}, "spec": {"volumes": [*volumes, {"name": "e", "emptyDir": {}}]}}
    assert obstacle(pod, _find) == reason


def test_no_node_helps_a_pod_that_waits_for_itself() -> None:
    assert refuse_everywhere("why", 3).message == (
        "0/3 nodes are available: why. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
