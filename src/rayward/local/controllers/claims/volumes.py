"""Says of each volume whether it may be taken, and does as it asks when its claim is gone."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Never

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import Conflict, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.local.controllers.claims.decide import Step, next_for_volume
from rayward.local.controllers.claims.volume import PROTECTION, VOLUMES, Claim, Volume

_BY_CLAIM: Final = "claim"
_FREE: Final = ""


def volume_cache() -> Cache[Volume]:
    """A cache of volumes in which those of a claim are found, and those of none."""
    return Cache(VOLUMES, Volume, keep_raw=False, indexes={_BY_CLAIM: lambda volume: (str(volume.claim or _FREE),)})


def held_by(volumes: Cache[Volume], claim: Key) -> list[Volume]:
    """The volumes whose reference names a claim."""
    return volumes.find(_BY_CLAIM, str(claim))


def held_by_none(volumes: Cache[Volume]) -> list[Volume]:
    """The volumes without a reference to a claim."""
    return volumes.find(_BY_CLAIM, _FREE)


class VolumesController:
    """Offers, releases and clears volumes; files are removed only below ``folder``."""

    def __init__(
        self,
        client: Client,
        folder: Path,
        *,
        claims: Cache[Claim],
        volumes: Cache[Volume],
        events: EventRecorder,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._client = client
        self._folder = folder
        self._claims = claims
        self._volumes = volumes
        self._events = events
        self._controller = Controller("volumes", self._reconcile, workers=4, clock=clock)
        self._controller.watch(volumes)
        self._controller.watch(claims, self._held)

    async def run(self) -> Never:
        await self._controller.run()

    def _held(self, old: Claim | None, new: Claim | None) -> Iterable[Key]:
        return [volume.key for claim in (old, new) if claim for volume in held_by(self._volumes, claim.key)]

    async def _reconcile(self, key: Key) -> Result:
        volume = self._volumes.get(key)
        if volume is None:
            return DONE
        step = next_for_volume(volume, None if volume.claim is None else self._claims.get(volume.claim))
        try:
            await self._take(step, volume)
        except (NotFound, Conflict):
            # Gone or changed: a watch tells.
            return DONE
        return DONE

    async def _take(self, step: Step, volume: Volume) -> None:
        if step is Step.OFFER:
            await self._say(volume, "Available")
        elif step is Step.RELEASE:
            await self._say(volume, "Released")
            if volume.spec.persistent_volume_reclaim_policy == "Delete":
                self._warn(volume, "its files stay: only volumes that were made here are deleted with their claims")
        elif step is Step.CLEAR:
            await self._clear(volume)
        elif step is Step.LET_GO:
            await self._let_go(volume)

    async def _say(self, volume: Volume, phase: str) -> None:
        # A claim may be taking it at this moment: what was decided holds for this version only.
        metadata = {"resourceVersion": volume.metadata.resource_version}
        await self._patch(volume, {"metadata": metadata, "status": {"phase": phase}}, "status")

    async def _clear(self, volume: Volume) -> None:
        """The files go first: a volume that is still there says that they may be."""
        place = volume.folder(self._folder)
        if place is None:
            self._warn(volume, f"the folder {volume.spec.host_path.path} stays: it is not below {self._folder}")
        else:
            try:
                await asyncio.to_thread(shutil.rmtree, place)
            except FileNotFoundError:
                pass
            except OSError as error:
                self._warn(volume, f"the folder {place} could not be removed: {error}")
                raise
        if not volume.deleting:
            await self._client.delete(VOLUMES, volume.metadata.name, uid=volume.metadata.uid)
        await self._let_go(volume)

    async def _let_go(self, volume: Volume) -> None:
        left = [each for each in volume.metadata.finalizers or () if each != PROTECTION]
        await self._patch(volume, {"metadata": {"finalizers": left or None, "uid": volume.metadata.uid}})

    def _warn(self, volume: Volume, text: str) -> None:
        self._events.record(reference(VOLUMES, volume), "Warning", "VolumeFailedDelete", text)

    async def _patch(self, volume: Volume, change: dict[str, Any], subresource: str | None = None) -> None:
        request = verbs.patch(VOLUMES, volume.metadata.name, change, PatchType.MERGE, subresource=subresource)
        self._controller.wrote(volume.key, self._volumes, await self._client.send_as(request, KubeObject))
