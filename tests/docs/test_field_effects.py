"""Each row of the tables of fields is held to what the code does: two specs that differ in one field are compared.

``honoured``: what is made of them, or decided about a cluster that runs, differs. ``read by Ray``: it does not, and the
name is in the source of Ray's autoscaler. ``warned of`` and ``rejected``: the finding names the field.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from tools import fields
from tools.fields import Effect, Row

from rayward.kinds import shapes
from rayward.kinds.managedby import is_managed_here
from rayward.kinds.rayservice import RayService
from rayward.kinds.validation import Problem, cluster_problems, cluster_warnings, service_problems, service_warnings
from rayward.operator.cluster import children as cluster_children
from rayward.operator.cluster.decide import decide
from rayward.operator.cluster.desired import Desired
from rayward.operator.service import children, suspension
from rayward.operator.service.desired import desired_of, policy_of
from tests.operator.cluster.world import NOW, World, cluster
from tests.operator.service.stage import service
from tests.operator.stage import Object, group, manifest, template

_hash: Final = re.compile(r"v\d-[0-9a-f]{32}").fullmatch
_ENV: Final = [{"name": "A", "value": "b"}]
_RULE: Final = [{"ports": [{"port": 1}]}]
_SECRET: Final = {"secretKeyRef": {"name": "s", "key": "k"}}
_AMOUNTS: Final = {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}
_SERVICE: Final = {"metadata": {"labels": {"a": "b"}}, "spec": {"type": "NodePort"}}


@dataclasses.dataclass(frozen=True)
class Case:
    """A field with a value and without, or with another, beside what it needs."""

    value: Any
    beside: Object = dataclasses.field(default_factory=dict[str, Any])
    before: Any = None
    """None: absent."""
    runs: bool = False
    """The difference is in what is decided about pods that run."""
    then: Object = dataclasses.field(default_factory=dict[str, Any])
    """What is edited later, where the field says what an edit does."""


def _autoscaled(value: Any, **options: Any) -> Case:
    return Case(value, {"enableInTreeAutoscaling": True, "autoscalerOptions": options})


def _redis(value: Any, **options: Any) -> Case:
    return Case(value, {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379", **options}})


def _rocksdb(value: Any, **storage: Any) -> Case:
    options = {"backend": "rocksdb", "storage": storage}
    return Case(value, {"rayVersion": "2.60.0", "gcsFaultToleranceOptions": options})


def _ingress(value: Any) -> Case:
    head = {"rayStartParams": {}, "template": template(), "enableIngress": True, "ingressOptions": {}}
    return Case(value, {"headGroupSpec": head})


def _policies(value: Any) -> Case:
    return Case(value, {"networkPolicy": {"mode": "DenyAll", "workerGroups": [{"groupName": "small"}]}})


def _second_version(value: Any) -> Case:
    beside = {"rayVersion": "2.60.0", "enableInTreeAutoscaling": True, "autoscalerOptions": {"version": "v2"}}
    return Case(value, beside)


_CLUSTER: Final[dict[str, Case]] = {
    "metadata": Case(
        {"name": "plain", "annotations": {"rayward.dev/rolling-update": "workers"}}, before={"name": "plain"}
    ),
    "spec.authOptions.enableK8sTokenAuth": Case(True, {"rayVersion": "2.60.0", "authOptions": {"mode": "token"}}),
    "spec.authOptions.mode": Case("token"),
    "spec.authOptions.secretName": Case("mine", {"authOptions": {"mode": "token"}}),
    "spec.autoscalerOptions.args": _autoscaled(["x"]),
    "spec.autoscalerOptions.command": _autoscaled(["x"]),
    "spec.autoscalerOptions.env": _autoscaled(_ENV),
    "spec.autoscalerOptions.envFrom": _autoscaled([{"secretRef": {"name": "s"}}]),
    "spec.autoscalerOptions.idleTimeoutSeconds": _autoscaled(7),
    "spec.autoscalerOptions.image": _autoscaled("own/autoscaler:1"),
    "spec.autoscalerOptions.imagePullPolicy": _autoscaled("Never"),
    "spec.autoscalerOptions.resources": _autoscaled(_AMOUNTS),
    "spec.autoscalerOptions.securityContext": _autoscaled({"runAsUser": 7}),
    "spec.autoscalerOptions.upscalingMode": _autoscaled("Aggressive"),
    "spec.autoscalerOptions.version": _autoscaled("v2"),
    "spec.autoscalerOptions.volumeMounts": _autoscaled([{"name": "v", "mountPath": "/v"}]),
    "spec.enableInTreeAutoscaling": Case(True),
    "spec.gcsFaultToleranceOptions.backend": Case("rocksdb", {"rayVersion": "2.60.0"}),
    "spec.gcsFaultToleranceOptions.externalStorageNamespace": _redis("keys"),
    "spec.gcsFaultToleranceOptions.redisAddress": Case("redis:1", before="redis:2"),
    "spec.gcsFaultToleranceOptions.redisPassword.value": _redis("p"),
    "spec.gcsFaultToleranceOptions.redisPassword.valueFrom": _redis(_SECRET),
    "spec.gcsFaultToleranceOptions.redisUsername.value": _redis("u", redisPassword={"value": "p"}),
    "spec.gcsFaultToleranceOptions.redisUsername.valueFrom": _redis(_SECRET, redisPassword={"value": "p"}),
    "spec.gcsFaultToleranceOptions.storage.accessModes": _rocksdb(["ReadWriteMany"]),
    "spec.gcsFaultToleranceOptions.storage.claimName": _rocksdb("mine"),
    "spec.gcsFaultToleranceOptions.storage.deletionPolicy": _rocksdb("Retain"),
    "spec.gcsFaultToleranceOptions.storage.size": _rocksdb("7Gi"),
    "spec.gcsFaultToleranceOptions.storage.storageClassName": _rocksdb("fast"),
    "spec.gcsFaultToleranceOptions.storage.subPath": _rocksdb("inner", claimName="mine"),
    "spec.headGroupSpec.enableIngress": Case(True),
    "spec.headGroupSpec.headService": Case(_SERVICE),
    "spec.headGroupSpec.ingressOptions.host": _ingress("a.example.com"),
    "spec.headGroupSpec.ingressOptions.path": _ingress("/p"),
    "spec.headGroupSpec.ingressOptions.pathType": _ingress("Exact"),
    "spec.headGroupSpec.ingressOptions.tls": _ingress([{"secretName": "s"}]),
    "spec.headGroupSpec.labels": Case({"a": "b"}),
    "spec.headGroupSpec.rayResources": Case({"CPU": 3}),
    "spec.headGroupSpec.rayStartParams": Case({"num-cpus": "3"}, before={}),
    "spec.headGroupSpec.resources": Case({"CPU": "3"}),
    "spec.headGroupSpec.serviceType": Case("LoadBalancer"),
    "spec.headGroupSpec.template": Case(template(image="ray:other"), before=template()),
    "spec.headServiceAnnotations": Case({"a": "b"}),
    "spec.historyServerOptions": Case({}),
    "spec.historyServerOptions.collectorOptions": Case({}),
    "spec.historyServerOptions.collectorOptions.env": Case(_ENV),
    "spec.historyServerOptions.collectorOptions.image": Case("i"),
    "spec.historyServerOptions.collectorOptions.imagePullPolicy": Case("Always"),
    "spec.historyServerOptions.collectorOptions.resources": Case(_AMOUNTS),
    "spec.managedBy": Case("kueue.x-k8s.io/multikueue"),
    "spec.networkPolicy.head": _policies({"ingressRules": _RULE}),
    "spec.networkPolicy.mode": Case("DenyAllEgress", before="DenyAll"),
    "spec.networkPolicy.worker": Case({"egressRules": _RULE}),
    "spec.networkPolicy.workerGroups[].egressRules": _policies(_RULE),
    "spec.networkPolicy.workerGroups[].groupName": Case(
        "small",
        {"networkPolicy": {"workerGroups": [{"ingressRules": _RULE}]}, "workerGroupSpecs": [group(), group("large")]},
        "large",
    ),
    "spec.networkPolicy.workerGroups[].ingressRules": _policies(_RULE),
    "spec.rayVersion": Case("2.60.0", before="2.40.0"),
    "spec.suspend": Case(True, runs=True),
    "spec.tlsOptions": Case({"enabled": True}),
    "spec.tlsOptions.enabled": Case(True),
    "spec.upgradeStrategy.type": Case(
        "Recreate", runs=True, then={"headGroupSpec": {"rayStartParams": {}, "template": template(image="ray:other")}}
    ),
    "spec.workerGroupSpecs[].groupName": Case("large", before="small"),
    "spec.workerGroupSpecs[].idleTimeoutSeconds": _second_version(7),
    "spec.workerGroupSpecs[].labels": Case({"a": "b"}),
    "spec.workerGroupSpecs[].maxReplicas": Case(1, before=5),
    "spec.workerGroupSpecs[].minReplicas": Case(4, before=0),
    "spec.workerGroupSpecs[].numOfHosts": Case(2),
    "spec.workerGroupSpecs[].priority": _second_version(7),
    "spec.workerGroupSpecs[].rayResources": Case({"CPU": 3}),
    "spec.workerGroupSpecs[].rayStartParams": Case({"num-cpus": "3"}, before={}),
    "spec.workerGroupSpecs[].replicas": Case(3, before=2, runs=True),
    "spec.workerGroupSpecs[].resources": Case({"CPU": "3"}),
    "spec.workerGroupSpecs[].scaleStrategy.workersToDelete": Case(
        ["plain-small-worker-00002"], {"enableInTreeAutoscaling": True}, runs=True
    ),
    "spec.workerGroupSpecs[].suspend": Case(True, runs=True),
    "spec.workerGroupSpecs[].template": Case(template(image="ray:other"), before=template()),
}  # fmt: skip

_CONFIG: Final = {"applications": [{"name": "a", "import_path": "m:app"}]}
_SERVICES: Final[dict[str, Case]] = {
    "metadata": Case({"name": "svc", "annotations": {"rayward.dev/pause": "true"}}, before={"name": "svc"}),
    "spec.deploymentUnhealthyRestartThreshold": Case(2, {"deploymentUnhealthySecondThreshold": 60}),
    "spec.deploymentUnhealthySecondThreshold": Case(60),
    "spec.excludeHeadPodFromServeSvc": Case(True),
    "spec.managedBy": Case("kueue.x-k8s.io/multikueue"),
    "spec.rayClusterConfig": Case(manifest(groups=[group(replicas=7)])["spec"], before=manifest()["spec"]),
    "spec.rayClusterDeletionDelaySeconds": Case(7),
    "spec.serveConfigV2": Case("import_path: m:other", before="import_path: m:app"),
    "spec.serveDeploymentGraphSpec": Case(
        _CONFIG, {"serveConfigV2": ""}, {"applications": [{"name": "a", "import_path": "m:other"}]}
    ),
    "spec.serveService": Case({"metadata": {"labels": {"a": "b"}}}),
    "spec.serviceUnhealthySecondThreshold": Case(7),
    "spec.suspend": Case(True),
    "spec.upgradeStrategy.clusterUpgradeOptions": Case({"gatewayClassName": "g"}),
    "spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName": Case("g"),
    "spec.upgradeStrategy.clusterUpgradeOptions.intervalSeconds": Case(1),
    "spec.upgradeStrategy.clusterUpgradeOptions.maxSurgePercent": Case(1),
    "spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent": Case(1),
    "spec.upgradeStrategy.type": Case("None", before="NewCluster"),
}


def _is_tested(path: str, row: Row) -> bool:
    """What is inside Kubernetes' two fields, and the status, is written elsewhere."""
    return not path.startswith("status") and row.effect is not Effect.SERVER


