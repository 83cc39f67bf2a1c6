from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds.rayservice import RayService
from rayward.kinds.validation import service_problems, service_warnings
from tests.kinds.clusters import changed, service_manifest
from tests.kinds.judgements import BAD, GOOD, Judgement

CLUSTER = "spec.rayClusterConfig"
CONFIG = "spec.serveConfigV2"
PROGRAM = "import ray\nfrom ray import serve\napp = serve.Application(...)\n"
APP = "applications: [{name: a, import_path: 'm:a', route_prefix: /}]\n"
OBJECT = {"importPath": "app.MyModel", "deployments": [{"name": "MyModel", "numReplicas": 2}]}


def _service(changes: dict[str, Any]) -> RayService:
    value = service_manifest()
    for path, part in changes.items():
        value = changed(value, path, part)
    return msgspec.convert(value, RayService)


def _found(changes: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.path, problem.reason) for problem in service_problems(_service(changes))]


def _of_size(size: int, annotations: dict[str, str] | None = None) -> RayService:
    """A service whose config has so many bytes as JSON."""
    application = {"name": "a", "import_path": "m:a", "route_prefix": "/", "args": {"x": ""}}
    bare = len(msgspec.json.encode({"applications": [application]}))
    application["args"] = {"x": "é" * ((size - bare) // 2) + "e" * ((size - bare) % 2)}
    config = msgspec.json.encode({"applications": [application]}).decode()
    return _service({CONFIG: config, "metadata.annotations": annotations or {}})


@pytest.mark.parametrize(
    ("service", "said"),
    [
        pytest.param(_of_size(120_000), "", id="the longest"),
        pytest.param(_of_size(120_001), "the config has 120001 bytes as JSON and the limit is 120000", id="one more"),
        pytest.param(_of_size(120_000, {"notes": "n" * 9000}), "", id="with few annotations"),
        pytest.param(
            _of_size(120_000, {"notes": "é" * 10_000}), "the limit is 116973", id="annotations of the user take room"
        ),
        pytest.param(_of_size(116_973, {"notes": "é" * 10_000}), "", id="and the rest is for the config"),
        pytest.param(
            _of_size(120_000, {"kubectl.kubernetes.io/last-applied-configuration": "x" * 130_000}),
            "",
            id="what the cluster does not get takes none",
        ),
        pytest.param(_of_size(3000, {"notes": "n" * 262_000}), "the limit is 0", id="nothing is left"),
    ],
)
def test_a_config_that_annotations_cannot_hold_is_refused_with_its_size(service: RayService, said: str) -> None:
    found = [problem.message for problem in service_problems(service)]
    assert len(found) == bool(said)
    assert all(said in message and "hold it twice" in message for message in found)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="the small one"),
        pytest.param({CONFIG: OBJECT}, id="an object"),
        pytest.param({CONFIG: None, "spec.serveDeploymentGraphSpec": OBJECT}, id="a graph"),
        pytest.param({CONFIG: "", "spec.serveDeploymentGraphSpec": OBJECT}, id="a graph and an empty text"),
        pytest.param({"spec.upgradeStrategy": {"type": "None"}}, id="no upgrades"),
        pytest.param({f"{CLUSTER}.managedBy": "ray.io/kuberay-operator"}, id="a cluster of ours"),
        pytest.param({"spec.rayClusterDeletionDelaySeconds": 0}, id="no delay"),
        pytest.param({"metadata.annotations": {"ray.io/initializing-timeout": "1h30m"}}, id="a timeout"),
        pytest.param({"metadata.annotations": {"ray.io/initializing-timeout": "90"}}, id="a timeout in seconds"),
        pytest.param({f"{CLUSTER}.suspend": True}, id="born suspended"),
        pytest.param(
            {
                "spec.excludeHeadPodFromServeSvc": True,
                f"{CLUSTER}.enableInTreeAutoscaling": True,
                f"{CLUSTER}.workerGroupSpecs.0.replicas": 0,
            },
            id="workers may come and take the requests",
        ),
        pytest.param({f"{CLUSTER}.headGroupSpec.headService": {"spec": {}}}, id="a head service without name"),
    ],
)
def test_what_can_work_is_taken(changes: dict[str, Any]) -> None:
    assert _found(changes) == []


