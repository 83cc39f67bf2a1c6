"""Services get addresses and ports that nobody else has."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.apiserver.builtin.service.assign import FIRST_PORT, LAST_PORT, Exhausted, NotAssigned, Pool, assign
from tests.apiserver.builtin.judge import causes

Object = dict[str, Any]

_NETWORK = ipaddress.IPv4Network("10.43.0.0/16")
_SMALL = ipaddress.IPv4Network("10.43.0.0/29")


def _service(**spec: Any) -> Object:
    return {"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", "ports": [{"port": 80}], **spec}}


def _first(_count: int) -> int:
    return 0


def _assigned(
    service: Object,
    old: Object | None = None,
    *,
    network: ipaddress.IPv4Network = _NETWORK,
    pick: Callable[[int], int] = _first,
    **pool: Any,
) -> Object:
    assign(service, old, Pool(network, pick, **pool))
    return service["spec"]


def _refused(service: Object, **pool: Any) -> list[list[str]]:
    with pytest.raises(NotAssigned) as refused:
        _assigned(service, **pool)
    return causes(refused.value.errors)


def test_an_address_comes_from_beyond_those_meant_for_choosing() -> None:
    spec = _assigned(_service())
    assert (spec["clusterIP"], spec["clusterIPs"]) == ("10.43.1.1", ["10.43.1.1"])
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")


def test_a_taken_address_is_passed_over() -> None:
    assert _assigned(_service(), taken_ips={"10.43.1.1", "10.43.1.2"})["clusterIP"] == "10.43.1.3"


def test_a_chosen_address_is_kept() -> None:
    assert _assigned(_service(clusterIP="10.43.0.9"))["clusterIPs"] == ["10.43.0.9"]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.43.0.9", "provided IP is already allocated"),
        ("10.99.0.9", "the provided network does not match the current range"),
        ("10.43.0.0", "the provided network does not match the current range"),
        ("10.43.255.255", "the provided network does not match the current range"),
    ],
)
def test_an_address_that_cannot_be_had(address: str, why: str) -> None:
    text = f'Invalid value: ["{address}"]: failed to allocate IP {address}: {why}'
    errors = _refused(_service(clusterIP=address), taken_ips={"10.43.0.9"})
    assert errors == [["spec.clusterIPs", text, "FieldValueInvalid"]]


def test_a_full_network() -> None:
    taken = {str(address) for address in _SMALL}
    with pytest.raises(Exhausted, match=r"^range is full$"):
        _assigned(_service(), network=_SMALL, taken_ips=taken)


@given(st.sets(st.integers(1, 6)), st.integers(0, 100))
def test_every_free_address_of_a_network_is_found(taken: set[int], start: int) -> None:
    addresses = {str(_SMALL.network_address + number) for number in taken}
    try:
        spec = _assigned(_service(), network=_SMALL, taken_ips=addresses, pick=lambda count: start % count)
    except Exhausted:
        assert len(taken) == 6
    else:
        address = ipaddress.IPv4Address(spec["clusterIP"])
        assert address in set(_SMALL.hosts())
        assert str(address) not in addresses


@pytest.mark.parametrize(
    "spec", [{"clusterIP": "None"}, {"type": "ExternalName", "externalName": "a.b"}], ids=["headless", "external"]
)
def test_services_without_an_address(spec: Object) -> None:
    assert _assigned(_service(**spec)).get("clusterIP") in ("None", None)


def test_node_ports() -> None:
    ports = [{"port": 80}, {"port": 81, "nodePort": 30500}, {"port": 80, "protocol": "UDP"}]
    spec = _assigned(_service(type="NodePort", ports=ports), taken_ports={FIRST_PORT})
    assert [port["nodePort"] for port in spec["ports"]] == [FIRST_PORT + 1, 30500, FIRST_PORT + 1]


@pytest.mark.parametrize(
    ("port", "why"),
    [
        (30500, "provided port is already allocated"),
        (80, "provided port is not in the valid range. The range of valid ports is 30000-32767"),
        (LAST_PORT + 1, "provided port is not in the valid range. The range of valid ports is 30000-32767"),
    ],
)
def test_a_port_that_cannot_be_had(port: int, why: str) -> None:
    errors = _refused(_service(type="NodePort", ports=[{"port": 80, "nodePort": port}]), taken_ports={30500})
    assert errors == [["spec.ports[0].nodePort", f"Invalid value: {port}: {why}", "FieldValueInvalid"]]


def test_all_ports_are_gone() -> None:
    with pytest.raises(Exhausted):
        _assigned(_service(type="NodePort"), taken_ports=set(range(FIRST_PORT, LAST_PORT + 1)))


def test_a_load_balancer_may_do_without_ports() -> None:
    spec = _assigned(_service(type="LoadBalancer", allocateLoadBalancerNodePorts=False))
    assert spec["ports"] == [{"port": 80}]


def test_local_traffic_is_watched_through_a_port_of_its_own() -> None:
    spec = _assigned(_service(type="LoadBalancer", externalTrafficPolicy="Local"))
    assert (spec["ports"][0]["nodePort"], spec["healthCheckNodePort"]) == (FIRST_PORT, FIRST_PORT + 1)


def test_a_dry_run_takes_nothing() -> None:
    spec = _assigned(_service(type="NodePort"), dry_run=True)
    assert (spec["clusterIP"], spec["ports"][0]["nodePort"]) == ("10.43.0.0", LAST_PORT + 2)


def test_a_change_keeps_what_was_given() -> None:
    old = _service(type="NodePort")
    _assigned(old)
    new = _service(type="NodePort", ports=[{"port": 80}])
    spec = _assigned(new, old)
    assert spec["clusterIP"] == old["spec"]["clusterIP"]
    assert spec["ports"][0]["nodePort"] == old["spec"]["ports"][0]["nodePort"]


def test_an_external_name_that_becomes_a_service_gets_an_address() -> None:
    old = _service(type="ExternalName", externalName="a.b")
    assert _assigned(_service(), old)["clusterIP"] == "10.43.1.1"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        pytest.param(
            {"ipFamilies": ["IPv6"]},
            [
                [
                    "spec.ipFamilies[0]",
                    'Invalid value: "IPv6": not configured on this cluster',
                    "FieldValueInvalid",
                ]
            ],
            id="a family that is not there",
        ),
        pytest.param(
            {"ipFamilyPolicy": "RequireDualStack"},
            [
                [
                    "spec.ipFamilyPolicy",
                    'Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
                    "FieldValueInvalid",
                ]
            ],
            id="two families are not there",
        ),
    ],
)
def test_families_that_cannot_be_had(spec: Object, errors: list[list[str]]) -> None:
    assert _refused(_service(**spec)) == errors
