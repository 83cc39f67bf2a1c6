"""Pods, as the controllers here read them: one cache serves all."""

from __future__ import annotations

import msgspec

from rayward.kube.core.objects import Slim
from rayward.kube.core.pod import Pod, PodSpec, PodStatus

_OVER = frozenset({"Succeeded", "Failed"})


class _ClaimSource(Slim, frozen=True, gc=False):
    claim_name: str = ""


class _Volume(Slim, frozen=True, gc=False):
    persistent_volume_claim: _ClaimSource | None = None


class _Address(Slim, frozen=True, gc=False):
    ip: str = ""


class _Spec(PodSpec, frozen=True, gc=False):
    volumes: tuple[_Volume, ...] | None = None


class _Status(PodStatus, frozen=True, gc=False):
    pod_ips: tuple[_Address, ...] | None = msgspec.field(default=None, name="podIPs")


class SeenPod(Pod, frozen=True, gc=False):
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def over(self) -> bool:
        """Whether its containers have ended for good."""
        return self.status.phase in _OVER

    @property
    def claims(self) -> frozenset[str]:
        """The claims it holds: those of a pod that is over, or was never put on a node, are free."""
        if not self.spec.node_name or self.over:
            return frozenset()
        sources = (volume.persistent_volume_claim for volume in self.spec.volumes or ())
        return frozenset(source.claim_name for source in sources if source is not None)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Its addresses, of either family."""
        return tuple(found.ip for found in self.status.pod_ips or ())
