"""A namespace whose Ray objects are guarded, by the admission policy or by the webhook."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import (
    VALIDATING_ADMISSION_POLICIES,
    VALIDATING_ADMISSION_POLICY_BINDINGS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
from rayward.quota.gate.policy import NAME, manifests
from rayward.quota.gate.serving import Webhook, WebhookSettings
from tests.operator.stage import Stage

OPERATOR: Final = "system:serviceaccount:rayward-system:rayward-operator"
_RESOURCES: Final = {
    "ValidatingAdmissionPolicy": VALIDATING_ADMISSION_POLICIES,
    "ValidatingAdmissionPolicyBinding": VALIDATING_ADMISSION_POLICY_BINDINGS,
}


async def guard_by_policy(ray: Stage) -> None:
    """The policies, for this namespace alone: tests share the server."""
    for body in manifests([OPERATOR]):
        name = f"{body['metadata']['name']}-{ray.namespace}"
        body["metadata"]["name"] = name
        if body["kind"].endswith("Binding"):
            selector = {"matchLabels": {"kubernetes.io/metadata.name": ray.namespace}}
            body["spec"] |= {"policyName": name, "matchResources": {"namespaceSelector": selector}}
        await ray.client.apply(_RESOURCES[body["kind"]], body, field_manager="tests")


@asynccontextmanager
async def as_operator(ray: Stage) -> AsyncGenerator[Client]:
    """A client whose user the policies know as the operator's; ``ray.client`` is somebody else."""
    headers = (("Impersonate-User", OPERATOR), ("Impersonate-Group", "system:masters"))
    async with Client.connect(msgspec.structs.replace(ray.access, headers=headers)) as client:
        yield client


@asynccontextmanager
async def webhook(ray: Stage, *, always: bool) -> AsyncGenerator[None]:
    """The webhook as the operator serves it; what the API server was told stays when the block ends."""
    async with as_operator(ray) as client:
        made = await Webhook.make(client, WebhookSettings("127.0.0.1", 0, always=always), ray.namespace)
        async with made.serving():
            yield


async def unregister(ray: Stage) -> None:
    """The webhook is for all namespaces, and tests share the server."""
    try:
        await ray.client.delete(VALIDATING_WEBHOOK_CONFIGURATIONS, NAME)
    except NotFound:
        return


async def until_guarded(ray: Stage, cluster: str) -> None:
    """Servers read policies and configurations a moment after they are written."""
    tries = itertools.count()

    async def refused() -> bool:
        # another value each time: one that went through before the rules were read changes nothing any more
        change = {"metadata": {"annotations": {labels.ADMITTED: f"{{}}{' ' * next(tries)}"}}}
        try:
            await ray.client.patch(RAY_CLUSTERS, cluster, change, PatchType.MERGE, ray.namespace)
        except ApiError as error:
            return "written by the quota gate only" in error.message
        return False

    await ray.eventually(refused)
