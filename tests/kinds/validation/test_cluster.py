from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.validation import cluster_problems, cluster_warnings
from tests.kinds.clusters import changed, manifest, typed
from tests.kinds.judgements import BAD, GOOD, Judgement

GROUP = "spec.workerGroupSpecs.0"
AT = "spec.workerGroupSpecs[0]"
HEAD = "spec.headGroupSpec"
ENV = f"{HEAD}.template.spec.containers.0.env"
ENV_AT = f"{HEAD}.template.spec.containers[0].env"
FT = "spec.gcsFaultToleranceOptions"
AUTOSCALED = {"spec.enableInTreeAutoscaling": True}
VERSION_2 = {**AUTOSCALED, "spec.autoscalerOptions": {"version": "v2"}}
REDIS = {FT: {"redisAddress": "redis:6379"}}
ROCKSDB = {FT: {"backend": "rocksdb"}}
V2_VARIABLE = [{"name": "RAY_enable_autoscaler_v2", "value": "true"}]


def _cluster(changes: dict[str, Any]) -> RayCluster:
    value = manifest()
    for path, part in changes.items():
        value = changed(value, path, part)
    return typed(value)


def _found(changes: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.path, problem.reason) for problem in cluster_problems(_cluster(changes))]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="the small one"),
        pytest.param({"spec.workerGroupSpecs": None}, id="no workers"),
        pytest.param({f"{GROUP}.minReplicas": None, f"{GROUP}.maxReplicas": None}, id="sizes left to defaults"),
        pytest.param({f"{GROUP}.replicas": 99}, id="replicas out of range"),
        pytest.param({f"{GROUP}.groupName": "Gpu.large"}, id="a group name with a dot and a capital"),
        pytest.param({f"{GROUP}.groupName": "headgroup"}, id="the head's group name without autoscaler"),
        pytest.param(
            {f"{GROUP}.resources": {"CPU": "1"}, f"{GROUP}.rayStartParams": {"num-cpus": ""}}, id="empty flag"
        ),
        pytest.param({f"{GROUP}.suspend": True}, id="a suspended group"),
        pytest.param({**VERSION_2, f"{GROUP}.idleTimeoutSeconds": 5}, id="idle timeout with v2"),
        pytest.param({**AUTOSCALED, ENV: V2_VARIABLE, f"{GROUP}.idleTimeoutSeconds": 5}, id="v2 by variable"),
        pytest.param({**VERSION_2, f"{GROUP}.priority": 3}, id="priority with v2"),
        pytest.param(REDIS, id="Redis"),
        pytest.param(ROCKSDB, id="embedded storage"),
        pytest.param({FT: {"backend": "rocksdb", "storage": {"claimName": "c", "subPath": "a"}}}, id="a claim"),
        pytest.param(
            {"metadata.annotations": {"ray.io/ft-enabled": "true"}, ENV: [{"name": "RAY_REDIS_ADDRESS", "value": "r"}]},
            id="fault tolerance by annotation",
        ),
        pytest.param({"spec.authOptions": {"mode": "token", "secretName": "s"}}, id="token mode"),
        pytest.param({"spec.authOptions": {"mode": "disabled"}, "spec.rayVersion": ""}, id="no authentication"),
        pytest.param({"spec.authOptions": {"mode": "token", "enableK8sTokenAuth": True}}, id="Kubernetes' tokens"),
        pytest.param({"spec.networkPolicy": {"mode": "DenyAll", "head": {"ingressRules": [{}]}}}, id="network policy"),
        pytest.param({"spec.tlsOptions": {"enabled": False}}, id="TLS switched off"),
        pytest.param({"spec.upgradeStrategy": {"type": "Recreate"}}, id="recreate"),
        pytest.param({"metadata.labels": {"volcano.sh/queue-name": "q"}}, id="a queue label"),
    ],
)
def test_what_can_work_is_taken(changes: dict[str, Any]) -> None:
    assert _found(changes) == []


