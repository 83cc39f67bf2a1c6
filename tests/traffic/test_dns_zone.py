"""What names of the cluster mean."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest

from rayward.kube.core.objects import Key
from rayward.kube.core.service import EndpointSlice, Service
from rayward.local.traffic.dns.message import Code, Kind
from rayward.local.traffic.dns.zone import answer


class View:
    """A small cluster."""

    def __init__(self, services: list[dict[str, Any]], slices: dict[str, list[dict[str, Any]]]) -> None:
        self._services = {one.key: one for one in (msgspec.convert(service, Service) for service in services)}
        self._slices = {name: [msgspec.convert(one, EndpointSlice) for one in found] for name, found in slices.items()}

    def service(self, key: Key) -> Service | None:
        return self._services.get(key)

    def services(self, namespace: str | None = None) -> Iterable[Service]:
        return [one for one in self._services.values() if namespace in (None, one.metadata.namespace)]

    def slices(self, key: Key) -> Sequence[EndpointSlice]:
        return self._slices.get(key.name, [])


def _service(name: str, cluster_ip: str, **spec: Any) -> dict[str, Any]:
    ports = [{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"clusterIP": cluster_ip, "ports": ports, **spec},
    }


_SLICE = {
    "addressType": "IPv4",
    "ports": [{"name": "http", "port": 8080}],
    "endpoints": [
        {"addresses": ["10.42.0.5"], "hostname": "zero", "conditions": {"ready": True}},
        {"addresses": ["10.42.0.6"], "conditions": {"ready": True}},
        {"addresses": ["10.42.0.7"], "hostname": "two", "conditions": {"ready": False}},
    ],
}
VIEW = View(
    [
        _service("web", "10.43.0.7"),
        _service("set", "None"),
        _service("early", "None", publishNotReadyAddresses=True),
        _service("empty", "None"),
        _service("elsewhere", "", type="ExternalName", externalName="Example.COM."),
        _service("nickname", "", type="ExternalName", externalName="web.default.svc.cluster.local"),
    ],
    {"set": [_SLICE], "early": [_SLICE]},
)


def _addresses(name: str) -> tuple[Code, list[str]] | None:
    found = answer(name, Kind.A, VIEW)
    return found and (found[0], [str(ipaddress.IPv4Address(one.data)) for one in found[1] if one.kind == Kind.A])


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("web.default.svc.cluster.local", ["10.43.0.7"]),
        ("set.default.svc.cluster.local", ["10.42.0.5", "10.42.0.6"]),
        ("early.default.svc.cluster.local", ["10.42.0.5", "10.42.0.6", "10.42.0.7"]),
        ("empty.default.svc.cluster.local", []),
        ("zero.set.default.svc.cluster.local", ["10.42.0.5"]),
        ("10-42-0-6.set.default.svc.cluster.local", ["10.42.0.6"]),
        ("10-42-0-9.default.pod.cluster.local", ["10.42.0.9"]),
        ("nickname.default.svc.cluster.local", ["10.43.0.7"]),
        ("elsewhere.default.svc.cluster.local", []),
        ("default.svc.cluster.local", []),
        ("svc.cluster.local", []),
        ("cluster.local", []),
    ],
)
def test_names_that_are_there(name: str, addresses: list[str]) -> None:
    assert _addresses(name) == (Code.OK, addresses)


@pytest.mark.parametrize(
    "name",
    [
        "missing.default.svc.cluster.local",
        "web.other.svc.cluster.local",
        "other.svc.cluster.local",
        "two.set.default.svc.cluster.local",
        "x.web.default.svc.cluster.local",
        "example.com.default.svc.cluster.local",
        "nothing.default.pod.cluster.local",
        "nonsense.cluster.local",
    ],
)
def test_names_that_are_not(name: str) -> None:
    assert _addresses(name) == (Code.NO_SUCH_NAME, [])


@pytest.mark.parametrize("name", ["example.com", "web", "cluster.local.example.com", "8.8.8.8.in-addr.arpa", ""])
def test_names_of_others(name: str) -> None:
    assert answer(name, Kind.A, VIEW) is None


def test_there_are_no_addresses_of_the_next_generation() -> None:
    assert answer("web.default.svc.cluster.local", Kind.AAAA, VIEW) == (Code.OK, [])
    assert answer("missing.default.svc.cluster.local", Kind.AAAA, VIEW) == (Code.NO_SUCH_NAME, [])


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("_http._tcp.web.default.svc.cluster.local", [(80, b"\x03web\x07default\x03svc")]),
        ("_dns._udp.web.default.svc.cluster.local", [(53, b"\x03web\x07default\x03svc")]),
        ("_http._tcp.set.default.svc.cluster.local", [(8080, b"\x04zero\x03set"), (8080, b"\x0910-42-0-6\x03set")]),
    ],
)
def test_ports_by_name(name: str, targets: list[tuple[int, bytes]]) -> None:
    found = answer(name, Kind.SRV, VIEW)
    assert found is not None
    told = [(int.from_bytes(one.data[4:6], "big"), one.data[6:]) for one in found[1]]
    assert len(told) == len(targets)
    for (port, target), (wanted, beginning) in zip(told, targets, strict=True):
        assert port == wanted
        assert target.startswith(beginning)


def test_a_port_that_is_not_there() -> None:
    assert answer("_ftp._tcp.web.default.svc.cluster.local", Kind.SRV, VIEW) == (Code.NO_SUCH_NAME, [])


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("7.0.43.10.in-addr.arpa", b"\x03web\x07default\x03svc\x07cluster\x05local\x00"),
        ("5.0.42.10.in-addr.arpa", b"\x04zero\x03set\x07default\x03svc\x07cluster\x05local\x00"),
    ],
)
def test_names_of_addresses(name: str, target: bytes) -> None:
    found = answer(name, Kind.PTR, VIEW)
    assert found is not None
    assert [one.data for one in found[1]] == [target]


def test_addresses_without_a_name() -> None:
    assert answer("9.9.42.10.in-addr.arpa", Kind.PTR, VIEW) == (Code.NO_SUCH_NAME, [])
