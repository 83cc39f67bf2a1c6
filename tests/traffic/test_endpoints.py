"""Which endpoints take something new, and how traffic is divided."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kube.core.service import EndpointSlice, Service, ServicePort
from rayward.local.traffic.endpoints import Found, Share, counterpart, find, shares, speaks_http

_PORT = ServicePort(port=80, name="http")


def _slice(*endpoints: dict[str, Any], **more: Any) -> EndpointSlice:
    whole = {"addressType": "IPv4", "ports": [{"name": "http", "port": 8080}], "endpoints": list(endpoints), **more}
    return msgspec.convert(whole, EndpointSlice)


def _endpoint(number: int, **conditions: bool) -> dict[str, Any]:
    return {
        "addresses": [f"10.42.0.{number}"],
        "conditions": conditions,
        "targetRef": {"kind": "Pod", "name": f"pod-{number}"},
    }


def _numbers(*slices: EndpointSlice) -> list[int]:
    return [int(found.address.rpartition(".")[2]) for found in find(_PORT, slices)]


@pytest.mark.parametrize(
    ("endpoints", "chosen"),
    [
        pytest.param([_endpoint(1)], [1], id="unknown-is-ready"),
        pytest.param([_endpoint(1, ready=True), _endpoint(2, ready=False)], [1], id="only-the-ready"),
        pytest.param(
            [_endpoint(1, ready=True), _endpoint(2, ready=False, serving=True, terminating=True)],
            [1],
            id="none-that-ends-beside-a-ready-one",
        ),
        pytest.param(
            [_endpoint(1, ready=False, serving=True, terminating=True), _endpoint(2, ready=False, serving=False)],
            [1],
            id="one-that-ends-if-no-other-is-left",
        ),
        pytest.param([_endpoint(1, ready=False, serving=False, terminating=True)], [], id="one-that-ended"),
    ],
)
def test_who_takes_something_new(endpoints: list[dict[str, Any]], chosen: list[int]) -> None:
    assert _numbers(_slice(*endpoints)) == chosen


def test_slices_are_one_list() -> None:
    ending = _endpoint(1, ready=False, serving=True, terminating=True)
    assert _numbers(_slice(ending), _slice(_endpoint(2, ready=True)), _slice(_endpoint(2, ready=True))) == [2]


def test_an_endpoint_has_the_port_of_its_slice() -> None:
    assert find(_PORT, [_slice(_endpoint(1))]) == (Found("pod-1", "10.42.0.1", 8080),)
    assert find(ServicePort(port=80, name="other"), [_slice(_endpoint(1))]) == ()
    assert find(ServicePort(port=80, name="http", protocol="UDP"), [_slice(_endpoint(1))]) == ()


def test_other_address_families_and_empty_slices_are_passed_over() -> None:
    assert _numbers(_slice(_endpoint(1), addressType="IPv6")) == []
    assert _numbers(_slice(endpoints=None, ports=None)) == []


@pytest.mark.parametrize(
    ("port", "http"),
    [
        (ServicePort(port=9000, name="serve"), True),
        (ServicePort(port=9000, name="serve-http"), True),
        (ServicePort(port=9000, app_protocol="http"), True),
        (ServicePort(port=8000), True),
        (ServicePort(port=8000, app_protocol="grpc"), False),
        (ServicePort(port=8000, protocol="UDP"), False),
        (ServicePort(port=8265, name="dashboard"), False),
        (ServicePort(port=80, name="server"), False),
    ],
)
def test_ports_for_serve(port: ServicePort, http: bool) -> None:
    assert speaks_http(port) == http


def test_a_port_of_another_service_is_found_by_name_then_by_number() -> None:
    ports = [ServicePort(port=80, name="a"), ServicePort(port=81, name="b"), ServicePort(port=82, protocol="UDP")]
    assert counterpart(ServicePort(port=80, name="b"), ports) == ports[1]
    assert counterpart(ServicePort(port=81, name="c"), ports) == ports[1]
    assert counterpart(ServicePort(port=82), ports) is None


def _annotated(text: str) -> Service:
    return msgspec.convert({"metadata": {"annotations": {"rayward.dev/backends": text}}}, Service)


def test_how_traffic_is_divided() -> None:
    assert shares(Service()) is None
    divided = shares(_annotated('[{"service": "a", "weight": 90}, {"service": "b", "weight": 10}]'))
    assert divided == (Share("a", 90), Share("b", 10))


@pytest.mark.parametrize(
    "text",
    ["no json", "{}", "[]", '[{"weight": 1}]', '[{"service": "a", "weight": -1}]', '[{"service": "a", "weight": "x"}]'],
)
def test_a_wrong_division_is_explained(text: str) -> None:
    problem = shares(_annotated(text))
    assert isinstance(problem, str)
    assert "rayward.dev/backends" in problem
