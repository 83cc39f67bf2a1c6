"""A server, a simulated kubelet, simulated Ray and our operator, for one RayService."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import SERVICES
from tests.operator.service.heads import PodHeads
from tests.operator.stage import Object, Stage, condition, template

NAME = "svc"


def config(path: str = "app:one", **more: Any) -> str:
    """A serve config of one application."""
    return json.dumps({"applications": [{"name": "app", "import_path": path, "route_prefix": "/", **more}]})


def cluster_config(image: str = "rayproject/ray:1", groups: list[Object] | None = None, **spec: Any) -> Object:
    """A cluster of one head with a port for Serve."""
    head = template(image=image)
    head["spec"]["containers"][0]["ports"] = [{"name": "serve", "containerPort": 8000}]
    return {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {}, "template": head},
        "workerGroupSpecs": groups or [],
        **spec,
    }


def service(cluster: Object | None = None, serve: Any = None, **spec: Any) -> Object:
    """A RayService whose Serve config is changed in place, also where its import path changes: the tests' programs
    are told apart by that."""
    given = spec.pop("metadata", {})
    annotations = {labels.SERVE_CONFIG_UPGRADE: "InPlace", **given.get("annotations", {})}
    annotations = {name: value for name, value in annotations.items() if value is not None}
    metadata = {"name": NAME, **given, "annotations": annotations}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": metadata,
        "spec": {
            "serveConfigV2": config() if serve is None else serve,
            "rayClusterConfig": cluster or cluster_config(),
            **spec,
        },
    }


class ServiceStage(Stage):
    """One namespace with simulated Ray in its head pods."""

    def __init__(self, client: Client, access: Access, namespace: str) -> None:
        super().__init__(client, access, namespace)
        self.heads = self.reach = PodHeads()

    async def create(self, manifest: Object) -> Object:
        return await self.client.create(RAY_SERVICES, manifest, self.namespace)

    async def service(self) -> Object:
        """The RayService as it is."""
        return await self.client.get(RAY_SERVICES, NAME, self.namespace)

    async def edit(self, **spec: Any) -> Object:
        """Change fields of its spec; a given ``rayClusterConfig`` replaces the whole."""
        change = [{"op": "add", "path": f"/spec/{field}", "value": value} for field, value in spec.items()]
        return await self.client.patch(RAY_SERVICES, NAME, change, PatchType.JSON, self.namespace)

    async def annotate(self, **annotations: str | None) -> Object:
        """Set annotations of ours, by their last word."""
        named = {f"rayward.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
        change = {"metadata": {"annotations": named}}
        return await self.client.patch(RAY_SERVICES, NAME, change, PatchType.MERGE, self.namespace)

    async def clusters(self) -> list[Object]:
        """Its Ray clusters that nobody deletes, oldest first."""
        found = [each for each in await self.objects(RAY_CLUSTERS) if "deletionTimestamp" not in each["metadata"]]
        return sorted(found, key=lambda each: (each["metadata"]["creationTimestamp"], each["metadata"]["name"]))

    async def names(self) -> set[str]:
        """The names of those."""
        return {each["metadata"]["name"] for each in await self.clusters()}

    async def serving(self) -> str:
        """The cluster that gets the requests; empty while none does."""
        with suppress(NotFound):
            found = await self.client.get(SERVICES, f"{NAME}-serve-svc", self.namespace)
            return found["spec"]["selector"][labels.CLUSTER]
        return ""

    async def conditions(self, kind: str) -> tuple[str, str]:
        """Status and reason of one condition."""
        found = condition(await self.service(), kind)
        return found.get("status", ""), found.get("reason", "")

    async def until(self, kind: str, status: str, reason: str | None = None) -> Object:
        """Wait for a condition of this generation, and give it back."""
        found: Object = {}

        async def holds() -> bool:
            nonlocal found
            whole = await self.service()
            found = condition(whole, kind)
            if found.get("observedGeneration") != whole["metadata"]["generation"] or found["status"] != status:
                return False
            return reason is None or found["reason"] == reason

        await self.eventually(holds)
        return found

    async def until_ready(self) -> None:
        """Wait until it serves, whichever generation that is."""

        async def holds() -> bool:
            return (await self.conditions("Ready"))[0] == "True"

        await self.eventually(holds)

    async def until_settled(self, clusters: int = 1) -> str:
        """Wait until this generation's release serves and so many clusters are left; the name of the one that does."""

        async def holds() -> bool:
            found = await self.service()
            generation = found["metadata"]["generation"]
            told = (found.get("status") or {}).get("observedGeneration") == generation
            progressing, ready = condition(found, "Progressing"), condition(found, "Ready")
            return (
                told
                and progressing.get("reason") == "NewReleaseAvailable"
                and progressing["observedGeneration"] == generation
                and ready["status"] == "True"
                and len(await self.names()) == clusters
            )

        await self.eventually(holds)
        return await self.serving()

    async def until_names(self, holds: Callable[[set[str]], bool]) -> set[str]:
        """Wait for a set of clusters."""

        async def seen() -> bool:
            return holds(await self.names())

        await self.eventually(seen)
        return await self.names()

    async def _scene(self) -> list[Any]:
        services = [(each["metadata"]["name"], each.get("status")) for each in await self.objects(RAY_SERVICES)]
        return [services, await self.serving(), *await super()._scene()]
