"""Nobody but the gate opens the gate."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.kueue import names
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import ApiError, Forbidden
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import (
    VALIDATING_ADMISSION_POLICIES,
    VALIDATING_ADMISSION_POLICY_BINDINGS,
    Resource,
)
from rayward.quota.gate.policy import manifests
from tests.quota.gate.stage import GateStage, queued_service

pytestmark = pytest.mark.anyio

_LABELS = {"ours": labels.QUEUE_NAME, "kueues": names.QUEUE_NAME}

_RESOURCES = {
    "ValidatingAdmissionPolicy": VALIDATING_ADMISSION_POLICIES,
    "ValidatingAdmissionPolicyBinding": VALIDATING_ADMISSION_POLICY_BINDINGS,
}


async def _guarded(ray: GateStage) -> None:
    """The policies, for this namespace alone: tests share the server."""
    for body in manifests(["system:serviceaccount:rayward-system:rayward-operator"]):
        name = f"{body['metadata']['name']}-{ray.namespace}"
        body["metadata"]["name"] = name
        if body["kind"].endswith("Binding"):
            selector = {"matchLabels": {"kubernetes.io/metadata.name": ray.namespace}}
            body["spec"] |= {"policyName": name, "matchResources": {"namespaceSelector": selector}}
        await ray.client.apply(_RESOURCES[body["kind"]], body, field_manager="tests")


async def _label(ray: GateStage, resource: Resource, name: str, **tags: str | None) -> None:
    change = {"metadata": {"labels": {_LABELS[tag]: value for tag, value in tags.items()}}}
    await ray.client.patch(resource, name, change, PatchType.MERGE, ray.namespace)


async def test_a_grant_is_refused_from_anybody_else_and_may_be_removed_by_all(ray: GateStage) -> None:
    await ray.queue(1)
    await _guarded(ray)
    await ray.create_cluster("one")

    async def annotate(value: str | None) -> None:
        change = {"metadata": {"annotations": {labels.ADMITTED: value}}}
        await ray.client.patch(RAY_CLUSTERS, "one", change, PatchType.MERGE, ray.namespace)

    async def refused() -> bool:
        try:
            await annotate("{}")
        except ApiError as error:
            return "written by the quota gate only" in error.message
        await annotate(None)
        return False

    await ray.eventually(refused)
    with pytest.raises(Forbidden, match="cannot be changed"):
        await _label(ray, RAY_CLUSTERS, "one", ours=None)
    await annotate(None)


async def test_nobody_takes_a_service_out_of_its_queue_and_its_next_release_past_the_gate(ray: GateStage) -> None:
    await ray.queue(1)
    await _guarded(ray)
    await ray.create(queued_service())

    async def refused() -> bool:
        try:
            await _label(ray, RAY_SERVICES, "svc", ours=None)
        except Forbidden as error:
            return "cannot be removed" in error.message
        await _label(ray, RAY_SERVICES, "svc", ours="q")
        return False

    await ray.eventually(refused)
    await _label(ray, RAY_SERVICES, "svc", ours="another")
    try:
        await _label(ray, RAY_SERVICES, "svc", kueues="q", ours=None)
    except Forbidden as error:
        # Where Kueue runs, its own webhook lets nobody give a queue of its to what runs.
        if "field is immutable" not in error.message:
            raise
        return
    with pytest.raises(Forbidden, match="cannot be removed"):
        await _label(ray, RAY_SERVICES, "svc", kueues="")
