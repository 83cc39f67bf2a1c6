"""Objects that are not as they were asked for: each scene brings one about, under the running operator."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

from rayward import AsyncClient
from rayward.changes.intents import SetImage
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS, RESOURCE_QUOTAS
from tests.operator.job.stage import JobHeads, ray_job
from tests.operator.mortal import mortal
from tests.operator.service.stage import ServiceStage, cluster_config, config, service
from tests.operator.stage import Object, Stage, condition, group, manifest, put
from tests.playbook.failing import FAILING
from tests.quota.gate.stage import GateStage

Scene = Callable[[ServiceStage], Awaitable[str]]
"""Brings a state about and gives back the object's name; its operator has been stopped by then."""


async def _cluster(ray: ServiceStage, **spec: Any) -> Object:
    return await Stage.create(ray, manifest(groups=[group(replicas=1)], **spec))


async def _head(ray: ServiceStage) -> Object:
    async def there() -> bool:
        return bool(await ray.pods("headgroup"))

    await ray.eventually(there)
    return (await ray.pods("headgroup"))[0]


async def finalizer(ray: ServiceStage) -> str:
    async with ray.operator():
        await _cluster(ray, metadata={"finalizers": ["example.com/archive"]})
        await ray.until_pods(2)
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace)

        async def gone() -> bool:
            return "deletionTimestamp" in (await ray.cluster())["metadata"]

        await ray.eventually(gone)
    return "raycluster/plain"


async def deletion(ray: ServiceStage) -> str:
    async with ray.operator():
        await _cluster(ray)
        await ray.until_pods(2)
        ray.kubelet.ends = lambda _pod: False
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace, propagation_policy="Foreground")

        async def terminating() -> bool:
            return any("deletionTimestamp" in pod["metadata"] for pod in await ray.objects(PODS))

        await ray.eventually(terminating)
    return "raycluster/plain"


async def elsewhere(ray: ServiceStage) -> str:
    await _cluster(ray, managedBy="kueue.x-k8s.io/multikueue")
    return "raycluster/plain"


async def no_operator(ray: ServiceStage) -> str:
    await _cluster(ray)
    return "raycluster/plain"


async def transaction(ray: ServiceStage) -> str:
    async with ray.operator():
        await _cluster(ray)
        await ray.until_pods(2)
        # the first write is the revision from before, the second suspends
        client, _ = mortal(ray.client, 3, "after", lambda request: request.method == "GET")
        with contextlib.suppress(asyncio.CancelledError):
            await AsyncClient(client, namespace=ray.namespace).reassemble("raycluster/plain", SetImage("x:2"))
        await ray.until_state("suspended")
    return "raycluster/plain"


async def suspended(ray: ServiceStage) -> str:
    async with ray.operator():
        await _cluster(ray, suspend=True)
        await ray.until_state("suspended")
    return "raycluster/plain"


async def rejected(ray: ServiceStage) -> str:
    async with ray.operator():
        await ray.create(service(serve="applications: 3"))
        await ray.until("Stalled", "True")
    return "rayservice/svc"


async def quota(ray: ServiceStage) -> str:
    body = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "0"}}, "status": {"hard": {"pods": "0"}}}
    await ray.client.create(RESOURCE_QUOTAS, body, ray.namespace)
    status = {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}
    await ray.client.patch(RESOURCE_QUOTAS, "few", status, PatchType.MERGE, ray.namespace, subresource="status")
    async with ray.operator():
        await _cluster(ray)

        async def told() -> bool:
            return "exceeded quota" in str((await ray.cluster()).get("status"))

        await ray.eventually(told)
    return "raycluster/plain"


async def not_admitted(ray: ServiceStage) -> str:
    queues = GateStage(ray.client, ray.access, ray.namespace)
    await queues.install(ray.client)
    await queues.queue("4")
    async with queues.operator():
        await queues.create_cluster("first", 3)
        await queues.until_pods_of("first", 1)
        await queues.create_cluster("plain", 2)

        await queues.until_workload("plain", "QuotaReserved", "False")
        await queues.until_quota("plain", "False")
    return "raycluster/plain"


async def forbidden(ray: ServiceStage) -> str:
    body = manifest(groups=[])
    body["spec"]["headGroupSpec"]["template"]["spec"]["serviceAccountName"] = "nope"
    async with ray.operator():
        await Stage.create(ray, body)
        await ray.until_condition("Ready", status="False", reason="FailedCreateHeadPod")
    return "raycluster/plain"


async def serve_starting(ray: ServiceStage) -> str:
    async with ray.operator():
        await ray.create(service(serve=config("app:hangs")))
        await ray.until("Reconciling", "True", "ServeDeploying")
    return "rayservice/svc"


async def deploy_failed(ray: ServiceStage) -> str:
    async with ray.operator():
        await ray.create(service(serve=config("app:broken")))

        async def failed() -> bool:
            return (await ray.conditions("Ready"))[1] == "ServeDeployFailed"

        await ray.eventually(failed)
    return "rayservice/svc"


