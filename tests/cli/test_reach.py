"""Addresses that work from the user's shell."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.cli.failure import CommandError
from rayward.cli.raytoken import secret_name
from rayward.cli.reach import addresses, url


def _service(cluster_ip: str, *ports: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "ClusterIP", "clusterIP": cluster_ip, "ports": [{"protocol": "TCP", **port} for port in ports]}
    return {"metadata": {"name": "s", "namespace": "n"}, "spec": spec}


def test_every_port_of_a_service_has_an_address() -> None:
    service = _service("10.43.7.8", {"port": 80}, {"port": 8265})
    assert addresses(service) == "127.43.7.8:10080,127.43.7.8:8265"
    assert addresses(None) == ""


@pytest.mark.parametrize(
    ("service", "found"),
    [
        (
            _service("10.43.1.2", {"port": 9999, "name": "dashboard"}, {"port": 8265, "name": "x"}),
            "http://127.43.1.2:9999",
        ),
        (_service("10.43.1.2", {"port": 8265}), "http://127.43.1.2:8265"),
        (_service("10.43.1.2", {"port": 6379}), "<none>"),
        (None, "<none>"),
    ],
    ids=["by name", "by number", "no such port", "no service yet"],
)
def test_the_address_of_one_port(service: dict[str, Any] | None, found: str) -> None:
    assert url("http", service, "dashboard", 8265) == found


def _cluster(**options: str) -> dict[str, Any]:
    return {"metadata": {"name": "demo"}, "spec": {"authOptions": options}}


def test_where_the_token_of_a_cluster_is() -> None:
    assert secret_name(_cluster(mode="token")) == "demo"
    assert secret_name(_cluster(mode="token", secretName="mine")) == "mine"


@pytest.mark.parametrize("cluster", [_cluster(), _cluster(mode="disabled"), {"metadata": {"name": "demo"}}])
def test_a_cluster_that_asks_for_no_token(cluster: dict[str, Any]) -> None:
    with pytest.raises(CommandError, match="does not use a token") as caught:
        secret_name(cluster)
    assert caught.value.code == 1
