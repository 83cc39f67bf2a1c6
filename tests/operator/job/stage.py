"""A server, a simulated kubelet, simulated Ray and our operator, for RayJobs."""

from __future__ import annotations

from typing import Any

from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import JOBS
from tests.operator.ray.jobs import Script
from tests.operator.ray.simulated import Reply, SimulatedHead
from tests.operator.service.heads import PodHeads
from tests.operator.stage import Object, Stage, condition, template

NAME = "train"
SCRIPTS = {
    "succeed": Script(pending_seconds=0.05, run_seconds=0.2, log="all good\n"),
    "fail": Script("FAILED", pending_seconds=0.05, run_seconds=0.2, exit_code=3, log="sorry\n"),
    "run": Script(pending_seconds=0.05, run_seconds=None, stop_seconds=0.1, log="working\n"),
}


def cluster_spec(image: str = "rayproject/ray:1", **spec: Any) -> Object:
    return {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {}, "template": template(image=image)},
        "workerGroupSpecs": [],
        **spec,
    }


def ray_job(entrypoint: str = "succeed", name: str = NAME, **spec: Any) -> Object:
    """A RayJob in HTTPMode."""
    metadata = {"name": name, **spec.pop("metadata", {})}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": metadata,
        "spec": {
            "entrypoint": entrypoint,
            "submissionMode": "HTTPMode",
            **({} if "clusterSelector" in spec else {"rayClusterSpec": cluster_spec()}),
            **spec,
        },
    }


class JobHeads(PodHeads):
    """Heads whose entrypoints do what their script says."""

    def find(self, place: Any) -> SimulatedHead:
        head = super().find(place)
        head.scripts.update(SCRIPTS)
        return head

    def runs(self) -> list[str]:
        """The id of every job that any head ever took."""
        return [name for head in self.heads.values() for name in head.all_submitted]


class JobStage(Stage):
    """One namespace with simulated Ray in its head pods."""

    def __init__(self, client: Client, access: Access, namespace: str) -> None:
        super().__init__(client, access, namespace)
        self.heads = self.reach = JobHeads()

    async def create(self, manifest: Object) -> Object:
        return await self.client.create(RAY_JOBS, manifest, self.namespace)

    async def job(self, name: str = NAME) -> Object:
        return await self.client.get(RAY_JOBS, name, self.namespace)

    async def edit(self, name: str = NAME, **spec: Any) -> Object:
        return await self.client.patch(RAY_JOBS, name, {"spec": spec}, PatchType.MERGE, self.namespace)

    async def until(self, phase: str, name: str = NAME) -> Object:
        """Wait for a jobDeploymentStatus; the RayJob."""
        found: Object = {}

        async def holds() -> bool:
            nonlocal found
            found = await self.job(name)
            return (found.get("status") or {}).get("jobDeploymentStatus") == phase

        await self.eventually(holds)
        return found

    async def until_job(self, status: str, name: str = NAME) -> Object:
        """Wait for a jobStatus; the RayJob."""
        found: Object = {}

        async def holds() -> bool:
            nonlocal found
            found = await self.job(name)
            return (found.get("status") or {}).get("jobStatus") == status

        await self.eventually(holds)
        return found

    async def submitter(self) -> Object:
        """Wait for the submitter's Job."""
        found: Object = {}

        async def made() -> bool:
            nonlocal found
            try:
                found = await self.client.get(JOBS, NAME, self.namespace)
            except NotFound:
                return False
            return True

        await self.eventually(made)
        return found

    def submit(self, submitter: Object, entrypoint: str) -> Reply:
        """What the submitter's pod does; Ray's answer."""
        container = submitter["spec"]["template"]["spec"]["containers"][0]
        variables = {each["name"]: each.get("value", "") for each in container["env"]}
        cluster = variables["RAY_DASHBOARD_ADDRESS"].partition("-head-svc.")[0]
        name = variables["RAY_JOB_SUBMISSION_ID"]
        body = f'{{"entrypoint": "{entrypoint}", "submission_id": "{name}"}}'.encode()
        return self.heads.of(cluster).answer("POST", "/api/jobs/", {}, body)

    async def clusters(self) -> list[str]:
        return [each["metadata"]["name"] for each in await self.objects(RAY_CLUSTERS)]

    async def condition(self, kind: str, name: str = NAME) -> tuple[str, str]:
        found = condition(await self.job(name), kind)
        return found.get("status", ""), found.get("reason", "")

    async def _scene(self) -> list[Any]:
        jobs = [(each["metadata"], each.get("status")) for each in await self.objects(RAY_JOBS)]
        return [jobs, self.heads.asked[-10:], *await super()._scene()]
