"""What ``rayward get rayservices`` shows of a change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from rayward.cli import watching
from rayward.cli.catalogue import Kind
from rayward.cli.columns import with_columns
from rayward.cli.fetch import Scope
from rayward.cli.forms import Form
from rayward.cli.grid import Grid
from rayward.cli.naming import Asked
from rayward.cli.progress import progress_of
from rayward.cli.target import Session
from rayward.kinds.resources import RAY_JOBS, RAY_SERVICES
from rayward.kube.client.errors import ApiError
from rayward.kube.core.resource import Resource
from rayward.net.errors import NetworkError


def service(observed: int = 2, **conditions: str) -> dict[str, Any]:
    told = [
        {"type": kind, "status": "True", "reason": reason, "message": "the cause\nthe traceback"}
        for kind, reason in conditions.items()
    ]
    return {"metadata": {"generation": 2}, "status": {"observedGeneration": observed, "conditions": told}}


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        pytest.param(service(), "Done", id="done"),
        pytest.param({"metadata": {"generation": 1}}, "Waiting for the operator", id="nobody has looked at it"),
        pytest.param(service(observed=1, Reconciling="ServeDeploying"), "ServeDeploying: the cause", id="on its way"),
        pytest.param(service(Stalled="ServeDeployFailed"), "Failed: ServeDeployFailed: the cause", id="failed"),
        pytest.param(service(Stalled="Aborted"), "Aborted: the cause", id="aborted"),
        pytest.param(service(WorkersMissing="PodsNotRunning"), "Done; PodsNotRunning: the cause", id="workers missing"),
        pytest.param(service(Suspended="SuspendComplete"), "Suspended", id="suspended"),
    ],
)
def test_the_last_edit_is_shown(found: dict[str, Any], shown: str) -> None:
    assert progress_of(found) == shown


def test_a_long_cause_is_cut_to_a_column() -> None:
    found = service(Stalled="X" * 200)
    assert len(progress_of(found)) == 80


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("spec.serveConfigV2: line 7, column 5: num_replicas is 0", "serveConfigV2 line 7: num_replicas is 0"),
        ("spec.rayClusterConfig.headGroupSpec.serviceType: 'Foo' is wrong", "serviceType: 'Foo' is wrong"),
        ("spec.upgradeStrategy.type: use NewCluster", "upgradeStrategy.type: use NewCluster"),
        (
            "RayCluster shop-x7k2p takes no traffic until all of its workers run: 0 of 1 pods of worker group a run",
            "0 of 1 pods of worker group a run",
        ),
        ("pod shop-x7k2p-head-abcde: container ray-head: no such file", "no such file"),
        ("Application shop is DEPLOYING: pod shop-x7k2p-head: container a: no; no Ray node", "no; no Ray node"),
        (
            "Application shop is DEPLOYING: pod shop-a: 1 Insufficient cpu. The pod requests 64 cpu; 5 of 8 are free",
            "1 Insufficient cpu. The pod requests 64 cpu; 5 of 8 are free",
        ),
        (
            "metadata.annotations: rayward.dev/drain-timeout is 'x': write 5m",
            "rayward.dev/drain-timeout is 'x': write 5m",
        ),
        (
            'pod shop-x7k2p-head: container a: Back-off pulling image "ray:2": ErrImagePull: no image "ray:2" here',
            'no image "ray:2" here',
        ),
    ],
)
def test_of_a_field_or_a_pod_the_cause_comes_first(message: str, shown: str) -> None:
    found = service(Stalled="ValidationFailed")
    found["status"]["conditions"][0]["message"] = message
    assert progress_of(found) == f"Failed: {shown}"


def test_of_an_application_that_fails_the_exception_is_shown() -> None:
    found = service(Stalled="ServeDeployFailed")
    cause = "ImportError: No module named 'shopp' (/code/shop.py:1)"
    found["status"]["conditions"][0]["message"] = (
        f"Application shop is DEPLOY_FAILED: {cause}. Correct the import; whole traceback: rayward describe"
    )
    assert progress_of(found) == f"Failed: {cause}"


@pytest.mark.parametrize(("kind", "column"), [(RAY_SERVICES, "PROGRESS"), (RAY_JOBS, "CAUSE")])
@pytest.mark.parametrize("failure", [ApiError(403, "Forbidden", "no", {}, None), NetworkError("no route")])
def test_an_event_of_a_watch_costs_one_object_and_an_error_only_its_cells(
    kind: Resource, column: str, failure: Exception
) -> None:
    asked: list[tuple[str | None, str]] = []

    def refuse(resource: Resource, namespace: str | None, field_selector: str = "") -> None:
        if resource == kind:
            asked.append((namespace, field_selector))
        raise failure

    session = cast("Session", SimpleNamespace(client=SimpleNamespace(list=refuse), local=True))
    event = Grid(("NAME",), (("shop",),), ("team",), ("shop",))
    shown = with_columns(session, Kind(kind, frozenset()), event, None)
    assert shown.cell(0, column) == "<none>"
    assert asked == [("team", "metadata.name=shop")]


def test_a_watch_shows_the_same_columns_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    known = service(Stalled="ServeDeployFailed") | {"metadata": {"namespace": "team", "name": "shop", "generation": 2}}
    client = SimpleNamespace(list=lambda *_words: SimpleNamespace(items=[known]))
    session = cast("Session", SimpleNamespace(client=client, local=False))
    rows = [
        {"cells": [name, None], "object": {"metadata": {"namespace": "team", "name": name}}} for name in ("shop", "old")
    ]
    table = {"columnDefinitions": [{"name": "Name"}, {"name": "Service Status"}], "rows": rows}

    asked = Asked(Kind(RAY_SERVICES, frozenset()))
    watching._Screen(session, asked, Scope("team", "", ""), Form(), headers=True).show(table)

    head, failed, deleted = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "SERVICE", "STATUS", "PROGRESS"]
    assert failed.split(maxsplit=2) == ["shop", "Failed", "Failed: ServeDeployFailed: the cause"]
    assert deleted.split()[-1] == "<none>"


@pytest.mark.parametrize(
    ("conditions", "cell", "shown"),
    [
        ({}, None, "Initializing"),
        ({"Reconciling": "ClusterNotReady"}, "", "Initializing"),
        ({"Stalled": "ValidationFailed"}, "", "Failed"),
        ({"Suspended": "SuspendComplete"}, "", "Suspended"),
        ({"Stalled": "ServeDeployFailed"}, "Running", "Running"),
    ],
)
def test_the_status_is_never_blank(conditions: dict[str, str], cell: str | None, shown: str) -> None:
    known = service(2, **conditions) | {"metadata": {"namespace": "team", "name": "shop", "generation": 2}}
    client = SimpleNamespace(list=lambda *_words, **_selectors: SimpleNamespace(items=[known]))
    session = cast("Session", SimpleNamespace(client=client, local=False))
    row = ("shop", cell or "<none>")
    table = Grid(("NAME", "SERVICE STATUS"), (row,), ("team",), ("shop",))
    assert with_columns(session, Kind(RAY_SERVICES, frozenset()), table, "team").cell(0, "SERVICE STATUS") == shown
