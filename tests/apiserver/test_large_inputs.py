"""Inputs with more digits, items or mistakes than anybody means: refused in Kubernetes' words, or taken in one pass."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from typing import Any

import pytest

from tests.apiserver.fuzz.judge import Asked
from tests.apiserver.fuzz.session import Wire
from tests.contract.server import Server
from tests.contract.target import embedded_server

_MAPS = "/api/v1/namespaces/default/configmaps"
Object = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with embedded_server() as server:
        with contextlib.closing(Wire(server)) as wire:
            account = json.dumps({"metadata": {"name": "default"}}).encode()
            path = "/api/v1/namespaces/default/serviceaccounts"
            assert wire.send(Asked("POST", path, account)).code == 201
        yield server


@pytest.fixture
def wire(server: Server) -> Generator[Wire]:
    with contextlib.closing(Wire(server)) as wire:
        yield wire


_DIGITS = "1" * 5_000
_DRY = "?dryRun=All"
_APPS = "/apis/apps/v1/namespaces/default/deployments"
_TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def _created(path: str, name: str = "hostile", **more: Any) -> Asked:
    metadata = {"name": name, **more.pop("metadata", {})}
    return Asked("POST", path + _DRY, json.dumps({"metadata": metadata, **more}).encode())


def _pod(
    volumes: Any = (),
    container: Object | None = None,
    more: Object | None = None,
    name: str = "hostile",
    **metadata: Any,
) -> Asked:
    containers = [{"name": "c", "image": "i", **(container or {})}]
    spec = {"containers": containers, "volumes": list(volumes), "automountServiceAccountToken": False, **(more or {})}
    return _created("/api/v1/namespaces/default/pods", name, metadata=metadata, spec=spec)


def _deployment(**rolling: Any) -> Asked:
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE, "strategy": strategy}
    return _created(_APPS, spec=spec)


def _budget(**spec: Any) -> Asked:
    return _created("/apis/policy/v1/namespaces/default/poddisruptionbudgets", spec={"selector": {}, **spec})


def _policy(cidr: str) -> Asked:
    spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": cidr}}]}]}
    return _created("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", spec=spec)


def _service(**spec: Any) -> Asked:
    return _created("/api/v1/namespaces/default/services", spec={"ports": [{"port": 80}], **spec})


def _job(indexes: str) -> Asked:
    rules = {"rules": [{"succeededIndexes": indexes}]}
    template = {"spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}}
    spec = {"completionMode": "Indexed", "completions": 5, "successPolicy": rules, "template": template}
    return _created("/apis/batch/v1/namespaces/default/jobs", spec=spec)


_COST = {"controller.kubernetes.io/pod-deletion-cost": _DIGITS}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        pytest.param(_pod(annotations=_COST), "must be a 32bit integer", id="a deletion cost"),
        pytest.param(_deployment(maxUnavailable=f"{_DIGITS}%"), "must not be greater than 100%", id="pods unavailable"),
        pytest.param(_budget(minAvailable=f"{_DIGITS}%"), "must not be greater than 100%", id="a budget"),
        pytest.param(_policy(f"10.0.0.0/{_DIGITS}"), "must be a valid CIDR value", id="a block of addresses"),
        pytest.param(
            _service(type="LoadBalancer", loadBalancerSourceRanges=[f"10.0.0.0/{_DIGITS}"]),
            "must be a valid CIDR value",
            id="a source range",
        ),
        pytest.param(
            _created("/api/v1/nodes", spec={"podCIDRs": [f"10.0.0.0/{_DIGITS}"]}),
            "must be a valid CIDR value",
            id="a node's range",
        ),
        pytest.param(_job(_DIGITS), "cannot convert string to integer for index", id="an index of a Job"),
    ],
)
def test_more_digits_than_a_number_holds_are_refused_as_kubernetes_does(asked: Asked, says: str, wire: Wire) -> None:
    answered = wire.send(asked)

    assert answered.code == 422, answered.body[:300]
    assert says in json.loads(answered.body)["message"]


def test_a_share_beyond_every_number_is_a_share_all_the_same(wire: Wire) -> None:
    assert wire.send(_deployment(maxSurge=f"{_DIGITS}%", maxUnavailable=0)).code == 201


def _projections(count: int) -> list[Object]:
    sources = [{"secret": {"name": f"s{n}", "items": [{"key": "a", "path": f"p{n}"}]}} for n in range(count)]
    return [{"name": "v", "projected": {"sources": sources}}]


def _items(paths: list[str]) -> list[Object]:
    return [{"name": "v", "configMap": {"name": "m", "items": [{"key": "a", "path": path} for path in paths]}}]


def _owners(count: int) -> Asked:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": f"a{n}", "uid": f"{n}"} for n in range(count)]
    return _created(_MAPS, metadata={"ownerReferences": owners})


def _ports(count: int) -> Object:
    return {"ports": [{"containerPort": 80, "hostPort": port} for port in range(1, count)]}


def _spread(count: int) -> Object:
    zones = [{"maxSkew": 1, "topologyKey": f"z{n}", "whenUnsatisfiable": "ScheduleAnyway"} for n in range(count)]
    selector = {"matchExpressions": [{"key": f"k{n}", "operator": "Exists"} for n in range(count)]}
    term = {
        "topologyKey": "zone",
        "labelSelector": selector,
        "matchLabelKeys": [f"m{n}" for n in range(count)],
        "mismatchLabelKeys": [f"n{n}" for n in range(count)],
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {"topologySpreadConstraints": zones, "affinity": affinity}


def _claims(count: int) -> tuple[Object, Object]:
    names = [f"d{n}" for n in range(count)]
    devices = [{"name": name, "resourceClaimName": "device"} for name in names]
    return {"resources": {"claims": [{"name": name} for name in names]}}, {"resourceClaims": devices}


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(_owners(40_000), id="owners"),
        pytest.param(_pod(_projections(30_000)), id="files of a volume"),
        pytest.param(_pod(_items(["a/" * depth for depth in range(1, 1_600)])), id="files on top of each other"),
        pytest.param(_pod(_items(["a"] * 50_000)), id="files of one name"),
        pytest.param(_pod(container=_ports(40_000)), id="ports of the host"),
        pytest.param(_pod(more=_spread(10_000)), id="ways to spread"),
        pytest.param(_pod((), *_claims(30_000)), id="devices"),
    ],
)
def test_what_is_much_is_taken_in_one_pass(asked: Asked, wire: Wire) -> None:
    answered = wire.send(asked)

    assert answered.code == 201, answered.body[:300]


def test_mistakes_that_show_megabytes_each_are_told_as_far_as_an_answer_has_room(wire: Wire) -> None:
    volume = {"name": "v", "quobyte": {"registry": "a," * 500_000, "volume": "v"}}

    answered = wire.send(_pod([volume]))

    assert answered.code == 422
    assert len(answered.body) < 8 << 20
    assert "and 500000 more" in json.loads(answered.body)["message"]


def test_thousands_of_items_are_deleted_from_a_list_in_one_pass(wire: Wire) -> None:
    names = [f"E{n}" for n in range(20_000)]
    variables = {"env": [{"name": name, "value": "x"} for name in names]}
    made = _pod(container=variables, name="many")
    assert wire.send(Asked("POST", made.path.removesuffix(_DRY), made.body)).code == 201
    gone = {"name": "c", "env": [{"$patch": "delete", "name": name} for name in names]}
    body = json.dumps({"spec": {"containers": [gone]}}).encode()

    answered = wire.send(
        Asked("PATCH", "/api/v1/namespaces/default/pods/many", body, "application/strategic-merge-patch+json")
    )

    assert answered.code == 422
    assert "pod updates may not change fields" in json.loads(answered.body)["message"]
