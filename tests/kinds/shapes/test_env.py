"""Environment variables."""

from __future__ import annotations

import pytest

from rayward.kinds import shapes
from tests.kinds.shapes.sample import Object, cluster, ray, template, variables


def test_a_worker_knows_its_head_its_cluster_and_itself() -> None:
    made = cluster(head={"rayStartParams": {"port": "1234"}})

    assert variables(ray(shapes.worker_pod(made, made.groups[0], "w"))) | {"KUBERAY_GEN_RAY_START_CMD": ""} == {
        "FQ_RAY_IP": "demo-head-svc.lab.svc.cluster.local",
        "RAY_IP": "demo-head-svc",
        "RAY_CLUSTER_NAME": {"fieldRef": {"fieldPath": "metadata.labels['ray.io/cluster']"}},
        "RAY_CLUSTER_NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        "RAY_CLOUD_INSTANCE_ID": {"fieldRef": {"fieldPath": "metadata.name"}},
        "RAY_NODE_TYPE_NAME": {"fieldRef": {"fieldPath": "metadata.labels['ray.io/group']"}},
        "KUBERAY_GEN_RAY_START_CMD": "",
        "RAY_PORT": "1234",
        "RAY_ADDRESS": "demo-head-svc.lab.svc.cluster.local:1234",
        "RAY_USAGE_STATS_KUBERAY_IN_USE": "1",
        "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE": "1",
    }


def test_the_head_finds_itself_and_says_who_made_it() -> None:
    found = variables(ray(shapes.head_pod(cluster(), "h")))

    assert found["RAY_ADDRESS"] == "127.0.0.1:6379"
    assert found["RAY_USAGE_STATS_EXTRA_TAGS"] == "kuberay_version=rayward;kuberay_crd=RayCluster"
    assert "FQ_RAY_IP" not in found


@pytest.mark.parametrize("name", ["RAY_PORT", "RAY_ADDRESS", "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE"])
def test_the_users_own_stays(name: str) -> None:
    made = cluster(head={"template": template({"env": [{"name": name, "value": "mine"}]})})

    found: list[Object] = ray(shapes.head_pod(made, "h"))["env"]

    assert [variable for variable in found if variable["name"] == name] == [{"name": name, "value": "mine"}]


def test_a_services_pods_fail_early() -> None:
    made = cluster(labels={"ray.io/originated-from-crd": "RayService"})

    found = variables(ray(shapes.head_pod(made, "h")))

    assert found["RAY_gcs_server_request_timeout_seconds"] == "5"
    assert found["RAY_USAGE_STATS_EXTRA_TAGS"].endswith("kuberay_crd=RayService")


def test_init_containers_know_the_head() -> None:
    made = cluster(head={"template": template(initContainers=[{"name": "before", "env": [{"name": "A"}]}])})

    before = shapes.head_pod(made, "h")["spec"]["initContainers"][0]

    assert [variable["name"] for variable in before["env"]] == ["A", "FQ_RAY_IP", "RAY_IP"]
