"""Addresses that work from the user's shell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from rayward.cli.catalogue import Kind
from rayward.cli.failure import CommandError
from rayward.cli.raytoken import secret_name
from rayward.cli.reach import addressed, addresses, url
from rayward.cli.target import Session
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.core.resource import PODS, SERVICES, Resource


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


class _Services:
    """A server with services and nothing else."""

    def __init__(self, **services: dict[str, Any]) -> None:
        self._services = services

    def list(self, resource: Resource, namespace: str) -> Any:
        assert (resource, namespace) == (SERVICES, "n")
        items = [{**found, "metadata": {"name": name, "namespace": "n"}} for name, found in self._services.items()]
        return SimpleNamespace(items=items)


def test_documents_of_rays_objects_have_their_addresses_and_others_are_as_they_are() -> None:
    head = _service("10.43.1.1", {"port": 8265, "name": "dashboard"}, {"port": 10001, "name": "client"})
    services = _Services(**{"x-head-svc": head, "x-serve-svc": _service("10.43.1.2", {"port": 8000, "name": "serve"})})
    found: dict[str, Any] = {"metadata": {"name": "x", "namespace": "n"}, "status": {"state": "ready"}}

    def status(resource: Resource, *, local: bool = True) -> Any:
        session = cast("Session", SimpleNamespace(client=services, local=local))
        (item,) = addressed(session, Kind(resource, frozenset()), [found])
        return item["status"]

    dashboard = "http://127.43.1.1:8265"
    assert status(RAY_SERVICES) == {
        "state": "ready",
        "addresses": {"dashboard": dashboard, "serve": "http://127.43.1.2:8000"},
    }
    assert status(RAY_CLUSTERS)["addresses"] == {"dashboard": dashboard, "client": "ray://127.43.1.1:10001"}
    assert status(PODS) == status(RAY_SERVICES, local=False) == {"state": "ready"}


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