async def _upgrading(ray: ServiceStage, image: str = "rayproject/ray:b") -> None:
    await ray.create(service(metadata={"annotations": {labels.PAUSE: "true"}}))

    async def waits() -> bool:
        return (await ray.conditions("Progressing"))[1] == "Paused"

    await ray.eventually(waits)
    await ray.annotate(promote="true")
    await ray.until_settled()
    await ray.edit(rayClusterConfig=cluster_config(image))


async def aborted(ray: ServiceStage) -> str:
    async with ray.operator():
        await _upgrading(ray)
        await ray.until("Progressing", "True", "Paused")
        await ray.annotate(abort="true")
        await ray.until("Progressing", "False", "Aborted")
    return "rayservice/svc"


async def paused(ray: ServiceStage) -> str:
    async with ray.operator():
        await _upgrading(ray)
        await ray.until("Progressing", "True", "Paused")
    return "rayservice/svc"


async def given_up(ray: ServiceStage) -> str:
    async with ray.operator():
        await ray.create(service())
        await ray.until_settled()
        await ray.edit(rayClusterConfig=cluster_config("rayproject/ray:b"), serveConfigV2=config("app:broken"))
        await ray.until("Progressing", "False")
        await ray.until_names(lambda names: len(names) == 1)
    return "rayservice/svc"


async def drifted(ray: ServiceStage) -> str:
    async with ray.operator():
        await ray.create(service(upgradeStrategy={"type": "None"}))
        await ray.until_settled()
        await ray.edit(rayClusterConfig=cluster_config("rayproject/ray:b"))
        await ray.until("Drifted", "True")
    return "rayservice/svc"


async def job_failed(ray: ServiceStage) -> str:
    ray.heads = ray.reach = JobHeads()
    async with ray.operator():
        await ray.client.create(RAY_JOBS, ray_job("fail"), ray.namespace)

        async def failed() -> bool:
            found = await ray.client.get(RAY_JOBS, "train", ray.namespace)
            return (found.get("status") or {}).get("jobDeploymentStatus") == "Failed"

        await ray.eventually(failed)
    return "rayjob/train"


async def edit_ignored(ray: ServiceStage) -> str:
    ray.heads = ray.reach = JobHeads()
    async with ray.operator():
        await ray.client.create(RAY_JOBS, ray_job("succeed"), ray.namespace)

        async def complete() -> bool:
            found = await ray.client.get(RAY_JOBS, "train", ray.namespace)
            return (found.get("status") or {}).get("jobDeploymentStatus") == "Complete"

        await ray.eventually(complete)
        await ray.client.patch(RAY_JOBS, "train", {"spec": {"entrypoint": "fail"}}, PatchType.MERGE, ray.namespace)

        async def ignored() -> bool:
            return condition(await ray.client.get(RAY_JOBS, "train", ray.namespace), "Stalled")["status"] == "True"

        await ray.eventually(ignored)
    return "rayjob/train"


async def held(ray: ServiceStage) -> str:
    async with ray.operator():
        await Stage.create(ray, manifest(groups=[group(replicas=5, maxReplicas=2)]))
        await ray.until_pods(3)
    return "raycluster/plain"


async def at_maximum(ray: ServiceStage) -> str:
    async with ray.operator():
        await Stage.create(ray, manifest(groups=[group(replicas=2, maxReplicas=2)], enableInTreeAutoscaling=True))
        await ray.until_pods(3)
    return "raycluster/plain"


async def starting(ray: ServiceStage) -> str:
    ray.kubelet.starts = lambda _pod: False
    async with ray.operator():
        await _cluster(ray)
        await ray.until_condition("Ready", status="False")
        await _head(ray)
    return "raycluster/plain"


async def as_asked(ray: ServiceStage) -> str:
    async with ray.operator():
        await _cluster(ray)
        await ray.until_pods(2)
        await ray.patch(put("/metadata/labels", {"team": "search"}))
    return "raycluster/plain"


SCENES: Final[dict[str, Scene]] = {
    **FAILING,
    "FinalizerHolds": finalizer,
    "DeletionInProgress": deletion,
    "ManagedElsewhere": elsewhere,
    "NoOperator": no_operator,
    "TransactionPending": transaction,
    "Suspended": suspended,
    "Rejected": rejected,
    "QuotaExceeded": quota,
    "NotAdmitted": not_admitted,
    "PodsForbidden": forbidden,
    "ServeStarting": serve_starting,
    "DeployFailed": deploy_failed,
    "Aborted": aborted,
    "GivenUp": given_up,
    "Paused": paused,
    "Drifted": drifted,
    "JobFailed": job_failed,
    "EditIgnored": edit_ignored,
    "HeldByBounds": held,
    "Starting": starting,
    "AtMaximum": at_maximum,
    "AsAsked": as_asked,
}
