from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tools.crds.output import packed, wanted

from rayward.kinds import crds
from rayward.kube.client import verbs
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from tests.apiserver.inprocess import Api, serving
from tests.contract.kubectl import targets
from tests.kinds.clusters import Object, changed, manifest
from tests.kinds.fields import Fields, fields_by_version, kuberay_fields, recorded
from tests.kinds.judgements import BAD, GOOD, Judgement
from tests.kube.real import build
from tests.waiting import eventually

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

# Where KubeRay's CRD says more than ours, and why ours does not.
_LOOSER = {
    "serveConfigV2": "also takes an object",
    "gcsFaultToleranceOptions": "embedded storage needs no Redis; a rule asks for the address otherwise",
    "headService.status": "nobody writes it",
    "serveService.status": "nobody writes it",
    "jobTemplate.rayClusterSpec.headGroupSpec.headService.status": "nobody writes it",
}


@pytest.mark.parametrize("plural", crds.PLURALS)
def test_the_package_carries_what_the_generator_writes(plural: str) -> None:
    """After a change: python -m tools.crds."""
    assert crds.path_of(plural).read_bytes() == packed(wanted()[plural])


@pytest.mark.parametrize(
    ("plural", "version"), [(plural, version) for plural, versions in recorded().items() for version in versions]
)
def test_every_field_of_kuberays_is_there_and_means_the_same(plural: str, version: str) -> None:
    ours = fields_by_version(crds.manifest(plural))[version]
    assert _narrower(ours, recorded()[plural][version]) == {}


@pytest.mark.kube
def test_the_recording_is_of_kuberays_crds() -> None:
    """After a new pin: python -m tests.kinds.fields."""
    assert kuberay_fields(build.build() / "kuberay-crds") == recorded()


def _narrower(ours: Fields, theirs: Fields) -> dict[str, str]:
    """Fields that ours lacks, or of which it says something else."""
    found: dict[str, str] = {}
    for path, said in theirs.items():
        if any(f".{place}" in path for place in _LOOSER):
            continue
        if path not in ours:
            found[path] = "missing"
            continue
        for word in {*said, *ours[path]} - {"required", "enum"}:
            if said.get(word) != ours[path].get(word):
                found[path] = f"{word}: {said.get(word)} there, {ours[path].get(word)} here"
        if not set(ours[path].get("required", ())) <= {*said.get("required", ()), "rayClusterConfig"}:
            found[path] = "needs more"
        if not set(said.get("enum", ())) <= set(ours[path].get("enum", said.get("enum", ()))):
            found[path] = "allows less"
    return found


@pytest.mark.parametrize(
    ("plural", "paths"),
    [
        (
            "rayclusters",
            [
                ".spec.headGroupSpec.rayResources{}",
                ".spec.headGroupSpec.enableIngress",
                ".spec.headGroupSpec.ingressOptions.host",
                ".spec.workerGroupSpecs[].rayResources{}",
                ".spec.workerGroupSpecs[].priority",
                ".spec.autoscalerOptions.args[]",
                ".spec.gcsFaultToleranceOptions.storage.claimName",
                ".spec.networkPolicy.workerGroups[].egressRules[].to[].podSelector",
                ".spec.historyServerOptions.collectorOptions.env[].valueFrom",
                ".spec.tlsOptions.enabled",
                ".status.stateTransitionTimes{}",
            ],
        ),
        (
            "rayservices",
            [
                ".spec.serveDeploymentGraphSpec",
                ".spec.deploymentUnhealthyRestartThreshold",
                ".spec.suspend",
                ".status.status",
                ".status.appStatus.status",
                ".status.rayClusterName",
                ".status.deploymentStatuses[].status",
                ".status.startTime",
                ".status.endTime",
                ".status.activeServiceStatus.rayClusterStatus.head.podIP",
            ],
        ),
        (
            "rayjobs",
            [
                ".spec.submitterPodTemplate.spec.containers[].image",
                ".status.jobStatusCheckFailureStartTime",
                ".status.attempts[].exitCode",
                ".status.attempts[].logTail",
                ".status.conditions[].reason",
            ],
        ),
        (
            "raycronjobs",
            [
                ".spec.timeZone",
                ".spec.concurrencyPolicy",
                ".spec.startingDeadlineSeconds",
                ".spec.successfulJobsHistoryLimit",
                ".spec.failedJobsHistoryLimit",
                ".status.active[].name",
                ".status.conditions[].reason",
            ],
        ),
    ],
    ids=["rayclusters", "rayservices", "rayjobs", "raycronjobs"],
)
def test_newer_fields_and_those_of_the_interface_are_there(plural: str, paths: list[str]) -> None:
    assert set(paths) <= fields_by_version(crds.manifest(plural))["v1"].keys()


def test_clusters_print_seven_columns_and_three_more() -> None:
    columns = crds.manifest("rayclusters")["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns if not column.get("priority")] == [
        "desired workers",
        "available workers",
        "cpus",
        "memory",
        "gpus",
        "status",
        "age",
    ]
    assert [column["name"] for column in columns if column.get("priority")] == [
        "tpus",
        "head pod IP",
        "head service IP",
    ]