def _leaves(rows: Mapping[str, Row]) -> set[str]:
    paths = {path for path, row in rows.items() if _is_tested(path, row)}
    return {path for path in paths if not any(other.startswith((f"{path}.", f"{path}[].")) for other in paths)}


def _with(whole: Object, path: str, value: Any) -> Object:
    """The object with a field set; None leaves it out."""
    made = copy.deepcopy(whole)
    at: Any = made
    *way, last = re.findall(r"\w+(?:\[\])?", path)
    for step in way:
        name = step.removesuffix("[]")
        if value is None and name not in at:
            return made
        at = at.setdefault(name, [{}] if step.endswith("[]") else {})
        at = at[0] if step.endswith("[]") else at
    if value is None:
        at.pop(last, None)
    else:
        at[last] = value
    return made


def _pair(whole: Object, path: str, case: Case) -> tuple[Object, Object]:
    whole["spec"].update(copy.deepcopy(case.beside))
    return _with(whole, path, case.before), _with(whole, path, case.value)


def _clusters(path: str) -> tuple[Object, Object]:
    return _pair(manifest(groups=[group(replicas=2, maxReplicas=5)]), path, _CLUSTER[path])


def _services(path: str) -> tuple[Object, Object]:
    whole = service(manifest(groups=[group(replicas=2)])["spec"], "import_path: m:app")
    return _pair(whole, path, _SERVICES[path])