@pytest.mark.parametrize(
    ("changes", "path", "reason"),
    [
        pytest.param({CONFIG: None}, CONFIG, "Invalid", id="no config"),
        pytest.param({CONFIG: PROGRAM}, CONFIG, "Invalid", id="a program"),
        pytest.param({CONFIG: [1]}, CONFIG, "Invalid", id="a list"),
        pytest.param(
            {"spec.serveDeploymentGraphSpec": OBJECT}, "spec.serveDeploymentGraphSpec", "Forbidden", id="two configs"
        ),
        pytest.param(
            {CONFIG: None, "spec.serveDeploymentGraphSpec": {"importPath": "x"}},
            "spec.serveDeploymentGraphSpec",
            "Invalid",
            id="a bad graph",
        ),
        pytest.param(
            {"spec.upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade"}},
            "spec.upgradeStrategy.type",
            "FeatureNotAvailable",
            id="incremental",
        ),
        pytest.param(
            {"spec.excludeHeadPodFromServeSvc": True, f"{CLUSTER}.workerGroupSpecs": []},
            "spec.excludeHeadPodFromServeSvc",
            "Invalid",
            id="no pod takes requests",
        ),
        pytest.param(
            {f"{CLUSTER}.managedBy": "kueue.x-k8s.io/multikueue"},
            f"{CLUSTER}.managedBy",
            "Forbidden",
            id="a cluster that nobody runs",
        ),
        pytest.param({"spec.upgradeStrategy": {"type": "x"}}, "spec.upgradeStrategy.type", "Invalid", id="strategy"),
        pytest.param(
            {"spec.rayClusterDeletionDelaySeconds": -1}, "spec.rayClusterDeletionDelaySeconds", "Invalid", id="delay"
        ),
        pytest.param(
            {"spec.deploymentUnhealthySecondThreshold": -1},
            "spec.deploymentUnhealthySecondThreshold",
            "Invalid",
            id="threshold",
        ),
        pytest.param(
            {"metadata.annotations": {"ray.io/initializing-timeout": "soon"}},
            "metadata.annotations",
            "Invalid",
            id="soon",
        ),
        pytest.param(
            {"metadata.annotations": {"rayward.dev/progress-deadline": "0s"}},
            "metadata.annotations",
            "Invalid",
            id="0s",
        ),
        pytest.param(
            {"metadata.annotations": {"rayward.dev/pause": "yes"}}, "metadata.annotations", "Invalid", id="paused?"
        ),
        pytest.param(
            {f"{CLUSTER}.upgradeStrategy": {"type": "Recreate"}}, f"{CLUSTER}.upgradeStrategy", "Forbidden", id="nested"
        ),
        pytest.param(
            {f"{CLUSTER}.headGroupSpec.headService": {"metadata": {"name": "h"}}},
            f"{CLUSTER}.headGroupSpec.headService.metadata.name",
            "Forbidden",
            id="a named head service",
        ),
        pytest.param(
            {f"{CLUSTER}.authOptions": {"mode": "token", "enableK8sTokenAuth": True}},
            f"{CLUSTER}.authOptions.enableK8sTokenAuth",
            "Forbidden",
            id="Kubernetes' tokens",
        ),
        pytest.param(
            {f"{CLUSTER}.headGroupSpec.serviceType": "Foo"},
            f"{CLUSTER}.headGroupSpec.serviceType",
            "Invalid",
            id="no type of a Service",
        ),
        pytest.param(
            {f"{CLUSTER}.headGroupSpec.rayResources": {"CPU": "four"}},
            f"{CLUSTER}.headGroupSpec.rayResources",
            "Invalid",
            id="no amount",
        ),
        pytest.param(
            {CONFIG: f"import_path: m:a\nargs: {{text: {'x' * 130_000}}}\n"}, CONFIG, "Invalid", id="a huge config"
        ),
        pytest.param(
            {f"{CLUSTER}.workerGroupSpecs.0.minReplicas": 9},
            f"{CLUSTER}.workerGroupSpecs[0].minReplicas",
            "Invalid",
            id="a bad cluster",
        ),
    ],
)
def test_what_cannot_work_is_told_with_its_path(changes: dict[str, Any], path: str, reason: str) -> None:
    assert _found(changes) == [(path, reason)]


