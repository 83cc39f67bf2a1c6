"""What is kept true around the clusters of a service: the ways to them, who takes requests, how large they are."""

from __future__ import annotations

from rayward.kinds import labels
from rayward.kinds.hashing import release_hash
from rayward.kinds.raycluster import Object
from rayward.kinds.rayservice import RayService
from rayward.kube.core.meta import is_controlled_by
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import SERVICES
from rayward.kube.core.service import Service
from rayward.kube.machinery.jsonvalue import entries
from rayward.operator.service import children, memory, scale
from rayward.operator.service.carry import Carrier
from rayward.operator.service.observe import Caches, Look
from rayward.operator.service.telling import Teller


class Upkeep:
    """The writes of one run that follow from what is, not from a decision."""

    def __init__(self, caches: Caches, service: RayService, look: Look, carrier: Carrier, teller: Teller) -> None:
        self._services = caches.clusters.services
        self._service = service
        self._namespace = service.metadata.namespace
        self._look = look
        self._carrier = carrier
        self._teller = teller
        self.troubles: list[str] = []
        """What stands in the way, in words for a condition."""

    async def cluster_services(self) -> None:
        """Each cluster has a way to its applications of its own."""
        for seen in self._look.clusters.values():
            if seen.cluster.deleting:
                continue
            body = children.cluster_serve_service(seen.cluster)
            if body is not None:
                found = self._services.get(Key(self._namespace, body["metadata"]["name"]))
                if self._may_write(found, seen.cluster):
                    await self._carrier.bring(body, found)

    async def point_services(self, cluster: str, *, selectors_only: bool) -> None:
        """Lead the stable services to a cluster; ``selectors_only`` keeps the rest of them as it is."""
        target = self._look.clusters[cluster].cluster
        serve = children.serve_service(self._service, target)
        if serve is None:
            self._teller.say(
                "Warning",
                "NoServePort",
                "the head's first container has no port named serve: add {name: serve, containerPort: 8000}",
            )
        for body in (serve, children.head_service(self._service, target)):
            if body is None:
                continue
            key = Key(self._namespace, body["metadata"]["name"])
            found = self._services.get(key)
            if not self._may_write(found, self._service):
                continue
            if found is not None and selectors_only:
                changed = await self._carrier.point(found, body["spec"].get("selector") or {})
            else:
                changed = await self._carrier.bring(body, found)
            if changed:
                verb = "Created" if found is None else "Updated"
                self._teller.say("Normal", f"{verb}Service", f"{verb} Service {key}")
        await self._drop_former_names()

    def _may_write(self, found: Service | None, owner: KubeObject) -> bool:
        """Whether a Service is ``owner``'s, or not there: one of somebody else with the same name is left alone."""
        if found is None or found.deleting or is_controlled_by(found, owner):
            return True
        message = f"Service {found.key} belongs to somebody else: delete it, or give serveService another name"
        self.troubles.append(message)
        self._teller.say("Warning", "ServiceNameTaken", message)
        return False

    async def _drop_former_names(self) -> None:
        """A serve service that the user gave another name leads to the same pods until the new one is there."""
        current = children.serve_service_name(self._service)
        if not any(found.metadata.name == current for found in self._look.serve_services):
            return
        for found in self._look.serve_services:
            if found.metadata.name != current and not found.deleting:
                await self._carrier.delete(SERVICES, found)
                self._teller.say("Normal", "DeletedService", f"Deleted Service {found.key}: it is called {current} now")

    async def resize(self, cluster: str, config: Object) -> None:
        """Sizes reach the cluster of the goal, whether it serves already or is on its way."""
        seen = self._look.clusters[cluster]
        whole = entries(config, "workerGroupSpecs")
        given = seen.cluster.metadata.annotation(memory.REPLICAS)
        wanted = self._service.spec.ray_cluster_config
        operations = scale.resize(wanted, whole, seen.cluster.spec, given)
        if not operations:
            return
        marks = {labels.SPEC_HASH: release_hash(wanted), labels.WORKER_GROUP_COUNT: str(len(whole))}
        operations += [
            {"op": "add", "path": f"/metadata/annotations/{name.replace('/', '~1')}", "value": value}
            for name, value in marks.items()
        ]
        await self._carrier.resize(seen.cluster, operations)
        self._teller.say("Normal", "UpdatedRayCluster", f"Updated RayCluster {seen.cluster.key}: sizes of its groups")

    async def label_heads(self) -> None:
        """A head takes requests while Serve's proxy on it is healthy, unless the user keeps heads out."""
        for seen in self._look.clusters.values():
            head = seen.head
            if head is None or seen.observation.serve is None:
                continue
            proxies = seen.observation.serve.proxies.values()
            healthy = any(
                proxy.node_instance_id == head.metadata.name and proxy.status == "HEALTHY" for proxy in proxies
            )
            wanted = str(healthy and not self._service.spec.exclude_head_pod_from_serve_svc).lower()
            if head.metadata.label(labels.SERVE) != wanted:
                await self._carrier.label_head(head, wanted)