def _shown(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(value, enc_hook=repr), sort_keys=True, default=repr)


def _made_of_cluster(given: Object) -> str:
    """Every object that is made of it."""
    found = cluster(given)
    desired = Desired(found)
    assert list(desired.problems) == []
    pods = [shapes.head_pod(found, "head"), *(shapes.worker_pod(found, each, "w") for each in found.groups)]
    bodies = [child.build(found) for child in desired.children]
    beside = [cluster_children.auth_secret(found, "t"), cluster_children.storage_claim(found)]
    counts = [count(each) for each in found.groups for count in (shapes.min_workers, shapes.max_workers)]
    managed = is_managed_here(found.spec.managed_by)
    return _shown([_unmarked([pods, bodies, beside]), counts, managed])


def _decided(given: Object, running: Object, then: Object) -> list[tuple[str, str]]:
    """What is written when this becomes the spec of a cluster that runs."""
    world = World(cluster(running))
    world.settle()
    edited = copy.deepcopy(given)
    edited["spec"].update(then)
    world.cluster = msgspec.structs.replace(cluster(edited, generation=2), status=world.cluster.status)
    writes = [write for stage in decide(world.state(), NOW).stages for write in stage]
    return [(type(write).__name__, getattr(write, "name", "")) for write in writes]


def _unmarked(value: Any) -> Any:
    """Without the operator's own records: a hash differs with every field, and does nothing by itself."""
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _unmarked(part)
        for name, part in value.items()
        if not (name.startswith("rayward.dev/") or (isinstance(part, str) and _hash(part)))
    }


