"""Binds claims to volumes: to those that users made, else to folders of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Never

from rayward.kinds.labels import PROVISIONER
from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, Conflict, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import PERSISTENT_VOLUME_CLAIMS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.local.controllers.claims.decide import Refusal, Step, next_for_claim
from rayward.local.controllers.claims.fit import best
from rayward.local.controllers.claims.volume import (
    BIND_COMPLETED,
    VOLUMES,
    Claim,
    StorageClass,
    Volume,
    claim_reference,
    volume_for,
)
from rayward.local.controllers.claims.volumes import VolumesController, held_by, held_by_none, volume_cache

__all__ = ["ClaimsController", "volume_cache"]

_BOUND: Final = {BIND_COMPLETED: "yes"}
_CHOSEN_HERE: Final = {"pv.kubernetes.io/bound-by-controller": "yes"}
_PROVISIONED: Final = {"volume.kubernetes.io/storage-provisioner": PROVISIONER}


class ClaimsController:
    """Gives claims their volumes; those that it makes are folders below ``folder``."""

    def __init__(
        self,
        client: Client,
        folder: Path,
        *,
        claims: Cache[Claim],
        volumes: Cache[Volume],
        classes: Cache[StorageClass],
        events: EventRecorder,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._client = client
        self._folder = folder
        self._claims = claims
        self._volumes = volumes
        self._classes = classes
        self._events = events
        self._controller = Controller("claims", self._reconcile, workers=4, clock=clock)
        self._controller.watch(claims)
        self._controller.watch(volumes, self._concerned)
        self._controller.watch(
            classes, lambda _old, _new: [claim.key for claim in claims if not claim.spec.volume_name]
        )
        self._keeping = VolumesController(client, folder, claims=claims, volumes=volumes, events=events, clock=clock)

    async def run(self) -> Never:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keeping.run())
            await self._controller.run()

    def _concerned(self, old: Volume | None, new: Volume | None) -> Iterable[Key]:
        """The claims that a change of a volume is news for: its own, and of a user's volume all that wait."""
        seen = [volume for volume in (old, new) if volume is not None]
        found = {claim for volume in seen if (claim := volume.claim) is not None}
        if not all(volume.ours and volume.claim is not None for volume in seen):
            found.update(claim.key for claim in self._claims if not claim.was_bound)
        return found

    async def _reconcile(self, key: Key) -> Result:
        claim = self._claims.get(key)
        if claim is None:
            return DONE
        if claim.spec.volume_name:
            volume = self._volumes.get(Key("", claim.spec.volume_name))
        else:
            volume = best(claim, [*held_by(self._volumes, key), *held_by_none(self._volumes)])
        found = self._classes.get(Key("", claim.storage_class))
        step = next_for_claim(claim, volume, found)
        if isinstance(step, Refusal):
            self._events.record(reference(PERSISTENT_VOLUME_CLAIMS, claim), step.kind, step.reason, step.message)
            return DONE
        try:
            if step is Step.PROVISION and found is not None:
                await self._provision(claim, found)
            elif volume is not None:
                await self._take(step, claim, volume)
        except (AlreadyExists, NotFound, Conflict):
            # Made already, gone, or changed: a watch tells.
            return DONE
        return DONE

    async def _provision(self, claim: Claim, found: StorageClass) -> None:
        await self._write(claim.key, self._volumes, verbs.create(VOLUMES, volume_for(claim, found, self._folder)))
        text = f"Successfully provisioned volume {claim.volume}"
        self._events.record(reference(PERSISTENT_VOLUME_CLAIMS, claim), "Normal", "ProvisioningSucceeded", text)

    async def _take(self, step: Step, claim: Claim, volume: Volume) -> None:
        if step is Step.TAKE:
            # Two claims may want it: the first one changes its version.
            metadata: dict[str, Any] = {"resourceVersion": volume.metadata.resource_version}
            if volume.claim is None:
                metadata["annotations"] = _CHOSEN_HERE
            change = {"metadata": metadata, "spec": {"claimRef": claim_reference(claim)}}
            await self._patch(claim.key, self._volumes, volume.key, change)
        elif step is Step.BIND:
            named = {"volumeName": volume.metadata.name, "storageClassName": claim.storage_class}
            chosen = {} if claim.spec.volume_name else _CHOSEN_HERE
            made = _PROVISIONED if volume.metadata.name == claim.volume else {}
            metadata = {"annotations": {**_BOUND, **chosen, **made}, "uid": claim.metadata.uid}
            await self._patch(claim.key, self._claims, claim.key, {"metadata": metadata, "spec": named})
        elif step is Step.REPORT:
            spec = volume.spec
            status = {"phase": "Bound", "accessModes": list(spec.access_modes or ()), "capacity": spec.capacity}
            await self._patch(claim.key, self._volumes, volume.key, {"status": {"phase": "Bound"}}, "status")
            await self._patch(claim.key, self._claims, claim.key, {"status": status}, "status")

    async def _patch(
        self, writer: Key, cache: Cache[Any], key: Key, change: dict[str, Any], subresource: str | None = None
    ) -> None:
        namespace = key.namespace or None
        request = verbs.patch(cache.resource, key.name, change, PatchType.MERGE, namespace, subresource=subresource)
        await self._write(writer, cache, request)

    async def _write(self, writer: Key, cache: Cache[Any], request: Request) -> None:
        self._controller.wrote(writer, cache, await self._client.send_as(request, KubeObject))