def test_services_print_kuberays_columns_and_what_becomes_of_the_last_edit() -> None:
    columns = crds.manifest("rayservices")["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns if not column.get("priority")] == [
        "service status",
        "num serve endpoints",
        "age",
        "progress",
    ]


def test_jobs_print_kuberays_columns_and_the_reason_on_demand() -> None:
    columns = crds.manifest("rayjobs")["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [(column["name"], column.get("priority", 0)) for column in columns] == [
        ("job status", 0),
        ("deployment status", 0),
        ("ray cluster name", 0),
        ("start time", 0),
        ("end time", 0),
        ("age", 0),
        ("reason", 1),
    ]
    columns = crds.manifest("raycronjobs")["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns] == ["schedule", "timezone", "last schedule", "age", "suspend"]


@pytest.mark.anyio
async def test_the_embedded_server_judges_manifests(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        for definition in crds.manifests():
            await _install(api, definition)
        for judgement in (*GOOD, *BAD):
            resource = judgement.resource
            path = f"/apis/ray.io/v1/namespaces/default/{resource.plural}?dryRun=All"
            answer = await api.call("POST", path, judgement.body)
            assert (answer.code == 201) == (not judgement.field), (judgement.name, answer.body)
            if judgement.field:
                told = answer.body["message"]
                assert f"{judgement.field}: " in told, (judgement.name, told)
                assert judgement.says in told, (judgement.name, told)


@pytest.mark.anyio
async def test_an_object_that_predates_a_rule_can_still_be_written(tmp_path: Path) -> None:
    """Its status, its finalizers: whoever takes over from another operator must not be stuck."""
    old: Object = {
        "kind": "RayCluster",
        "apiVersion": "ray.io/v1",
        "metadata": {"name": "a.b"},
        "spec": manifest()["spec"],
    }
    twice = changed(old, "spec.workerGroupSpecs.-", old["spec"]["workerGroupSpecs"][0])
    path = "/apis/ray.io/v1/namespaces/default/rayclusters"
    async with serving(tmp_path) as api:
        await _install(api, _without_rules(crds.manifest("rayclusters")))
        assert (await api.call("POST", path, twice)).code == 201
        ours = {"spec": crds.manifest("rayclusters")["spec"]}
        changing = await api.call("PATCH", f"{_DEFINITIONS}/rayclusters.ray.io", ours, "application/merge-patch+json")
        assert changing.code == 200, changing.body

        async def is_in_force() -> bool:
            return (await api.call("POST", f"{path}?dryRun=All", changed(twice, "metadata.name", "b"))).code == 422

        await _until(is_in_force)
        patch = {"metadata": {"finalizers": ["example.com/a"]}}
        answer = await api.call("PATCH", f"{path}/a.b", patch, "application/merge-patch+json")
        assert answer.code == 200, answer.body
        status = {"status": {"state": "ready"}}
        answer = await api.call("PATCH", f"{path}/a.b/status", status, "application/merge-patch+json")
        assert answer.code == 200, answer.body


@pytest.mark.kube
def test_a_real_server_takes_the_crds_and_judges_alike() -> None:
    answers: list[dict[str, Object]] = []
    for target in (targets.real, targets.embedded):
        with target() as kubeconfig, SyncClient.connect(find_access(kubeconfig)) as client:
            for definition in crds.manifests():
                client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
            for plural in crds.PLURALS:
                eventually(lambda plural=plural: _is_established(client, plural), 60)
            eventually(lambda: bool(client.get(NAMESPACES, "default")), 60)
            answers.append({judgement.name: _judged(client, judgement) for judgement in (*GOOD, *BAD)})
    assert answers[0] == answers[1]


def _judged(client: SyncClient, judgement: Judgement) -> Object:
    body = {**judgement.body, "metadata": {**judgement.body["metadata"], "namespace": "default"}}
    try:
        made = client.send(verbs.create(judgement.resource, body, dry_run=True))
    except ApiError as error:
        # of several refusals the order is the server's
        return {"code": error.code, "causes": sorted((cause.field, cause.message) for cause in error.causes)}
    return {"spec": made["spec"]}


async def _install(api: Api, definition: Object) -> None:
    made = await api.call("POST", _DEFINITIONS, definition)
    assert made.code == 201, made.body
    name = definition["metadata"]["name"]

    async def is_established() -> bool:
        return _has_condition((await api.call("GET", f"{_DEFINITIONS}/{name}")).body, "Established")

    await _until(is_established)


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.01)


def _is_established(client: SyncClient, plural: str) -> bool:
    return _has_condition(client.get(CUSTOM_RESOURCE_DEFINITIONS, f"{plural}.ray.io"), "Established")


def _has_condition(definition: Object, kind: str) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(condition["type"] == kind and condition["status"] == "True" for condition in conditions)


def _without_rules(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_rules(part) for name, part in value.items() if name != "x-kubernetes-validations"}
    return [_without_rules(part) for part in value] if isinstance(value, list) else value