def _read(given: Object) -> RayService:
    metadata = {"namespace": "ns", "uid": "u", "generation": 1, **given["metadata"]}
    return msgspec.convert({**given, "metadata": metadata}, RayService)


def _made_of_service(given: Object) -> str:
    """The release and how to get there, every object that is made of it, and whether it is suspended."""
    found = _read(given)
    desired, config = desired_of(found), given["spec"]["rayClusterConfig"]
    assert desired.rejected is None
    assert desired.release is not None
    spec = found.spec.ray_cluster_config
    child = children.child_cluster(found, spec, config, "c", desired.release.cluster_hash, desired.config, 0)
    running = cluster({**child, "metadata": {"name": "c"}})
    services = [children.head_service(found, running), children.serve_service(found, running)]
    suspended = suspension.decide((), found.spec.suspend, 1, 1, NOW)
    managed = is_managed_here(found.spec.managed_by)
    return _shown(
        [repr(desired.release), desired.config, repr(policy_of(found)), child, services, repr(suspended), managed]
    )


def _names(findings: list[Problem], path: str) -> bool:
    """Whether one is about the field: it, what it is in, or what is in it."""
    own = path.replace("[]", "[0]")
    return any(own == each.path or own.startswith(f"{each.path}.") or each.path.startswith(own) for each in findings)


def _sources() -> Iterator[str]:
    found = importlib.util.find_spec("ray")
    assert found is not None
    for package in found.submodule_search_locations or ():
        for path in Path(package, "autoscaler").rglob("*.py"):
            yield path.read_text()


@pytest.mark.parametrize(("rows", "cases"), [(fields.CLUSTER, _CLUSTER), (fields.SERVICE, _SERVICES)])
def test_every_field_that_a_user_writes_has_a_case(rows: dict[str, Row], cases: dict[str, Case]) -> None:
    assert _leaves(rows) <= set(cases)
    assert set(cases) <= set(rows)