@pytest.mark.parametrize(
    ("changes", "path", "reason"),
    [
        pytest.param({f"{HEAD}.template": {}}, f"{HEAD}.template.spec.containers", "Required", id="no head container"),
        pytest.param({f"{GROUP}.groupName": ""}, f"{AT}.groupName", "Required", id="no group name"),
        pytest.param({f"{GROUP}.groupName": "my_group"}, f"{AT}.groupName", "Invalid", id="no pod name"),
        pytest.param({f"{GROUP}.groupName": "a b"}, f"{AT}.groupName", "Invalid", id="no label"),
        pytest.param({**AUTOSCALED, f"{GROUP}.groupName": "headgroup"}, f"{AT}.groupName", "Invalid", id="head's name"),
        pytest.param(
            {f"{GROUP}.groupName": "A", "spec.networkPolicy": {}}, f"{AT}.groupName", "Invalid", id="no policy name"
        ),
        pytest.param({f"{GROUP}.numOfHosts": -1}, f"{AT}.numOfHosts", "Invalid", id="negative hosts"),
        pytest.param({f"{GROUP}.numOfHosts": 10_001}, f"{AT}.numOfHosts", "Invalid", id="hosts beyond any cluster"),
        pytest.param({f"{GROUP}.labels": {"a b": "c"}}, f"{AT}.labels", "Invalid", id="no label key"),
        pytest.param({f"{HEAD}.labels": {"a": "b c"}}, f"{HEAD}.labels", "Invalid", id="no label value"),
        pytest.param({f"{GROUP}.idleTimeoutSeconds": -1}, f"{AT}.idleTimeoutSeconds", "Invalid", id="negative idle"),
        pytest.param({f"{GROUP}.idleTimeoutSeconds": 5}, f"{AT}.idleTimeoutSeconds", "Forbidden", id="idle without v2"),
        pytest.param({f"{GROUP}.priority": 1}, f"{AT}.priority", "Forbidden", id="priority without v2"),
        pytest.param(
            {**VERSION_2, f"{GROUP}.priority": 1, "spec.rayVersion": "2.55.0"},
            f"{AT}.priority",
            "Invalid",
            id="priority with an old Ray",
        ),
        pytest.param(
            {**AUTOSCALED, f"{GROUP}.suspend": True}, f"{AT}.suspend", "Forbidden", id="suspended, autoscaled"
        ),
        pytest.param(
            {**VERSION_2, f"{GROUP}.template.spec.restartPolicy": "Always"},
            f"{AT}.template.spec.restartPolicy",
            "Invalid",
            id="restarted workers with v2",
        ),
        pytest.param({ENV: V2_VARIABLE}, ENV_AT, "Invalid", id="v2 by variable without autoscaler"),
        pytest.param({**VERSION_2, ENV: V2_VARIABLE}, ENV_AT, "Forbidden", id="v2 twice"),
        pytest.param(
            {"spec.autoscalerOptions": {"idleTimeoutSeconds": -1}},
            "spec.autoscalerOptions.idleTimeoutSeconds",
            "Invalid",
            id="negative idle timeout",
        ),
        pytest.param(
            {"spec.autoscalerOptions": {"env": [{"name": "KUBERAY_GEN_AUTOSCALER_START_CMD"}]}},
            "spec.autoscalerOptions.env",
            "Forbidden",
            id="the start command as variable",
        ),
        pytest.param({ENV: [{"name": "RAY_REDIS_ADDRESS"}]}, ENV_AT, "Forbidden", id="Redis unseen"),
        pytest.param({ENV: [{"name": "REDIS_USERNAME"}]}, ENV_AT, "Forbidden", id="user as variable"),
        pytest.param(
            {f"{HEAD}.rayStartParams": {"redis-username": "u"}},
            f"{HEAD}.rayStartParams",
            "Forbidden",
            id="user as flag",
        ),
        pytest.param({**REDIS, ENV: [{"name": "REDIS_PASSWORD"}]}, ENV_AT, "Forbidden", id="password as variable"),
        pytest.param({**REDIS, ENV: [{"name": "RAY_REDIS_ADDRESS"}]}, ENV_AT, "Forbidden", id="address as variable"),
        pytest.param(
            {**REDIS, f"{HEAD}.rayStartParams": {"redis-password": "p"}},
            f"{HEAD}.rayStartParams",
            "Forbidden",
            id="password as flag",
        ),
        pytest.param(
            {**REDIS, "metadata.annotations": {"ray.io/ft-enabled": "false"}},
            "metadata.annotations",
            "Forbidden",
            id="fault tolerance twice",
        ),
        pytest.param(
            {**REDIS, "metadata.annotations": {"ray.io/external-storage-namespace": "n"}},
            "metadata.annotations",
            "Forbidden",
            id="storage namespace as annotation",
        ),
        pytest.param({FT: {"backend": "etcd"}}, f"{FT}.backend", "Invalid", id="no backend"),
        pytest.param({**ROCKSDB, ENV: [{"name": "RAY_gcs_storage"}]}, ENV_AT, "Forbidden", id="storage variable"),
        pytest.param(
            {**ROCKSDB, f"{HEAD}.template.spec.volumes": [{"name": "gcs-storage"}]},
            f"{HEAD}.template.spec.volumes",
            "Forbidden",
            id="storage volume",
        ),
        pytest.param(
            {**ROCKSDB, f"{HEAD}.template.spec.containers.0.volumeMounts": [{"name": "v", "mountPath": "/data/gcs/"}]},
            f"{HEAD}.template.spec.containers[0].volumeMounts",
            "Forbidden",
            id="storage path",
        ),
        pytest.param(
            {"spec.authOptions": {"mode": "token"}, "spec.rayVersion": ""},
            "spec.authOptions.mode",
            "Invalid",
            id="token mode without version",
        ),
        pytest.param(
            {"spec.authOptions": {"mode": "token"}, "spec.rayVersion": "2.51.0"},
            "spec.authOptions.mode",
            "Invalid",
            id="token mode with an old Ray",
        ),
        pytest.param(
            {"spec.authOptions": {"mode": "token", "enableK8sTokenAuth": True}, "spec.rayVersion": "2.54.1"},
            "spec.authOptions.mode",
            "Invalid",
            id="Kubernetes' tokens with an old Ray",
        ),
        pytest.param(
            {"spec.authOptions": {"mode": "token", "enableK8sTokenAuth": True, "secretName": "s"}},
            "spec.authOptions.secretName",
            "Forbidden",
            id="two kinds of token",
        ),
        pytest.param(
            {"spec.networkPolicy": {"mode": "DenyAllIngress", "worker": {"egressRules": [{}]}}},
            "spec.networkPolicy.worker.egressRules",
            "Invalid",
            id="rules for what is not denied",
        ),
        pytest.param(
            {"spec.networkPolicy": {"workerGroups": [{"groupName": "small"}, {"groupName": "small"}]}},
            "spec.networkPolicy.workerGroups[1].groupName",
            "Duplicate",
            id="rules twice",
        ),
        pytest.param(
            {"spec.historyServerOptions": {}}, "spec.historyServerOptions", "FeatureNotAvailable", id="history server"
        ),
        pytest.param({"spec.tlsOptions": {"enabled": True}}, "spec.tlsOptions", "FeatureNotAvailable", id="TLS"),
        pytest.param(
            {"metadata.labels": {"ray.io/gang-scheduling-enabled": "true"}},
            "metadata.labels",
            "FeatureNotAvailable",
            id="gang scheduling",
        ),
        pytest.param(
            {"spec.upgradeStrategy": {"type": "Rolling"}}, "spec.upgradeStrategy.type", "Invalid", id="strategy"
        ),
        pytest.param(
            {
                "spec.upgradeStrategy": {"type": "Recreate"},
                "metadata.labels": {"ray.io/originated-from-crd": "RayService"},
            },
            "spec.upgradeStrategy.type",
            "Forbidden",
            id="a strategy below a service",
        ),
    ],
)
def test_what_cannot_work_is_told_with_its_path(changes: dict[str, Any], path: str, reason: str) -> None:
    assert _found(changes) == [(path, reason)]


