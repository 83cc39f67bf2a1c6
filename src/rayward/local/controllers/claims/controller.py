"""Binds claims to folders, and clears the folders of claims that are gone."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Never

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
from rayward.local.controllers.claims.decide import Refusal, Step, next_for_claim, next_for_volume
from rayward.local.controllers.claims.volume import (
    PROTECTION,
    PROVISIONER,
    VOLUMES,
    Claim,
    StorageClass,
    Volume,
    folder_of,
    volume_for,
)

_BOUND: Final = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
_PROVISIONED: Final = {"volume.kubernetes.io/storage-provisioner": PROVISIONER}
_BY_CLAIM: Final = "claim"


def volume_cache() -> Cache[Volume]:
    """A cache of volumes in which those of a claim are found."""
    return Cache(VOLUMES, Volume, keep_raw=False, indexes={_BY_CLAIM: lambda volume: (str(volume.claim),)})


class ClaimsController:
    """Gives claims a folder below ``folder``."""

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
        self._controller.watch(volumes, _claims_of_volume)
        self._controller.watch(
            classes, lambda _old, _new: [claim.key for claim in claims if not claim.spec.volume_name]
        )

    async def run(self) -> Never:
        """Work until cancelled."""
        await self._controller.run()

    async def _reconcile(self, key: Key) -> Result:
        claim = self._claims.get(key)
        held = self._volumes.find(_BY_CLAIM, str(key))
        for volume in held:
            if next_for_volume(volume, claim) is Step.CLEAR:
                await self._clear(key, volume)
        if claim is None:
            return DONE
        own = self._volumes.get(Key("", claim.volume))
        found = self._classes.get(Key("", claim.storage_class))
        step = next_for_claim(claim, own, found, [volume for volume in held if volume is not own])
        if isinstance(step, Refusal):
            self._events.record(reference(PERSISTENT_VOLUME_CLAIMS, claim), step.kind, step.reason, step.message)
            return DONE
        try:
            await self._take(step, key, claim)
        except (AlreadyExists, NotFound, Conflict):
            # Made already, gone, or changed: a watch tells.
            return DONE
        return DONE

    async def _take(self, step: Step, key: Key, claim: Claim) -> None:
        if step is Step.PROVISION:
            await self._write(key, self._volumes, verbs.create(VOLUMES, volume_for(claim, self._folder)))
            text = f"Successfully provisioned volume {claim.volume}"
            about = reference(PERSISTENT_VOLUME_CLAIMS, claim)
            self._events.record(about, "Normal", "ProvisioningSucceeded", text)
        elif step is Step.BIND:
            named = {"volumeName": claim.volume, "storageClassName": claim.storage_class}
            change = {"metadata": {"annotations": {**_BOUND, **_PROVISIONED}, "uid": claim.metadata.uid}, "spec": named}
            await self._patch(key, self._claims, key, change)
        elif step is Step.REPORT:
            capacity = {"storage": (claim.spec.resources.requests or {}).get("storage", "0")}
            status = {"phase": "Bound", "accessModes": list(claim.spec.access_modes or ()), "capacity": capacity}
            await self._patch(key, self._volumes, Key("", claim.volume), {"status": {"phase": "Bound"}}, "status")
            await self._patch(key, self._claims, key, {"status": status}, "status")

    async def _clear(self, writer: Key, volume: Volume) -> None:
        """The files go first: a volume that is still there says that they may be."""
        place = folder_of(self._folder, writer)
        try:
            await asyncio.to_thread(shutil.rmtree, place)
        except FileNotFoundError:
            pass
        except OSError as error:
            text = f"the folder {place} could not be removed: {error}"
            self._events.record(reference(VOLUMES, volume), "Warning", "VolumeFailedDelete", text)
            raise
        name, uid = volume.metadata.name, volume.metadata.uid
        try:
            if not volume.deleting:
                await self._client.delete(VOLUMES, name, uid=uid)
            left = [each for each in volume.metadata.finalizers or () if each != PROTECTION]
            await self._patch(writer, self._volumes, volume.key, {"metadata": {"finalizers": left or None, "uid": uid}})
        except (NotFound, Conflict):
            return

    async def _patch(
        self, writer: Key, cache: Cache[Any], key: Key, change: dict[str, Any], subresource: str | None = None
    ) -> None:
        namespace = key.namespace or None
        request = verbs.patch(cache.resource, key.name, change, PatchType.MERGE, namespace, subresource=subresource)
        await self._write(writer, cache, request)

    async def _write(self, writer: Key, cache: Cache[Any], request: Request) -> None:
        self._controller.wrote(writer, cache, await self._client.send_as(request, KubeObject))


def _claims_of_volume(old: Volume | None, new: Volume | None) -> Iterable[Key]:
    return {claim for volume in (old, new) if volume is not None and (claim := volume.claim) is not None}
