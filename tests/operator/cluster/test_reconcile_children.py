"""The operator on an API server: what a cluster has beside its pods, and whose objects it leaves alone."""

from __future__ import annotations

from typing import Final

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.api import Client
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.resource import (
    INGRESSES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from tests.operator.stage import GROUPS, Object, Stage, condition, manifest, put, template

pytestmark = pytest.mark.anyio

_USERS: Final[dict[Resource, Object]] = {
    SECRETS: {"stringData": {"auth_token": "chosen"}},
    SERVICE_ACCOUNTS: {"automountServiceAccountToken": True},
    ROLES: {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]},
}


async def _users_own(ray: Stage, resource: Resource) -> Object:
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "plain"}}
    return await ray.client.create(resource, {**body, **_USERS[resource]}, ray.namespace)


async def _named(ray: Stage, resource: Resource, name: str = "plain") -> Object:
    return await ray.client.get(resource, name, ray.namespace)


async def test_objects_of_the_users_own_are_neither_changed_nor_deleted(ray: Stage) -> None:
    theirs = {resource: await _users_own(ray, resource) for resource in _USERS}
    async with ray.operator():
        await ray.create(manifest(enableInTreeAutoscaling=True, authOptions={"mode": "token"}))
        failed = await ray.until_condition("ReplicaFailure", status="True")
        assert failed["reason"] == "FailedCreateRole"
        assert "is not owned by this RayCluster" in failed["message"]
        assert f"kubectl label role plain -n {ray.namespace} ray.io/cluster=plain" in failed["message"]
        await ray.until_reasons("FailedToCreateRole")
        # With the name free again all that is the cluster's own comes to be; the rest is used as it is.
        await ray.client.delete(ROLES, "plain", ray.namespace)
        await ray.until_pods(3)
        assert condition(await ray.cluster(), "ReplicaFailure") == {}
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace)

        async def gone() -> bool:
            left = [await ray.objects(resource) for resource in (RAY_CLUSTERS, PODS, ROLES, ROLE_BINDINGS)]
            return not any(left)

        await ray.eventually(gone)
    for resource in (SECRETS, SERVICE_ACCOUNTS):
        assert await _named(ray, resource) == theirs[resource]


async def test_what_an_earlier_cluster_left_behind_becomes_the_clusters(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(authOptions={"mode": "token"}))
        await ray.until_pods(3)
        before = [await _named(ray, SECRETS), await _named(ray, SERVICES, "plain-head-svc")]
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace, propagation_policy="Orphan")

        async def orphaned() -> bool:
            left = [await _named(ray, SECRETS), await _named(ray, SERVICES, "plain-head-svc"), *await ray.pods()]
            return await ray.objects(RAY_CLUSTERS) == [] and not any(
                each["metadata"].get("ownerReferences") for each in left
            )

        await ray.eventually(orphaned)
        for pod in await ray.pods():
            await ray.client.delete(PODS, pod["metadata"]["name"], ray.namespace)
        made = await ray.create(manifest(authOptions={"mode": "token"}))
        await ray.until_pods(3)
        after = [await _named(ray, SECRETS), await _named(ray, SERVICES, "plain-head-svc")]
    assert [each["metadata"]["uid"] for each in after] == [each["metadata"]["uid"] for each in before]
    assert after[0]["data"] == before[0]["data"]
    owners = [owner["uid"] for each in after for owner in each["metadata"]["ownerReferences"]]
    assert owners == [made["metadata"]["uid"]] * 2


async def test_a_child_that_loses_its_label_gets_it_back_and_the_status_goes_on(ray: Stage) -> None:
    async with ray.operator():
        await ray.create(manifest(enableInTreeAutoscaling=True, authOptions={"mode": "token"}))
        await ray.until_pods(3)
        for resource in (ROLES, SECRETS):
            change = {"metadata": {"labels": {labels.CLUSTER: None}}}
            await ray.client.patch(resource, "plain", change, PatchType.MERGE, ray.namespace)

        async def labelled() -> bool:
            found = [await _named(ray, resource) for resource in (ROLES, SECRETS)]
            return all((each["metadata"].get("labels") or {}).get(labels.CLUSTER) == "plain" for each in found)

        await ray.eventually(labelled)
        await ray.patch(put(f"{GROUPS}/0/replicas", 3))
        await ray.until_pods(4)


async def test_a_claim_that_nobody_owns_is_used_and_the_status_goes_on(ray: Stage) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "plain-gcs-pvc"}, "spec": spec}
    claim = await ray.client.create(PERSISTENT_VOLUME_CLAIMS, body, ray.namespace)
    tried: list[Request] = []

    def observe(request: Request, status: int) -> None:
        if request.method == "POST" and PERSISTENT_VOLUME_CLAIMS.plural in request.target:
            tried.append(request)

    async with Client.connect(ray.access, observe=observe) as client, ray.operator(client):
        storage = {"backend": "rocksdb", "storage": {"deletionPolicy": "Retain"}}
        await ray.create(manifest(gcsFaultToleranceOptions=storage))
        await ray.until_pods(3)
    # Once for each thing that happens, and not for ever.
    assert len(tried) < 50
    found = await _named(ray, PERSISTENT_VOLUME_CLAIMS, "plain-gcs-pvc")
    assert found["metadata"]["uid"] == claim["metadata"]["uid"]
    assert "ownerReferences" not in found["metadata"]


