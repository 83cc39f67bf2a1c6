"""Keeps the volumes of one pod in place: folders, files made from objects, tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.core.meta import parse_time
from rayward.kube.core.resource import PERSISTENT_VOLUME_CLAIMS, Resource
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.node.folders import PodFolder
from rayward.local.node.volumes import atomic, content, place
from rayward.local.node.volumes.content import Sources, VolumeError
from rayward.local.node.work.host import Host, NodeInfo

_VOLUMES: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
_USED_BEFORE_RENEWAL: Final = 0.8


class Contents:
    """The volumes of one pod."""

    def __init__(self, host: Host, node: NodeInfo, folder: PodFolder) -> None:
        self._host = host
        self._node = node
        self._folder = folder
        self._tokens: dict[tuple[str, int], tuple[str, float]] = {}
        self.folders: dict[str, Path] = {}

    async def put(self, pod: Object) -> None:
        """Make every volume, or bring it up to date.

        Raises:
            VolumeError: One cannot be made; the text names it.
        """
        for volume in entries(pod["spec"], "volumes"):
            try:
                claimed = await self._claimed(pod, volume)
                self.folders[volume["name"]] = place.folder_of(volume, self._folder.volume(volume["name"]), claimed)
                if content.is_made_from_objects(volume):
                    await self._renew_tokens(pod, volume)
                    tokens = {key: token for key, (token, _) in self._tokens.items()}
                    sources = Sources(self._host.config_map, self._host.secret, self._node.allocatable, tokens)
                    atomic.write(self.folders[volume["name"]], content.files(pod, volume, sources))
            except (VolumeError, OSError, ApiError) as error:
                raise VolumeError(f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}') from error

    @property
    def due(self) -> float | None:
        """When a token must be renewed."""
        return min((renew for _, renew in self._tokens.values()), default=None)

    async def _renew_tokens(self, pod: Object, volume: Object) -> None:
        metadata = pod["metadata"]
        for audience, seconds in content.tokens_wanted(volume):
            known = self._tokens.get((audience, seconds))
            now = self._host.now()
            if known is not None and now < known[1]:
                continue
            request: Object = {
                "audiences": [audience] if audience else [],
                "expirationSeconds": seconds,
                "boundObjectRef": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                },
            }
            account = pod["spec"].get("serviceAccountName") or "default"
            answer = await self._host.client.token(account, metadata["namespace"], request)
            ends = parse_time(answer["status"]["expirationTimestamp"]).timestamp()
            self._tokens[(audience, seconds)] = (answer["status"]["token"], now + (ends - now) * _USED_BEFORE_RENEWAL)

    async def _claimed(self, pod: Object, volume: Object) -> Object | None:
        source = volume.get("persistentVolumeClaim")
        if source is None:
            return None
        namespace, name = pod["metadata"]["namespace"], source["claimName"]
        try:
            claim = await self._host.client.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)
            bound = section(claim, "spec").get("volumeName")
            if not bound:
                # Any folder chosen here could belong to another claim of this name tomorrow.
                raise VolumeError(f"error processing PVC {namespace}/{name}: PVC is not bound")
            return (await self._host.client.get(_VOLUMES, bound))["spec"]
        except NotFound as error:
            raise VolumeError(f"error processing PVC {namespace}/{name}: {error}") from error