@pytest.mark.parametrize(
    "judgement", [one for one in BAD if one.body["kind"] == "RayCluster"], ids=lambda one: one.name
)
def test_what_admission_refuses_is_refused_here_too(judgement: Judgement) -> None:
    """Where other CRDs are installed, or an object is older than ours, nobody else says it."""
    try:
        cluster = typed(judgement.body)
    except msgspec.ValidationError:
        assert judgement.name == "a number of text"
        return
    schema_only = {"an unheard-of mode", "another manager"}
    assert bool(cluster_problems(cluster)) == (judgement.name not in schema_only)


@pytest.mark.parametrize(
    "judgement", [one for one in GOOD if one.body["kind"] == "RayCluster"], ids=lambda one: one.name
)
def test_what_admission_takes_is_taken_or_not_there_yet(judgement: Judgement) -> None:
    assert {problem.reason for problem in cluster_problems(typed(judgement.body))} <= {"FeatureNotAvailable"}


def test_messages_say_what_to_write() -> None:
    problems = cluster_problems(_cluster({f"{GROUP}.minReplicas": 9}))
    assert [str(problem) for problem in problems] == [
        f"{AT}.minReplicas: minReplicas is 9 and maxReplicas is 4: lower minReplicas to 4, or raise maxReplicas to 9"
    ]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        pytest.param({"spec.authOptions": {}}, "spec.authOptions.mode", id="authentication without mode"),
        pytest.param(
            {"spec.authOptions": {"mode": "disabled", "secretName": "s"}},
            "spec.authOptions.secretName",
            id="the secret of no authentication",
        ),
        pytest.param(
            {
                "spec.gcsFaultToleranceOptions": {
                    "backend": "rocksdb",
                    "storage": {"claimName": "mine", "deletionPolicy": "Retain"},
                }
            },
            "spec.gcsFaultToleranceOptions.storage.deletionPolicy",
            id="what becomes of a user's own claim",
        ),
        *(
            pytest.param(
                {f"{HEAD}.rayStartParams": {"dashboard-port": port}},
                f"{HEAD}.rayStartParams.dashboard-port",
                id=f"no port: {port[:8]}",
            )
            for port in ("x", "0", "65536", "1" * 4301)
        ),
        pytest.param({f"{GROUP}.replicas": 99}, f"{AT}.replicas", id="more than the most"),
        pytest.param({f"{GROUP}.minReplicas": 2}, f"{AT}.replicas", id="fewer than the fewest"),
        pytest.param({f"{GROUP}.numOfHosts": 0}, f"{AT}.numOfHosts", id="workers of no pods"),
        pytest.param({"metadata.labels": {"kai.scheduler/queue": "q"}}, "metadata.labels", id="a queue label"),
        pytest.param(
            {"metadata.annotations": {"rayward.dev/rolling-update": "all"}}, "metadata.annotations", id="rolling what?"
        ),
        pytest.param(
            {"metadata.annotations": {"rayward.dev/roling-update": "workers"}}, "metadata.annotations", id="misspelt"
        ),
        pytest.param(
            {**AUTOSCALED, "spec.autoscalerOptions": {"version": "v1"}},
            f"{AT}.template.spec.restartPolicy",
            id="restarted workers with v1",
        ),
    ],
)
def test_what_works_otherwise_than_it_seems_is_a_warning(changes: dict[str, Any], path: str) -> None:
    assert [warning.path for warning in cluster_warnings(_cluster(changes))] == [path]
    assert cluster_problems(_cluster(changes)) == []


