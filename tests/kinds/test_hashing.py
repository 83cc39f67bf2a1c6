from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds.hashing import hash_version, is_hash_of, release_hash
from tests.kinds.clusters import Object, changed, manifest, typed

SPEC = "spec"
GROUP = "spec.workerGroupSpecs.0"
POD = f"{GROUP}.template.spec"


def _hash(value: Object, groups: int | None = None) -> str:
    return release_hash(typed(value).spec, groups)


def _rich() -> Object:
    value = manifest()
    for path, part in {
        f"{SPEC}.enableInTreeAutoscaling": True,
        f"{SPEC}.autoscalerOptions": {"version": "v2", "resources": {"limits": {"cpu": "1"}}, "idleTimeoutSeconds": 0},
        f"{SPEC}.gcsFaultToleranceOptions": {"redisAddress": "redis:6379", "redisPassword": {"value": "p"}},
        f"{SPEC}.networkPolicy": {"mode": "DenyAll", "workerGroups": [{"groupName": "small", "egressRules": [{}]}]},
        f"{SPEC}.headGroupSpec.headService": {"spec": {"type": "NodePort"}},
        f"{GROUP}.rayResources": {"CPU": "2"},
        f"{GROUP}.numOfHosts": 2,
    }.items():
        value = changed(value, path, part)
    return value


def _copied() -> Object:
    """As a server prints it."""
    spec = {"serviceAccountName": "a", "serviceAccount": "a", "preemptionPolicy": "PreemptLowerPriority"}
    return changed(manifest(), POD, {**manifest()["spec"]["workerGroupSpecs"][0]["template"]["spec"], **spec})


def _with_zeros() -> Object:
    ports = [{"name": "a", "port": 80, "targetPort": 0}, {"name": "b", "port": 81, "targetPort": 81}]
    return changed(manifest(), f"{SPEC}.headGroupSpec.headService", {"spec": {"ports": ports}})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"spec": {}}, "v1-6a876ecbe5d4ad388e6f7a6754b1c12a", id="nothing"),
        pytest.param(manifest(), "v1-07ed1960e448d40bbcc8bd058ce48524", id="small"),
        pytest.param(_rich(), "v1-b7528c538748b5bc0eeac2bbf9ca0ec1", id="rich"),
        pytest.param({"spec": {}}, "v2-6a876ecbe5d4ad388e6f7a6754b1c12a", id="nothing, v2"),
        pytest.param(manifest(), "v2-07ed1960e448d40bbcc8bd058ce48524", id="small, v2"),
        pytest.param(_rich(), "v2-3f1ecdebbc0c905587d4856fac495651", id="rich, v2"),
        pytest.param(_with_zeros(), "v2-eed89d51d3544ae6d9a13f811a44a1a3", id="zeros, v2"),
        pytest.param({"spec": {}}, "v3-6a876ecbe5d4ad388e6f7a6754b1c12a", id="nothing, v3"),
        pytest.param(manifest(), "v3-07ed1960e448d40bbcc8bd058ce48524", id="small, v3"),
        pytest.param(_rich(), "v3-3f1ecdebbc0c905587d4856fac495651", id="rich, v3"),
        pytest.param(_with_zeros(), "v3-19a86c9e81ad42e9496f624263fa1cbb", id="zeros, v3"),
        pytest.param(_copied(), "v3-30a2767005bbf20e95acee04a290c8f4", id="copied, v3"),
        pytest.param({"spec": {}}, "v4-6a876ecbe5d4ad388e6f7a6754b1c12a", id="nothing, v4"),
        pytest.param(manifest(), "v4-07ed1960e448d40bbcc8bd058ce48524", id="small, v4"),
        pytest.param(_rich(), "v4-3f1ecdebbc0c905587d4856fac495651", id="rich, v4"),
        pytest.param(_with_zeros(), "v4-19a86c9e81ad42e9496f624263fa1cbb", id="zeros, v4"),
        pytest.param(_copied(), "v4-5161fb786fdbdce97ee1cdc952519954", id="copied, v4"),
    ],
)
def test_hashes_stay_what_they_were(value: Object, expected: str) -> None:
    """Stored hashes outlive the process: if one of these changes, clusters are replaced for nothing."""
    spec = typed(value).spec
    version = hash_version(expected)
    assert version is not None
    assert release_hash(spec, version=version) == expected
    assert is_hash_of(expected, spec)