@pytest.mark.parametrize("path", _CLUSTER)
def test_a_field_of_a_cluster_does_what_its_row_says(path: str) -> None:
    before, after = _clusters(path)
    one, other = cluster(before), cluster(after)
    problems = [cluster_problems(each) for each in (one, other)]
    warnings = [cluster_warnings(each) for each in (one, other)]
    match fields.CLUSTER[path].effect:
        case Effect.REJECTED:
            assert (_names(problems[0], path), _names(problems[1], path)) == (False, True)
        case Effect.READ_BY_RAY:
            assert _made_of_cluster(before) == _made_of_cluster(after), (
                "the operator makes something else of it: the row is wrong"
            )
            name = path.rpartition(".")[2]
            assert any(f'"{name}"' in text for text in _sources()), "Ray does not know it"
        case Effect.HONOURED:
            case = _CLUSTER[path]
            if case.runs:
                assert _decided(before, before, case.then) != _decided(after, before, case.then)
            else:
                assert _made_of_cluster(before) != _made_of_cluster(after)
            assert not _names(warnings[1], path)
        case effect:
            raise AssertionError(f"no row of a cluster has this effect yet: {effect}")


@pytest.mark.parametrize("path", _SERVICES)
def test_a_field_of_a_service_does_what_its_row_says(path: str) -> None:
    before, after = _services(path)
    one, other = _read(before), _read(after)
    assert service_problems(one) == service_problems(other) == []
    warned = [_names(service_warnings(each), path) for each in (one, other)]
    if fields.SERVICE[path].effect is Effect.WARNED:
        assert warned == [False, True]
    else:
        assert fields.SERVICE[path].effect is Effect.HONOURED
        assert (_made_of_service(before) != _made_of_service(after), warned) == (True, [False, False])


_BESIDE: Final[dict[str, Object]] = {
    "nothing": {},
    "a recent Ray": {"rayVersion": "2.60.0"},
    "the autoscaler": {"enableInTreeAutoscaling": True, "autoscalerOptions": {}},
    "autoscaler v2": {
        "rayVersion": "2.60.0",
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": {"version": "v2"},
    },
    "Redis": {"gcsFaultToleranceOptions": {"redisAddress": "redis:1"}},
    "a volume": {"rayVersion": "2.60.0", "gcsFaultToleranceOptions": {"backend": "rocksdb"}},
    "a claim": {
        "rayVersion": "2.60.0",
        "gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": {"claimName": "mine"}},
    },
    "a token": {"rayVersion": "2.60.0", "authOptions": {"mode": "token"}},
    "no token": {"authOptions": {"mode": "disabled"}},
    "a policy": {"networkPolicy": {"mode": "DenyAll"}},
    "a policy of one direction": {"networkPolicy": {"mode": "DenyAllEgress"}},
    "suspension": {"suspend": True},
}
"""What may take the effect of a field away."""


@pytest.mark.parametrize("name", _BESIDE)
def test_no_field_is_silent_whatever_is_beside_it(name: str) -> None:
    """It does something, or somebody says that it does not: a problem, or a warning that names it."""
    silent: list[str] = []
    for path, case in _CLUSTER.items():
        whole = manifest(groups=[group(replicas=2, maxReplicas=5)])
        whole["spec"].update(copy.deepcopy(_BESIDE[name]))
        before, after = _with(whole, path, case.before), _with(whole, path, case.value)
        one, other = cluster(before), cluster(after)
        told = cluster_problems(one) or cluster_problems(other) or _is_told(cluster_warnings(other), path)
        if told or case.runs or fields.CLUSTER[path].effect is Effect.READ_BY_RAY:
            continue
        if _made_of_cluster(before) == _made_of_cluster(after):
            silent.append(path)
    assert silent == []


def _is_told(warnings: list[Problem], path: str) -> bool:
    """A warning about the mode tells of all that follows from it."""
    return _names(warnings, path) or _names(warnings, path.rpartition(".")[0] + ".mode")


def test_a_field_without_effect_would_be_found() -> None:
    before = manifest()
    after = _with(before, "spec.workerGroupSpecs[].fresh", 1)
    assert _made_of_cluster(before) == _made_of_cluster(after)
    assert _decided(before, before, {}) == _decided(after, before, {})
    assert _made_of_service(service(before["spec"])) == _made_of_service(
        _with(service(before["spec"]), "spec.fresh", 1)
    )