def test_a_bad_config_is_told_with_line_and_column() -> None:
    text = "applications:\n- name: a\n  import_path: m:a\n  num_gpu: 1\n"
    assert [str(problem) for problem in service_problems(_service({CONFIG: text}))] == [
        f"{CONFIG}: line 4, column 3: Ray Serve knows no 'num_gpu' here: delete it"
    ]


@pytest.mark.parametrize(
    "judgement", [one for one in BAD if one.body["kind"] == "RayService"], ids=lambda one: one.name
)
def test_what_admission_refuses_is_refused_here_too(judgement: Judgement) -> None:
    assert service_problems(msgspec.convert(judgement.body, RayService))


@pytest.mark.parametrize(
    "judgement", [one for one in GOOD if one.body["kind"] == "RayService"], ids=lambda one: one.name
)
def test_what_admission_takes_is_taken(judgement: Judgement) -> None:
    refused = {
        "a graph": [("spec.serveDeploymentGraphSpec", "Forbidden")],
        "a service with a program, which the operator refuses": [(CONFIG, "Invalid")],
    }
    problems = service_problems(msgspec.convert(judgement.body, RayService))
    assert [(problem.path, problem.reason) for problem in problems] == refused.get(judgement.name, [])


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        pytest.param({CONFIG: {**OBJECT, "importPath": "app.model"}}, CONFIG, id="an object"),
        pytest.param({CONFIG: "import_path: app:MyModel\n"}, CONFIG, id="a bare class"),
        pytest.param(
            {CONFIG: "import_path: m:a\nruntime_env: {working_dir: 'https://host/code'}\n"}, CONFIG, id="no archive"
        ),
        pytest.param(
            {"spec.deploymentUnhealthyRestartThreshold": 5}, "spec.deploymentUnhealthyRestartThreshold", id="alone"
        ),
        pytest.param({f"{CLUSTER}.autoscalerOptions": {}}, f"{CLUSTER}.autoscalerOptions", id="no autoscaler"),
        pytest.param({f"{CLUSTER}.rayVersion": "latest"}, f"{CLUSTER}.rayVersion", id="no version"),
        pytest.param(
            {f"{CLUSTER}.workerGroupSpecs.0.template.spec.containers.0.image": "rayproject/ray:2.9.0-py311"},
            f"{CLUSTER}.workerGroupSpecs[0].template.spec.containers[0].image",
            id="an image of another Ray",
        ),
        pytest.param(
            {"spec.serviceUnhealthySecondThreshold": 5}, "spec.serviceUnhealthySecondThreshold", id="no effect"
        ),
        pytest.param(
            {CONFIG: "import_path: m:a\nnum_gpu: 1\n", f"{CLUSTER}.rayVersion": ""}, CONFIG, id="an unknown word"
        ),
        pytest.param({f"{CLUSTER}.authOptions": {}}, f"{CLUSTER}.authOptions.mode", id="of the cluster"),
        pytest.param(
            {f"{CLUSTER}.gcsFaultToleranceOptions": {"redisAddress": "r:6379", "externalStorageNamespace": "mine"}},
            f"{CLUSTER}.gcsFaultToleranceOptions.externalStorageNamespace",
            id="the keys of every release",
        ),
        pytest.param(
            {f"{CLUSTER}.gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": {"claimName": "mine"}}},
            f"{CLUSTER}.gcsFaultToleranceOptions.storage.claimName",
            id="releases that share their state",
        ),
        pytest.param(
            {"metadata.annotations": {"ray.io/external-storage-namespace": "mine"}},
            "metadata.annotations",
            id="releases that share their state by an annotation",
        ),
        pytest.param(
            {f"{CLUSTER}.headGroupSpec.ingressOptions": {"host": "x"}},
            f"{CLUSTER}.headGroupSpec.ingressOptions",
            id="no ingress",
        ),
        pytest.param(
            {f"{CLUSTER}.headGroupSpec.headService": {"spec": {"selector": {"a": "b"}}}},
            f"{CLUSTER}.headGroupSpec.headService.spec.selector",
            id="a selector of the head's service",
        ),
        pytest.param(
            {"spec.serveService": {"spec": {"selector": {"a": "b"}}}},
            "spec.serveService.spec.selector",
            id="a selector of the serve service",
        ),
        pytest.param(
            {"spec.serveService": {"spec": {"ports": [{"name": "serve", "port": 80}, {"name": "more", "port": 1}]}}},
            "spec.serveService.spec.ports[1]",
            id="a port that the serve service does not get",
        ),
        pytest.param(
            {"spec.upgradeStrategy": {"clusterUpgradeOptions": {"gatewayClassName": "x"}}},
            "spec.upgradeStrategy.clusterUpgradeOptions",
            id="options of another strategy",
        ),
        pytest.param(
            {f"{CLUSTER}.workerGroupSpecs.0.scaleStrategy": {"workersToDelete": ["x"]}},
            f"{CLUSTER}.workerGroupSpecs[0].scaleStrategy.workersToDelete",
            id="pods of one cluster for every cluster",
        ),
        pytest.param({CONFIG: f"{APP}http_options: {{port: 9000}}\n"}, CONFIG, id="another port than the head's"),
        pytest.param({CONFIG: f"{APP}http_options: {{host: 127.0.0.1}}\n"}, CONFIG, id="a host nobody comes to"),
        pytest.param({CONFIG: f"{APP}proxy_location: Disabled\n"}, CONFIG, id="no proxy"),
        pytest.param(
            {CONFIG: f"{APP}proxy_location: HeadOnly\n", "spec.excludeHeadPodFromServeSvc": True},
            CONFIG,
            id="a proxy on the head alone, which is left out",
        ),
        *(
            pytest.param({"metadata.annotations": {f"rayward.dev/{name}": value}}, "metadata.annotations", id=name)
            for name, value in (
                ("paused", "true"),
                ("serve-config-upgrade", "newcluster"),
                ("rolling-update", "Workers"),
                ("rolling-update", "workers"),
            )
        ),
    ],
)
def test_what_works_otherwise_than_it_seems_is_a_warning(changes: dict[str, Any], path: str) -> None:
    assert [warning.path for warning in service_warnings(_service(changes))] == [path]
    assert service_problems(_service(changes)) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=10,
)


@given(data=st.data())
def test_any_decoded_service_is_judged(data: st.DataObject) -> None:
    value = service_manifest(data.draw(st.text(max_size=60)))
    value = changed(value, CONFIG, data.draw(_JSON))
    value = changed(value, "metadata.annotations", {"ray.io/initializing-timeout": data.draw(st.text(max_size=80))})
    value = changed(value, "spec.upgradeStrategy", {"type": data.draw(st.none() | st.text(max_size=5))})
    value = changed(
        value, f"{CLUSTER}.headGroupSpec.headService", data.draw(st.dictionaries(st.text(max_size=8), _JSON))
    )
    service = msgspec.convert(value, RayService)
    for problem in (*service_problems(service), *service_warnings(service)):
        assert problem.path
        assert problem.message
