"""Where services answer in a shell."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.core.service import Service, ServicePort
from rayward.local.addresses import alternatives, moved_text, shell_addresses, shell_addresses_of, shell_ports


def _object(cluster_ip: str, *ports: int, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    listed = [{"port": port, "name": f"p{port}"} for port in ports]
    return {
        "metadata": {"name": "web", "namespace": "default", "annotations": annotations},
        "spec": {"clusterIP": cluster_ip, "ports": listed, **spec},
    }


@pytest.mark.parametrize(
    ("service", "places"),
    [
        pytest.param(_object("10.43.7.9", 8000), ["127.43.7.9:8000"], id="cluster-ip"),
        pytest.param(_object("10.96.7.9", 8265), ["127.43.7.9:8265"], id="another-range"),
        pytest.param(_object("10.43.7.9", 80, 443), ["127.43.7.9:10080", "127.43.7.9:10443"], id="low-ports"),
        pytest.param(_object("10.43.7.9", 80, 10080), ["127.43.7.9:20080", "127.43.7.9:10080"], id="both"),
        pytest.param(_object("None", 8265), ["127.44.130.179:8265"], id="headless"),
        pytest.param(
            _object("10.43.7.9", 8000, annotations={"rayward.dev/shell-ports": '{"TCP/8000": 18000}'}),
            ["127.43.7.9:18000"],
            id="moved",
        ),
        pytest.param(
            _object("10.43.7.9", 8000, annotations={"rayward.dev/shell-ports": "nonsense"}),
            ["127.43.7.9:8000"],
            id="unreadable",
        ),
        pytest.param(_object("10.43.7.9"), [], id="no-ports"),
        pytest.param(_object("", 80, type="ExternalName", externalName="x.y"), [], id="external"),
        pytest.param(_object("fd00::1", 80), [], id="IPv6"),
    ],
)
def test_shell_addresses(service: dict[str, Any], places: list[str]) -> None:
    assert [str(one) for one in shell_addresses_of(service)] == places
    assert shell_addresses(msgspec.convert(service, Service)) == shell_addresses_of(service)


@given(st.lists(st.integers(min_value=1, max_value=65535), unique=True, max_size=20))
def test_no_two_ports_of_a_service_meet_and_none_needs_root(numbers: list[int]) -> None:
    found = shell_ports([ServicePort(port=number) for number in numbers])
    assert len(found) == len(numbers)
    assert len(set(found.values())) == len(numbers)
    assert all(1024 <= port <= 65535 for port in found.values())


@pytest.mark.parametrize(("port", "first"), [(80, 10080), (8000, 18000), (60000, 50000)])
def test_alternatives(port: int, first: int) -> None:
    assert alternatives(port)[0] == first


def test_the_annotation_is_there_only_if_needed() -> None:
    assert moved_text({}) is None
    assert moved_text({"TCP/80": 20080}) == '{"TCP/80":20080}'
