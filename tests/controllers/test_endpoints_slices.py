"""How endpoints are spread over slices."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayward.local.controllers.endpoints.service import SelectingService
from rayward.local.controllers.endpoints.slices import LARGEST, Plan, plan, slice_labels
from rayward.local.controllers.pods import SeenPod

Object = dict[str, Any]

_ZONES = {"n": ""}


def _service(**metadata: Any) -> SelectingService:
    about = {"name": "web", "namespace": "x", "uid": "service", **metadata}
    ports = [{"name": "http", "port": 80, "targetPort": "http"}]
    spec = {"selector": {"app": "web"}, "ports": ports, "clusterIP": "10.43.0.9", "ipFamilies": ["IPv4"]}
    return msgspec.convert({"metadata": about, "spec": spec}, SelectingService)


def _pod(number: int, *, port: int = 8000, ready: bool = True, node: str = "n") -> SeenPod:
    metadata = {"name": f"p{number}", "namespace": "x", "uid": f"u{number}", "labels": {"app": "web"}}
    containers = [{"name": "c", "ports": [{"name": "http", "containerPort": port}]}]
    status = {
        "phase": "Running",
        "podIP": f"10.42.{number // 250}.{number % 250}",
        "podIPs": [{"ip": f"10.42.{number // 250}.{number % 250}"}],
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
    }
    pod = {"metadata": metadata, "spec": {"nodeName": node, "containers": containers}, "status": status}
    return msgspec.convert(pod, SeenPod)


def _apply(slices: list[Object], wanted: Plan) -> list[Object]:
    """What the server holds after the writes."""
    there = {found["metadata"]["name"]: found for found in slices}
    for name in wanted.delete:
        del there[name]
    for made in wanted.update:
        assert made["metadata"]["name"] in there, "only what is there is updated"
        there[made["metadata"]["name"]] = made
    for made in wanted.create:
        name = f"s{len(there)}"
        while name in there:
            name += "x"
        there[name] = {**made, "metadata": {**made["metadata"], "name": name}}
    return list(there.values())


def _after(*states: list[SeenPod], service: SelectingService | None = None) -> list[Object]:
    slices: list[Object] = []
    for pods in states:
        slices = _apply(slices, plan(service or _service(), pods, _ZONES, slices, None))
    return slices


def _sizes(slices: list[Object]) -> list[int]:
    return sorted(len(found["endpoints"]) for found in slices)


_MANY = [_pod(number) for number in range(250)]


@pytest.mark.parametrize(
    ("states", "sizes"),
    [
        ([[]], [0]),
        ([_MANY[:1]], [1]),
        ([_MANY[:100]], [100]),
        ([_MANY[:101]], [1, 100]),
        ([_MANY], [50, 100, 100]),
        ([_MANY[:150], _MANY[50:150]], [50, 50]),
        ([_MANY[:150], _MANY[:200]], [100, 100]),
        ([_MANY[:150], _MANY[50:160]], [50, 60]),
        ([_MANY[:10], []], [0]),
        ([_MANY[:10], [], _MANY[:5]], [5]),
        ([[_pod(1), _pod(2, port=9)]], [1, 1]),
        ([[_pod(1), _pod(2, node="gone")]], [1]),
    ],
    ids=[
        "none: one empty slice",
        "one",
        "a full slice",
        "one more",
        "many",
        "slices are not merged",
        "what comes fills up a slice",
        "slices that change are filled first",
        "all go: the slice stays and is empty",
        "and is used again",
        "pods with other ports have their own slice",
        "not on a node that is gone",
    ],
)
def test_slices(states: list[list[SeenPod]], sizes: list[int]) -> None:
    assert _sizes(_after(*states)) == sizes


def test_nothing_is_written_when_nothing_changed() -> None:
    assert plan(_service(), _MANY, _ZONES, _after(_MANY), "2026-01-01T00:00:00Z") == Plan()


def test_one_change_is_one_write() -> None:
    written = plan(_service(), [_pod(0, ready=False), *_MANY[1:]], _ZONES, _after(_MANY), None)
    assert (len(written.create), len(written.update), len(written.delete)) == (0, 1, 0)


def test_slices_of_a_namesake_are_deleted_and_not_used() -> None:
    before = _after(_MANY[:2], service=_service(uid="older"))
    written = plan(_service(), _MANY[:2], _ZONES, before, None)
    assert (len(written.create), len(written.update), len(written.delete)) == (1, 0, 1)


def test_a_service_that_is_going_gets_no_new_slice() -> None:
    going = _service(deletionTimestamp="2026-01-01T00:00:00Z")
    assert plan(going, _MANY[:2], _ZONES, [], None) == Plan()


def test_labels_follow_the_service_but_for_those_that_name_it() -> None:
    service = _service(labels={"a": "b", "kubernetes.io/service-name": "liar"})
    assert slice_labels(service) == {
        "a": "b",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }


_pods = st.lists(
    st.builds(
        lambda number, port, ready, node: _pod(number, port=port, ready=ready, node=node),
        st.integers(0, 400),
        st.sampled_from([8000, 8000, 8000, 9000]),
        st.booleans(),
        st.sampled_from(["n", "n", "n", "gone"]),
    ),
    max_size=300,
    unique_by=lambda pod: pod.metadata.name,
)


@settings(max_examples=60)
@given(st.lists(_pods, min_size=1, max_size=4))
def test_whatever_happens_every_pod_is_in_one_slice(states: list[list[SeenPod]]) -> None:
    slices = _after(*states)
    placed = [endpoint["targetRef"]["name"] for found in slices for endpoint in found["endpoints"]]
    assert sorted(placed) == sorted(pod.metadata.name for pod in states[-1] if pod.spec.node_name == "n")
    assert all(len(found["endpoints"]) <= LARGEST for found in slices)
    assert plan(_service(), states[-1], _ZONES, slices, None) == Plan(), "and then nothing is left to do"