def test_a_stored_hash_is_of_a_spec_in_the_version_it_was_stored_in() -> None:
    spec, other = typed(manifest()).spec, typed(changed(manifest(), f"{SPEC}.rayVersion", "2.61.0")).spec
    for version in ("v1", "v2", "v3", "v4"):
        stored = release_hash(spec, version=version)
        assert is_hash_of(stored, spec)
        assert not is_hash_of(stored, other)
    assert not is_hash_of("EU5O3K9J", spec), "KubeRay's"
    assert not is_hash_of("", spec)


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ({"cpu": "1"}, {"cpu": "1000m"}),
        ({"cpu": "1"}, {"cpu": 1}),
        ({"memory": "2048Mi"}, {"memory": "2Gi"}),
        ({"memory": "1G"}, {"memory": "1000000000"}),
        ({"cpu": 0.5}, {"cpu": "500m"}),
    ],
)
def test_how_an_amount_is_written_does_not_count(one: Object, another: Object) -> None:
    path = f"{POD}.containers.0.resources.limits"
    assert _hash(changed(manifest(), path, one)) == _hash(changed(manifest(), path, another)) != _hash(manifest())


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (f"{GROUP}.replicas", 7),
        (f"{GROUP}.minReplicas", 1),
        (f"{GROUP}.maxReplicas", 9),
        (f"{GROUP}.suspend", True),
        (f"{GROUP}.scaleStrategy", {"workersToDelete": ["c-small-worker-x7k2p"]}),
        (f"{POD}.tolerations", [{"operator": "Exists"}]),
        (f"{POD}.schedulingGates", [{"name": "wait"}]),
        (f"{SPEC}.headGroupSpec.template.spec.tolerations", [{"operator": "Exists"}]),
        (f"{SPEC}.upgradeStrategy", {"type": "Recreate"}),
        (f"{SPEC}.suspend", True),
        ("metadata.labels", {"a": "b"}),
        ("status.state", "ready"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_sizes_queues_and_suspension_do_not_count(path: str, part: Any) -> None:
    assert _hash(changed(manifest(), path, part)) == _hash(manifest())


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (f"{GROUP}.numOfHosts", 1),
        (f"{GROUP}.priority", 0),
        (f"{GROUP}.labels", {}),
        (f"{GROUP}.rayStartParams", None),
        (f"{POD}.nodeSelector", None),
        (f"{SPEC}.enableInTreeAutoscaling", False),
        (f"{SPEC}.authOptions", None),
        (f"{SPEC}.gcsFaultToleranceOptions", None),
        (f"{GROUP}.template.metadata", {}),
        (f"{GROUP}.template.metadata", {"creationTimestamp": None, "labels": {}}),
        (f"{POD}.containers.0.env", []),
        (f"{POD}.containers.0.args", []),
        (f"{POD}.containers.0.resources", {}),
        (f"{POD}.containers.0.resources", {"limits": {}, "requests": None}),
        (f"{POD}.containers.0.imagePullPolicy", "IfNotPresent"),
        (f"{POD}.securityContext", {}),
        (f"{POD}.affinity", {"nodeAffinity": {}}),
        (f"{POD}.hostNetwork", False),
        (f"{POD}.restartPolicy", "Always"),
        (f"{POD}.terminationGracePeriodSeconds", 30),
        (f"{SPEC}.autoscalerOptions", None),
        (f"{POD}.preemptionPolicy", "PreemptLowerPriority"),
        (f"{POD}.hostUsers", True),
        (f"{POD}.shareProcessNamespace", False),
        (f"{POD}.containers.0.securityContext", {"procMount": "Default"}),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_how_nothing_is_written_does_not_count(path: str, part: Any) -> None:
    assert _hash(changed(manifest(), path, part)) == _hash(manifest())


_CLAIM: Object = {"accessModes": ["ReadWriteOnce"]}


@pytest.mark.parametrize(
    ("part", "written", "filled"),
    [
        ("", {"serviceAccountName": "a"}, {"serviceAccountName": "a", "serviceAccount": "a"}),
        ("", {"serviceAccountName": "a"}, {"serviceAccount": "a"}),
        ("volumes", {}, {"emptyDir": {}}),
        ("volumes", {"rbd": {"image": "i"}}, {"rbd": {"image": "i", "pool": "rbd", "user": "admin"}}),
        ("volumes", {"iscsi": {"iqn": "i"}}, {"iscsi": {"iqn": "i", "iscsiInterface": "default"}}),
        (
            "volumes",
            {"azureDisk": {"diskName": "d"}},
            {"azureDisk": {"diskName": "d", "cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False}},
        ),
        (
            "volumes",
            {"image": {"reference": "data:latest"}},
            {"image": {"reference": "data:latest", "pullPolicy": "Always"}},
        ),
        (
            "volumes",
            {"ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {**_CLAIM, "volumeMode": "Filesystem"}}}},
        ),
        ("volumes", {"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "optional": False}}),
        ("volumeMounts", {"mountPath": "/v"}, {"mountPath": "/v", "mountPropagation": "None"}),
        ("ports", {"containerPort": 1}, {"containerPort": 1, "hostPort": 1}),
    ],
)
def test_what_servers_fill_in_does_not_count(part: str, written: Object, filled: Object) -> None:
    def with_(value: Object) -> Object:
        spec: Object = {"containers": [{"name": "ray", "image": "ray:1"}], "hostNetwork": True}
        if not part:
            spec |= value
        elif part == "volumes":
            spec[part] = [{"name": "v", **value}]
        else:
            spec["containers"][0][part] = [{"name": "v", **value}]
        return changed(manifest(), POD, spec)

    assert _hash(with_(written)) == _hash(with_(filled))


def test_a_port_of_the_node_counts_where_the_pod_has_a_network_of_its_own() -> None:
    path = f"{POD}.containers.0.ports"
    port = {"containerPort": 1}
    assert _hash(changed(manifest(), path, [port])) != _hash(changed(manifest(), path, [{**port, "hostPort": 1}]))


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (f"{GROUP}.groupName", "large"),
        (f"{GROUP}.numOfHosts", 2),
        (f"{GROUP}.rayStartParams.num-cpus", ""),
        (f"{GROUP}.idleTimeoutSeconds", 0),
        (f"{POD}.containers.0.image", "rayproject/ray:2.61.0"),
        (f"{POD}.containers.0.env", [{"name": "A"}]),
        (f"{POD}.hostNetwork", True),
        (f"{POD}.terminationGracePeriodSeconds", 0),
        (f"{POD}.nodeSelector", {"gpu": ""}),
        (f"{POD}.volumes", [{"name": "v", "emptyDir": {}}]),
        (f"{POD}.containers.0.args", [""]),
        (f"{POD}.containers.0.resources.limits.tolerations", "1"),
        (f"{SPEC}.rayVersion", "2.61.0"),
        (f"{SPEC}.enableInTreeAutoscaling", True),
        (f"{SPEC}.headGroupSpec.template.metadata.labels.a", "b"),
        (f"{SPEC}.headGroupSpec.headService.spec.type", "NodePort"),
        (f"{SPEC}.autoscalerOptions.securityContext.runAsNonRoot", False),
        (f"{SPEC}.gcsFaultToleranceOptions", {}),
        ("spec.workerGroupSpecs.-", {"groupName": "more", "template": {}}),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_pods_are_made_from_counts(path: str, part: Any) -> None:
    assert _hash(changed(manifest(), path, part)) != _hash(manifest())


def test_a_service_that_a_go_client_wrote_back_is_the_same() -> None:
    """Its ports get ``targetPort: 0``, which means the port itself, and its object a status."""
    path = f"{SPEC}.headGroupSpec.headService"
    port, labelled = {"name": "extra", "port": 1234}, {"labels": {"partition": ""}}
    written = {"metadata": labelled, "spec": {"ports": [port]}}
    rewritten = {
        "metadata": {"creationTimestamp": None, **labelled},
        "spec": {"ports": [{**port, "targetPort": 0}], "type": ""},
        "status": {"loadBalancer": {}},
    }
    named = {**written, "spec": {"ports": [{**port, "targetPort": 1234}]}}
    other = {**written, "spec": {"ports": [{**port, "targetPort": 8000}]}}
    assert _hash(changed(manifest(), path, written)) == _hash(changed(manifest(), path, rewritten))
    assert _hash(changed(manifest(), path, written)) == _hash(changed(manifest(), path, named))
    assert _hash(changed(manifest(), path, written)) != _hash(changed(manifest(), path, other))
    assert _hash(changed(manifest(), path, written)) != _hash(changed(manifest(), path, {"spec": written["spec"]}))


def test_ray_resources_are_resources() -> None:
    named, alias = (changed(manifest(), f"{GROUP}.{name}", {"CPU": "2"}) for name in ("resources", "rayResources"))
    number = changed(manifest(), f"{GROUP}.rayResources", {"CPU": 2})
    assert _hash(named) == _hash(alias) == _hash(number) != _hash(manifest())


def test_the_order_of_keys_does_not_count_but_that_of_groups_does() -> None:
    value = changed(manifest(), "spec.workerGroupSpecs.-", {"groupName": "b", "template": {}})
    groups = value["spec"]["workerGroupSpecs"]
    assert _hash(changed(value, "spec", dict(reversed(value["spec"].items())))) == _hash(value)
    assert _hash(changed(value, "spec.workerGroupSpecs", groups[::-1])) != _hash(value)


def test_groups_appended_at_the_end_can_be_left_out() -> None:
    more = changed(manifest(), "spec.workerGroupSpecs.-", {"groupName": "b", "template": {}})
    assert _hash(more, groups=1) == _hash(manifest()) == _hash(manifest(), groups=1)
    assert _hash(more, groups=2) == _hash(more)
