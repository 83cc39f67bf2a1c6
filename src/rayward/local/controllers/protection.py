"""A claim that is being deleted stays until no pod uses it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Never

from rayward.kube.client.api import Client
from rayward.kube.client.errors import Conflict, Invalid, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import PERSISTENT_VOLUME_CLAIMS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.local.controllers.claims.volume import Claim
from rayward.local.controllers.pods import SeenPod

FINALIZER: Final = "kubernetes.io/pvc-protection"


def is_free(claim: KubeObject, pods: Iterable[SeenPod]) -> bool:
    """Whether a claim waits for nothing but the end of its protection."""
    if not claim.deleting or FINALIZER not in (claim.metadata.finalizers or ()):
        return False
    return not any(claim.metadata.name in pod.claims for pod in pods)


class ClaimProtection:
    """Lifts the protection of claims that nobody uses any more."""

    def __init__(
        self, client: Client, claims: Cache[Claim], pods: Cache[SeenPod], *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._client = client
        self._claims = claims
        self._pods = pods
        self._controller = Controller("claim protection", self._reconcile, workers=2, clock=clock)
        self._controller.watch(claims)
        self._controller.watch(pods, _claims_of)

    async def run(self) -> Never:
        await self._controller.run()

    async def _reconcile(self, key: Key) -> Result:
        claim = self._claims.get(key)
        if claim is None or not is_free(claim, self._pods.in_namespace(key.namespace)):
            return DONE
        left = [name for name in claim.metadata.finalizers or () if name != FINALIZER]
        metadata = {"finalizers": left or None, "resourceVersion": claim.metadata.resource_version}
        try:
            await self._client.patch(
                PERSISTENT_VOLUME_CLAIMS, key.name, {"metadata": metadata}, PatchType.MERGE, key.namespace
            )
        except (NotFound, Conflict, Invalid):
            # gone or changed meanwhile; the cache will tell
            return DONE
        return DONE


def _claims_of(old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
    pods = [pod for pod in (old, new) if pod is not None]
    return {Key(pod.metadata.namespace, name) for pod in pods for name in pod.claims}
