"""When a claim that is being deleted may go."""

from __future__ import annotations

import msgspec
import pytest

from rayward.kube.core.objects import KubeObject
from rayward.local.controllers.pods import SeenPod
from rayward.local.controllers.protection import FINALIZER, is_free


def _claim(*, deleting: bool = True, finalizers: tuple[str, ...] = (FINALIZER,)) -> KubeObject:
    metadata = {"name": "data", "namespace": "a", "finalizers": finalizers}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return msgspec.convert({"metadata": metadata}, KubeObject)


def _pod(claim: str = "data", *, node: str = "n", phase: str = "Running") -> SeenPod:
    spec = {"nodeName": node, "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}, {"name": "e"}]}
    return msgspec.convert({"metadata": {"name": "p"}, "spec": spec, "status": {"phase": phase}}, SeenPod)


@pytest.mark.parametrize(
    ("claim", "pods", "free"),
    [
        (_claim(), [], True),
        (_claim(), [_pod()], False),
        (_claim(), [_pod("other")], True),
        (_claim(), [_pod(phase="Succeeded")], True),
        (_claim(), [_pod(phase="Failed")], True),
        (_claim(), [_pod(node="")], True),
        (_claim(deleting=False), [], False),
        (_claim(finalizers=("example.com/mine",)), [], False),
    ],
    ids=[
        "unused",
        "used",
        "another is used",
        "its pod is done",
        "its pod failed",
        "its pod has no node",
        "not deleted",
        "not protected",
    ],
)
def test_a_claim_goes_when_nobody_uses_it(claim: KubeObject, pods: list[SeenPod], free: bool) -> None:
    assert is_free(claim, pods) is free
