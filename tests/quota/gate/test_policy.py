"""Nobody but the gate opens the gate."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.errors import ApiError, Forbidden
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS
from rayward.quota.gate.policy import manifests
from tests.quota.gate.stage import GateStage

pytestmark = pytest.mark.anyio

_RESOURCES = {
    "ValidatingAdmissionPolicy": VALIDATING_ADMISSION_POLICIES,
    "ValidatingAdmissionPolicyBinding": VALIDATING_ADMISSION_POLICY_BINDINGS,
}


async def test_a_grant_is_refused_from_anybody_else_and_may_be_removed_by_all(ray: GateStage) -> None:
    await ray.queue(1)
    for body in manifests(["system:serviceaccount:rayward-system:rayward-operator"]):
        name = f"{body['metadata']['name']}-{ray.namespace}"
        body["metadata"]["name"] = name
        if body["kind"].endswith("Binding"):
            # tests share the server
            selector = {"matchLabels": {"kubernetes.io/metadata.name": ray.namespace}}
            body["spec"] |= {"policyName": name, "matchResources": {"namespaceSelector": selector}}
        await ray.client.apply(_RESOURCES[body["kind"]], body, field_manager="tests")
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
        await ray.client.patch(
            RAY_CLUSTERS, "one", {"metadata": {"labels": {labels.QUEUE_NAME: None}}}, PatchType.MERGE, ray.namespace
        )
    await annotate(None)
