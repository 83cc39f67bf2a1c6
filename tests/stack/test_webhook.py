"""The webhook of the quota gate in the operator's process: its flags, and a process with the printed rights."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from rayward.cli.operator import command
from rayward.kinds import labels
from rayward.kinds.admission import Admission
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import AlreadyExists
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, NAMESPACES, SERVICE_ACCOUNTS
from rayward.operator.errors import OperatorError
from rayward.quota.gate.serving import WebhookSettings
from rayward.stack.webhook import webhook_of
from tests.operator.account import kubeconfig_of
from tests.operator.service.servers import embedded
from tests.operator.stage import Stage
from tests.quota.gate.guarding import unregister, until_guarded
from tests.quota.gate.stage import GateStage

_KINDS = {
    "Namespace": NAMESPACES,
    "ServiceAccount": SERVICE_ACCOUNTS,
    "ClusterRole": CLUSTER_ROLES,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
}


@pytest.mark.parametrize(
    ("address", "service", "always", "expected"),
    [
        ("", "", False, None),
        ("0", "", False, None),
        ("10.0.0.7:9443", "", False, WebhookSettings("10.0.0.7", 9443)),
        ("[::1]:9443", "", True, WebhookSettings("::1", 9443, always=True)),
        (":9443", "team/hook", False, WebhookSettings("", 9443, ("team", "hook", 443))),
        (":9443", "team/hook:8443", False, WebhookSettings("", 9443, ("team", "hook", 8443))),
    ],
)
def test_flags_say_where_the_webhook_is(
    address: str, service: str, always: bool, expected: WebhookSettings | None
) -> None:
    assert webhook_of(address, service, always, Admission.KUEUE) == expected


@pytest.mark.parametrize(
    ("address", "service", "admission", "told"),
    [
        (":9443", "", Admission.KUEUE, "has no host"),
        ("host", "", Admission.KUEUE, "is no address"),
        ("", "team/hook", Admission.KUEUE, "need --webhook-addr"),
        (":9443", "hook", Admission.KUEUE, "is no Service"),
        (":9443", "team/hook:https", Admission.KUEUE, "is no Service"),
        ("h:9443", "", Admission.NONE, "needs --admission"),
    ],
)
def test_flags_that_cannot_work_are_refused(address: str, service: str, admission: Admission, told: str) -> None:
    with pytest.raises(OperatorError) as refused:
        webhook_of(address, service, False, admission)
    assert told in refused.value.what


@pytest.mark.parametrize(
    ("settings", "client", "hosts"),
    [
        (WebhookSettings("::1", 0), {"url": "https://[::1]:7/gate"}, ["::1"]),
        (
            WebhookSettings("", 9443, ("team", "hook", 443)),
            {"service": {"namespace": "team", "name": "hook", "port": 443, "path": "/gate"}},
            ["hook.team.svc"],
        ),
    ],
)
def test_the_api_server_is_told_the_address_or_the_service(
    settings: WebhookSettings, client: dict[str, Any], hosts: list[str]
) -> None:
    assert settings.client(7) == client
    assert settings.hosts == hosts


def test_rights_for_one_namespace_are_none_for_a_webhook() -> None:
    refused = CliRunner().invoke(command, ["rbac", "--webhook", "--namespace", "team"])
    assert refused.exit_code == 2
    assert "exclude each other" in refused.output


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    with embedded() as kubeconfig:
        yield kubeconfig


async def _kubeconfig(ray: Stage, folder: Path) -> Path:
    """Of an account that has the printed rights, and no other."""
    flags = ["--admission", "embedded", "--webhook", "--account", f"{ray.namespace}/operator"]
    printed = CliRunner().invoke(command, ["rbac", *flags])
    for made in yaml.safe_load_all(printed.output):
        with contextlib.suppress(AlreadyExists):
            await ray.client.create(_KINDS[made["kind"]], made, made["metadata"].get("namespace"))
    return await kubeconfig_of(ray, "operator", folder)


@pytest.mark.anyio
async def test_an_operator_with_the_printed_rights_guards_its_own_gate(server: Path, tmp_path: Path) -> None:
    """It writes the grant itself all the while."""
    async with GateStage.on(find_access(server)) as ray:
        await ray.queue(1)
        flags = ["--kubeconfig", str(await _kubeconfig(ray, tmp_path)), "--admission", "embedded"]
        flags += ["--webhook-addr", "127.0.0.1:0", "--webhook-always"]
        log = (tmp_path / "log").open("wb")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "rayward.stack.operator", *flags, stderr=log
        )
        log.close()
        try:
            await ray.create_cluster("one")
            await ray.until_pods_of("one", 1)
            await until_guarded(ray, "one")
            granted = (await ray.cluster("one"))["metadata"]["annotations"][labels.ADMITTED]
            assert '"pods":1' in granted
            change = {"metadata": {"annotations": {labels.ADMITTED: None}}}
            await ray.client.patch(RAY_CLUSTERS, "one", change, PatchType.MERGE, ray.namespace)

            async def written_again() -> bool:
                annotations = (await ray.cluster("one"))["metadata"].get("annotations", {})
                return '"pods":1' in annotations.get(labels.ADMITTED, "")

            await ray.eventually(written_again)
            assert process.returncode is None
            assert "forbidden" not in (tmp_path / "log").read_text().lower()
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
            await unregister(ray)
