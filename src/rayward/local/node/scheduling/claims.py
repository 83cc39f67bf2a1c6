"""Claims, as far as pods wait for them."""

from __future__ import annotations

from collections.abc import Callable

from rayward.kube.core.objects import Key, KubeObject, Slim
from rayward.kube.machinery.jsonvalue import Object, entries


class _Spec(Slim, frozen=True, gc=False):
    volume_name: str = ""


class _Status(Slim, frozen=True, gc=False):
    phase: str = ""


class Claim(KubeObject, frozen=True, gc=False):
    """A claim for a volume."""

    spec: _Spec = _Spec()
    status: _Status = _Status()


def obstacle(pod: Object, find: Callable[[Key], Claim | None]) -> str:
    """Why a pod must wait for its claims, in kube-scheduler's words; empty if it need not."""
    unbound = False
    for volume in entries(pod["spec"], "volumes"):
        source = volume.get("persistentVolumeClaim")
        if source is None:
            continue
        name: str = source["claimName"]
        claim = find(Key(pod["metadata"]["namespace"], name))
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.status.phase == "Lost":
            volume_name = claim.spec.volume_name
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume_name}"'
        if claim.deleting:
            return f'persistentvolumeclaim "{name}" is being deleted'
        unbound = unbound or not claim.spec.volume_name
    return "pod has unbound immediate PersistentVolumeClaims" if unbound else ""
