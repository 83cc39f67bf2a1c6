"""What a Workload asks for follows the LimitRanges and RuntimeClasses of the cluster, as its pods do."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kube.core.poddefaults import LimitRange, RuntimeClass
from rayward.quota.engine.poddefaults import PodDefaults
from rayward.quota.engine.requests import pod_requests
from rayward.quota.ledger import Ledger, Objects
from tests.quota.engine.building import Laboratory, cluster_queue, flavor, local_queue, workload

_EMPTY: dict[str, Any] = {"containers": [{"name": "c"}]}
_TWO = {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]}


def _limits(name: str = "limits", namespace: str = "ns", kind: str = "Container", **amounts: Any) -> LimitRange:
    body = {"metadata": {"name": name, "namespace": namespace}, "spec": {"limits": [{"type": kind, **amounts}]}}
    return msgspec.convert(body, LimitRange)


def _runtime(name: str = "sandboxed", cpu: Any = "250m") -> RuntimeClass:
    return msgspec.convert({"metadata": {"name": name}, "overhead": {"podFixed": {"cpu": cpu}}}, RuntimeClass)


def _container(**resources: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": resources}]}


@pytest.mark.parametrize(
    ("there", "spec", "cpu"),
    [
        pytest.param([], _EMPTY, None, id="nothing is added where nothing is said"),
        pytest.param([_limits(defaultRequest={"cpu": "500m"})], _EMPTY, 500, id="request by default"),
        pytest.param([_limits(default={"cpu": 2})], _EMPTY, 2000, id="limit by default"),
        pytest.param([_limits(default={"cpu": 2}, defaultRequest={"cpu": 1})], _EMPTY, 1000, id="request before limit"),
        pytest.param([_limits(defaultRequest={"cpu": 1})], _TWO, 2000, id="each container"),
        pytest.param(
            [_limits(defaultRequest={"cpu": 1})], _container(requests={"cpu": 3}), 3000, id="its own request first"
        ),
        pytest.param([_limits(defaultRequest={"cpu": 1})], _container(limits={"cpu": 3}), 3000, id="its own limit"),
        pytest.param(
            [_limits(defaultRequest={"cpu": 1})], _container(requests={"memory": 1}), 1000, id="what it does not name"
        ),
        pytest.param([_limits(namespace="other", defaultRequest={"cpu": 1})], _EMPTY, None, id="another namespace"),
        pytest.param([_limits(kind="Pod", default={"cpu": 1})], _EMPTY, None, id="not of containers"),
        pytest.param(
            [_limits("b", defaultRequest={"cpu": 2}), _limits("a", defaultRequest={"cpu": 1})],
            _EMPTY,
            1000,
            id="the first of two",
        ),
        pytest.param([_runtime()], {**_EMPTY, "runtimeClassName": "sandboxed"}, 250, id="overhead"),
        pytest.param([_runtime()], _EMPTY, None, id="no runtime class named"),
        pytest.param([_runtime("other")], {**_EMPTY, "runtimeClassName": "sandboxed"}, None, id="another class"),
        pytest.param(
            [_runtime()],
            {**_EMPTY, "runtimeClassName": "sandboxed", "overhead": {"cpu": 1}},
            1000,
            id="overhead of its own",
        ),
        pytest.param(
            [_runtime(), _limits(defaultRequest={"cpu": 1})],
            {**_EMPTY, "runtimeClassName": "sandboxed"},
            1250,
            id="both",
        ),
    ],
)
def test_a_pod_asks_for_what_the_api_server_will_add(
    there: list[LimitRange | RuntimeClass], spec: dict[str, Any], cpu: int | None
) -> None:
    defaults = PodDefaults()
    for one in there:
        defaults.put(one)
    assert pod_requests(defaults.applied("ns", spec)).get("cpu") == cpu


def test_what_is_gone_adds_nothing() -> None:
    defaults = PodDefaults()
    for one in (_limits(defaultRequest={"cpu": 1}), _runtime()):
        assert defaults.put(one)
        assert not defaults.put(one)
        assert defaults.put(one, gone=True)
        assert not defaults.put(one, gone=True)
    assert defaults.applied("ns", _EMPTY) is _EMPTY


def _asking(name: str, **more: Any) -> Any:
    bare = {"name": "main", "count": 2, "template": {"spec": {"containers": [{"name": "c"}]}}}
    made = workload(name, "a", [bare], **more)
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, generation=1))


def test_what_waits_is_read_again_when_defaults_change_and_what_holds_quota_keeps_it() -> None:
    lab = Laboratory().queues(cluster_queue("a", {"default": {"cpu": 6}}))
    lab.engine.set_pod_defaults(_limits(defaultRequest={"cpu": 2}))
    lab.workloads(_asking("first", created=1), _asking("second", created=2))
    assert list(lab.run().admitted) == ["first"]
    held = lab.engine.forest.queues["a"].usage
    assert held == {("default", "cpu"): 4000}
    lab.engine.set_pod_defaults(_limits("elsewhere", "other", defaultRequest={"cpu": 2}))
    assert lab.run().admitted == {}
    lab.engine.set_pod_defaults(_limits(defaultRequest={"cpu": 1}))
    assert list(lab.run().admitted) == ["second"]
    assert held == {("default", "cpu"): 6000}


def test_a_ledger_says_what_the_pods_will_have() -> None:
    found = Objects(
        flavors=[flavor("default")],
        cluster_queues=[cluster_queue("a", {"default": {"cpu": 6}})],
        local_queues=[local_queue("a", "a")],
        namespaces={"ns": {}},
        pod_defaults=[_limits(defaultRequest={"cpu": 2}), _runtime()],
    )
    assert Ledger(found, 0).verdict(_asking("w")).need == {"cpu": "4"}