_IMAGE = f"{GROUP}.template.spec.containers.0.image"


@pytest.mark.parametrize(
    ("image", "says"),
    [
        ("not an image!!", "is not the name of an image: write REPOSITORY:TAG"),
        ("Foo/Bar:2", "names are in lower case"),
        ("rayproject/ray:", "is not the name of an image"),
        ("https://example.com/ray:2", "is not the name of an image"),
        ("raypoject/rey", "raypoject/rey is close to rayproject/ray: did you mean that?"),
        ("docker.io/rayprojct/ray-ml:2.60.0", "rayprojct/ray-ml is close to rayproject/ray-ml"),
        ("rayproject/rey:2.60.0", "rayproject/rey is close to rayproject/ray"),
    ],
)
def test_an_image_that_cannot_be_pulled_is_a_warning(image: str, says: str) -> None:
    (warning,) = cluster_warnings(_cluster({_IMAGE: image}))
    assert warning.path == f"{AT}.template.spec.containers[0].image"
    assert says in warning.message


@pytest.mark.parametrize(
    "image",
    [
        "ray",
        "python:3.12-slim",
        "rayproject/ray-deps:nightly",
        "rayproject/ray:nightly-py312@sha256:" + "a" * 64,
        "myproject/ray:2.60.0",
        "anyscale/ray:2.60.0",
        "Registry.example.com:5000/Team.x/ray".lower(),
        "localhost:5000/a__b/c--d:v1_2",
        "[::1]:5000/ray:2",
        "raypoject.example.com/rey",
    ],
)
def test_an_image_that_some_registry_may_have_is_none(image: str) -> None:
    assert cluster_warnings(_cluster({_IMAGE: image})) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "containers", "env", "name", "value", "volumes", "volumeMounts", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)
_OBJECT = st.dictionaries(st.sampled_from(["spec", "metadata", "containers", "x"]), _JSON, max_size=3)


@given(cluster=st.data())
def test_any_decoded_cluster_is_judged(cluster: st.DataObject) -> None:
    value = manifest(cluster.draw(st.text(max_size=70)))
    for path in (f"{HEAD}.template", f"{GROUP}.template", "spec.tlsOptions", f"{HEAD}.headService"):
        value = changed(value, path, cluster.draw(_OBJECT))
    for path in (f"{GROUP}.replicas", f"{GROUP}.minReplicas", f"{GROUP}.numOfHosts", f"{GROUP}.priority"):
        value = changed(value, path, cluster.draw(st.none() | st.integers()))
    for path in (f"{GROUP}.groupName", "spec.rayVersion"):
        value = changed(value, path, cluster.draw(st.text(max_size=5)))
    for path in (f"{GROUP}.labels", f"{GROUP}.resources", f"{HEAD}.rayStartParams"):
        value = changed(
            value, path, cluster.draw(st.none() | st.dictionaries(st.text(max_size=5), st.text(max_size=5)))
        )
    value = changed(value, "spec.enableInTreeAutoscaling", cluster.draw(st.booleans()))
    value = changed(value, FT, cluster.draw(st.none() | st.sampled_from([{}, {"backend": "rocksdb"}])))
    value = changed(value, "spec.autoscalerOptions", {"env": [{"name": cluster.draw(_JSON)}], "version": "v2"})
    decoded = typed(value)
    for problem in (*cluster_problems(decoded), *cluster_warnings(decoded)):
        assert problem.path
        assert problem.message
