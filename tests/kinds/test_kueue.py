from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tools.crds import kueue

from rayward.kinds import crds, resources
from rayward.kinds.kueue import ClusterQueue, Workload
from rayward.kinds.kueue.queues import ClusterQueueSpec
from rayward.kube.core.resource import Resource
from tests.apiserver.inprocess import serving
from tests.kinds.test_crds import _install
from tests.kube.real import build

_KINDS = [
    value for value in vars(resources).values() if isinstance(value, Resource) and value.group == resources.KUEUE_GROUP
]
_BASE = "/apis/kueue.x-k8s.io/v1beta2"


@pytest.mark.parametrize("plural", crds.QUEUEING_PLURALS)
def test_v1beta2_alone_is_served_and_nothing_is_converted(plural: str) -> None:
    spec = crds.manifest(plural)["spec"]
    assert [(version["name"], version["served"], version["storage"]) for version in spec["versions"]] == [
        ("v1beta2", True, True)
    ]
    assert "conversion" not in spec


@pytest.mark.parametrize("resource", _KINDS, ids=str)
def test_each_collection_is_the_one_of_its_definition(resource: Resource) -> None:
    spec = crds.manifest(resource.plural)["spec"]
    assert (spec["group"], spec["names"]["kind"]) == (resource.group, resource.kind)
    assert (spec["scope"] == "Namespaced") == resource.namespaced


def test_every_definition_has_a_collection() -> None:
    assert {resource.plural for resource in _KINDS} == set(crds.QUEUEING_PLURALS)


def test_printer_columns_are_kueues() -> None:
    columns = crds.manifest("workloads")["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns] == ["Queue", "Reserved in", "Admitted", "Finished", "Age"]


@pytest.mark.kube
def test_the_package_carries_what_kueues_module_defines() -> None:
    """After a new pin: python -m tools.crds.kueue."""
    try:
        source = kueue.module()
    except build.BuildError as error:
        pytest.skip(str(error))
    assert {plural: crds.manifest(plural) for plural in crds.QUEUEING_PLURALS} == kueue.wanted(source)


def _workload(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 1, "template": template}], **spec},
    }


@pytest.mark.anyio
async def test_the_embedded_server_serves_them_with_kueues_defaults_and_rules(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        for definition in crds.manifests(crds.QUEUEING_PLURALS):
            await _install(api, definition)
        made = await api.call(
            "POST",
            f"{_BASE}/clusterqueues",
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": {}},
        )
        assert made.code == 201, made.body
        assert msgspec.convert(made.body, ClusterQueue).spec == ClusterQueueSpec(stop_policy="None")
        workloads = f"{_BASE}/namespaces/default/workloads"
        made = await api.call("POST", workloads, _workload())
        assert made.code == 201, made.body
        assert msgspec.convert(made.body, Workload).spec.active
        pod_set = made.body["spec"]["podSets"][0]
        refused = await api.call(
            "POST", workloads, _workload(podSets=[{**pod_set, "name": f"p{n}"} for n in range(19)])
        )
        assert refused.code == 422
        assert "spec.podSets" in refused.body["message"]