async def test_what_the_spec_takes_back_is_taken_from_services_and_ingresses(ray: Stage) -> None:
    head = {
        "rayStartParams": {},
        "template": template(),
        "enableIngress": True,
        "ingressOptions": {"host": "ray.example", "tls": [{"hosts": ["ray.example"], "secretName": "cert"}]},
        "headService": {"metadata": {"labels": {"team": "a"}}, "spec": {"sessionAffinity": "ClientIP"}},
    }
    annotations = {"kubernetes.io/ingress.class": "nginx", "nginx/rewrite": "/"}
    async with ray.operator():
        await ray.create(
            manifest(headGroupSpec=head, headServiceAnnotations={"a": "1"}, metadata={"annotations": annotations})
        )
        await ray.until_pods(3)
        (service,) = await ray.objects(SERVICES)
        (ingress,) = await ray.objects(INGRESSES)
        assert ingress["spec"]["ingressClassName"] == "nginx"
        for resource, found in ((SERVICES, service), (INGRESSES, ingress)):
            others = {"metadata": {"annotations": {"others": "stays"}}}
            await ray.client.patch(resource, found["metadata"]["name"], others, PatchType.MERGE, ray.namespace)
        await ray.patch(
            {
                "metadata": {"annotations": dict.fromkeys(annotations)},
                "spec": {
                    "headServiceAnnotations": None,
                    "headGroupSpec": {
                        "ingressOptions": {"tls": None},
                        "headService": {"metadata": {"labels": None}, "spec": {"sessionAffinity": None}},
                    },
                },
            }
        )

        async def taken_back() -> bool:
            (service,) = await ray.objects(SERVICES)
            (ingress,) = await ray.objects(INGRESSES)
            of_both = {**service["metadata"]["annotations"], **ingress["metadata"]["annotations"]}
            return (
                not {"a", "nginx/rewrite"} & of_both.keys()
                and "team" not in service["metadata"]["labels"]
                and service["spec"]["sessionAffinity"] == "None"
                and not {"tls", "ingressClassName"} & ingress["spec"].keys()
            )

        await ray.eventually(taken_back)
        await ray.until_pods(3)
        for resource, before in ((SERVICES, service), (INGRESSES, ingress)):
            (after,) = await ray.objects(resource)
            assert after["metadata"]["uid"] == before["metadata"]["uid"]
            assert after["metadata"]["annotations"]["others"] == "stays"
            if resource == SERVICES:
                assert after["spec"]["clusterIP"] == before["spec"]["clusterIP"]


async def test_a_head_service_that_another_operator_made_keeps_its_address(ray: Stage) -> None:
    cluster = await ray.create(manifest())
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "plain", "uid": cluster["metadata"]["uid"]}
    metadata = {
        "name": "plain-head-svc",
        "labels": {labels.CLUSTER: "plain", labels.NODE_TYPE: labels.HEAD},
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }
    spec = {"type": "NodePort", "selector": {labels.CLUSTER: "plain"}, "ports": [{"name": "dashboard", "port": 8265}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    before = await ray.client.create(SERVICES, body, ray.namespace)

    async def mended(annotation: str | None) -> bool:
        (service,) = await ray.objects(SERVICES)
        assert service["metadata"]["uid"] == before["metadata"]["uid"]
        assert service["spec"]["clusterIP"] == before["spec"]["clusterIP"]
        assert service["spec"]["type"] == "NodePort"
        ports = {port["name"]: port.get("nodePort") for port in service["spec"]["ports"]}
        assert ports["dashboard"] == before["spec"]["ports"][0]["nodePort"]
        selects = service["spec"]["selector"].get(labels.NODE_TYPE) == labels.HEAD
        told = (service["metadata"].get("annotations") or {}).get("a")
        return "gcs-server" in ports and selects and told == annotation

    async with ray.operator():
        await ray.until_pods(3)
        await ray.eventually(lambda: mended(None))
        await ray.patch({"spec": {"headServiceAnnotations": {"a": "1"}}})
        await ray.eventually(lambda: mended("1"))
        # What the spec asks for later comes.
        await ray.patch({"spec": {"headGroupSpec": {"serviceType": "LoadBalancer"}}})

        async def balanced() -> bool:
            found = await ray.objects(SERVICES)
            return [each["spec"]["type"] for each in found] == ["LoadBalancer"]

        await ray.eventually(balanced)
