"""``rayward logs rayservice/NAME``: which replicas, and where their logs are."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rayward.cli import replicalogs
from rayward.cli.failure import Code, CommandError
from rayward.cli.raytoken import token
from rayward.cli.replicalogs import Replica, replicas, text
from rayward.cli.target import Session
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import NotFound
from rayward.kube.client.request import Request
from rayward.kube.core.resource import PODS, SECRETS, Resource
from rayward.kube.machinery import yamltext
from tests.cli.rayward import Rayward, run
from tests.kinds.clusters import changed, job_manifest, service_manifest

Object = dict[str, Any]


class _Server:
    """Clusters of a service, each with a head whose dashboard knows one replica; all of them use tokens."""

    def __init__(self, *clusters: str, silent: str = "") -> None:
        self._clusters = clusters
        self._silent = silent
        self.asked: list[Request] = []

    def list(self, resource: Resource, _namespace: str, *, label_selector: str) -> Any:
        assert resource == PODS
        (cluster,) = [name for name in self._clusters if f"={name}," in label_selector]
        return SimpleNamespace(items=[{"metadata": {"name": f"{cluster}-head"}}])

    def get(self, resource: Resource, name: str, _namespace: str) -> Object:
        if resource == SECRETS:
            return {"data": {"auth_token": base64.b64encode(f"of {name}".encode()).decode()}}
        if resource == RAY_SERVICES and name == "shop":
            return shop(active=self._clusters[0])
        if resource == RAY_CLUSTERS and name in self._clusters:
            return {"metadata": {"name": name}, "spec": {"authOptions": {"mode": "token", "secretName": name}}}
        raise NotFound(404, "NotFound", f"{name} not found", {}, None)

    def answer(self, request: Request) -> Any:
        self.asked.append(request)
        if self._silent and f"/{self._silent}-head" in request.target:
            raise NotFound(404, "NotFound", "no dashboard", {}, None)
        if "logs/file" in request.target:
            return SimpleNamespace(body=b"a line\n")
        waits = {"replica_id": "2", "node_id": None, "log_file_path": None}
        runs = {"replica_id": "1", "node_id": "n1", "log_file_path": "/serve/replica_1.log"}
        app = {"deployments": {"Model": {"replicas": [runs, waits]}}}
        return SimpleNamespace(body=json.dumps({"applications": {"app": app}}).encode())


def shop(**clusters: str) -> Object:
    status = {f"{part}ServiceStatus": {"rayClusterName": name} for part, name in clusters.items()}
    return {"metadata": {"name": "shop"}, "status": status}


def session(server: _Server) -> Session:
    return cast("Session", SimpleNamespace(client=server, namespace="team"))


def test_replicas_of_the_release_that_starts_come_behind_those_that_serve() -> None:
    found, troubles = replicas(session(_Server("old", "new")), shop(active="old", pending="new"))
    assert not troubles
    assert [(one.head, one.name, one.node, one.file) for one in found] == [
        ("old-head", "old/app/Model/1", "n1", "serve/replica_1.log"),
        ("new-head", "new/app/Model/1", "n1", "serve/replica_1.log"),
    ]


def test_each_cluster_is_asked_with_its_own_token() -> None:
    server = _Server("old", "new")
    replicas(session(server), shop(active="old", pending="new"))
    assert [request.headers for request in server.asked] == [
        (("x-ray-authorization", f"Bearer of {name}"),) for name in ("old", "new")
    ]


def test_a_dashboard_that_does_not_answer_hides_no_other_replica_and_is_told() -> None:
    found, troubles = replicas(session(_Server("old", "new", silent="new")), shop(active="old", pending="new"))
    assert [one.head for one in found] == ["old-head"]
    assert troubles == ["new: no dashboard"]


@pytest.mark.parametrize(
    ("server", "service", "why"),
    [
        (_Server(), shop(), "it has no RayCluster yet"),
        (_Server("old", silent="old"), shop(active="old"), "old: "),
    ],
    ids=["no cluster", "no dashboard"],
)
def test_no_replica_at_all_is_told_with_its_reason(server: _Server, service: Object, why: str) -> None:
    with pytest.raises(CommandError) as caught:
        replicas(session(server), service)
    assert why in caught.value.why
    assert "rayward describe rayservice shop" in str(caught.value.following)


def test_the_end_of_a_log_is_asked_of_the_replicas_own_node() -> None:
    server = _Server("old")
    assert text(session(server), Replica("old-head", "x", "n1", "serve/replica_1.log"), 20) == b"a line\n"
    (asked,) = server.asked
    assert "old-head:8265/proxy/api/v0/logs/file?node_id=n1&filename=serve%2Freplica_1.log&lines=20" in asked.target


def test_the_token_of_a_service_is_that_of_the_cluster_that_serves() -> None:
    assert token(session(_Server("old", "new")), "shop") == "of old"
    assert token(session(_Server("old", "new")), "new") == "of new"
    with pytest.raises(NotFound):
        token(session(_Server("old")), "nix")


@pytest.fixture(scope="module")
def installed(stack: Path) -> Rayward:
    """A RayService and a RayJob that nobody reconciles: what their dashboards would say is put in their place."""
    rayward = Rayward(stack, "default")
    bodies = (changed(one, "spec.suspend", True) for one in (service_manifest("logged"), job_manifest("logged")))
    for manifest in (run("crds").out, *map(yamltext.dump, bodies)):
        done = rayward("apply", "-f", "-", "--force-conflicts", stdin=manifest)
        assert done.code == 0, done.err
    return rayward


@pytest.mark.parametrize("flag", ["--since=5m", "--timestamps", "--all-containers", "-p", "-f"])
def test_an_option_of_pods_alone_is_refused_and_not_ignored(installed: Rayward, flag: str) -> None:
    done = installed("logs", "rayservice/logged", flag)
    assert done.code == Code.USAGE
    assert "rayservice/logged cannot be printed with --" in done.err


@pytest.mark.parametrize("flag", ["--since=5m", "--prefix", "--tail=3"])
def test_a_job_has_its_whole_log_alone(installed: Rayward, flag: str) -> None:
    done = installed("logs", "rayjob/logged", flag)
    assert done.code == Code.USAGE
    assert f"rayjob/logged cannot be printed with {flag.partition('=')[0]}" in done.err


def test_a_log_that_cannot_be_read_hides_no_other_one(installed: Rayward, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_session: Session, replica: Replica, _lines: int | None) -> bytes:
        if replica.name == "b":
            raise NotFound(404, "NotFound", "node n2 is gone", {}, None)
        return f"{replica.name} one\n{replica.name} two\n".encode()

    there = [Replica("head", name, "n1", "file") for name in ("a", "b", "c")]
    monkeypatch.setattr(replicalogs, "replicas", lambda *_: (there, []))
    monkeypatch.setattr(replicalogs, "text", read)
    done = installed("logs", "rayservice/logged", "--prefix")
    assert done.out == "[a] a one\n[a] a two\n[c] c one\n[c] c two\n"
    assert done.code == Code.NO
    assert "b: node n2 is gone" in done.err
