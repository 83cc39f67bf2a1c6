"""The command line under a running operator: every exit code once, bad input, and what a change costs the server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rayward import AsyncClient, Client
from rayward.changes import writing
from rayward.changes.intents import Intent, SetImage
from rayward.changes.outcomes import Conflict, RolledBack, RolloutFailed
from rayward.changes.refs import Ref
from rayward.changes.steps import run_async
from rayward.kinds import labels
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.access import Access
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import (
    RESOURCE_QUOTAS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
)
from rayward.kube.machinery import yamltext
from rayward.stack.kinds import write_kubeconfig
from tests.cli.rayward import Done, run
from tests.kinds.clusters import changed
from tests.operator.service.stage import ServiceStage, config, service
from tests.operator.stage import Object, Stage, condition, manifest

pytestmark = pytest.mark.anyio


def _kubeconfig(request: pytest.FixtureRequest) -> Path:
    name = next(name for name in ("embedded", "real") if name in request.node.callspec.id)
    return request.getfixturevalue(f"{name}_kubeconfig")


@pytest.fixture
def cli(ray: ServiceStage, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """The command line on the stage's server and namespace; beside the event loop that the operator runs on."""
    kubeconfig = str(_kubeconfig(request))

    async def call(verb: str, *words: str, stdin: str = "") -> Done:
        line = (verb, "--kubeconfig", kubeconfig, "-n", ray.namespace, *words)
        return await asyncio.to_thread(run, *line, stdin=stdin)

    return call


def _text(*bodies: Object) -> str:
    return "---\n".join(map(yamltext.dump, bodies))


async def test_each_exit_code(ray: ServiceStage, cli: Callable[..., Any]) -> None:
    first = service()
    async with ray.operator():
        done = await cli("apply", "-f", "-", "--wait", stdin=_text(first))
        assert done.code == 0, done.err
        assert "rayservice/svc: done after" in done.err
        other = changed(first, "spec.rayClusterConfig.rayVersion", "2.53.0")
        assert (await cli("diff", "-f", "-", stdin=_text(other))).code == 1
        assert (await cli("unstick", "rayservice/svc", "--approve=other")).code in (2, 3)
        assert (await cli("upgrade", "rayservice/svc")).code == 2
        assert (await cli("promote", "rayservice/svc")).code == 3
        assert (await cli("why", "rayservice/nobody")).code == 4

        await ray.client.apply(
            RAY_SERVICES, {**first, "metadata": {"name": "svc", "namespace": ray.namespace}}, field_manager="gitops",
            force=True,
        )  # fmt: skip
        conflict = await cli("apply", "-f", "-", stdin=_text(other))
        assert conflict.code == 5
        assert "gitops" in conflict.err

        broken = changed(other, "spec.serveConfigV2", config("app:broken"))
        held = await cli("apply", "-f", "-", "--wait", "--on-failure=hold", "--force-conflicts", stdin=_text(broken))
        assert held.code == 8, held.err
        worse = changed(broken, "spec.rayClusterConfig.rayVersion", "2.54.0")
        back = await cli("apply", "-f", "-", "--wait", stdin=_text(worse))
        assert back.code == 9, back.err
        assert "rolled back to revision" in back.err
        late = await cli("apply", "-f", "-", "--wait", "--timeout=1s", stdin=_text(_paused(other)))
        assert late.code == 124, late.err
        assert (await ray.service())["metadata"]["annotations"][labels.PAUSE] == "true", "a timeout changes nothing"


def _paused(body: Object) -> Object:
    body = changed(body, "metadata.annotations", {labels.PAUSE: "true"})
    return changed(body, "spec.rayClusterConfig.rayVersion", "2.55.0")


async def test_quota_is_seven(ray: ServiceStage, cli: Callable[..., Any]) -> None:
    hard = {"count/rayclusters.ray.io": "0"}
    await ray.client.create(RESOURCE_QUOTAS, {"metadata": {"name": "none"}, "spec": {"hard": hard}}, ray.namespace)
    # what a quota controller writes: the server counts only against that
    status = {"status": {"hard": hard, "used": hard}}
    await ray.client.patch(RESOURCE_QUOTAS, "none", status, PatchType.MERGE, ray.namespace, subresource="status")

    async def counts() -> bool:
        return (await cli("apply", "--dry-run=server", "-f", "-", stdin=_text(manifest()))).code == 7

    # the server learns of a quota by a watch of its own
    await ray.eventually(counts)
    done = await cli("apply", "-f", "-", stdin=_text(manifest()))
    assert done.code == 7, (done.code, done.err)


async def test_without_rights_it_is_six(ray: ServiceStage, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    await ray.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "reader"}}, ray.namespace)
    role = {"metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
    await ray.client.create(ROLES, role, ray.namespace)
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": ray.namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    await ray.client.create(
        ROLE_BINDINGS, {"metadata": {"name": "reader"}, "roleRef": reference, "subjects": [subject]}, ray.namespace
    )
    token = (await ray.client.token("reader", ray.namespace))["status"]["token"]
    file = tmp_path / "kubeconfig"
    write_kubeconfig(_kubeconfig(request), token, file)
    for words in (("history", "raycluster/plain"), ("scale", "raycluster/plain", "--group", "g", "--replicas", "1")):
        done = await asyncio.to_thread(run, words[0], "--kubeconfig", str(file), "-n", ray.namespace, *words[1:])
        assert done.code == 6, done.err
        assert "forbidden" in done.err


@pytest.mark.parametrize(
    ("words", "stdin", "code", "said"),
    [
        (("apply", "-f", "-"), "kind: [", 3, "neither JSON nor YAML"),
        (("apply", "-f", "-"), "a: 1\n", 3, "is not a Kubernetes object"),
        (("apply", "-f", "-"), "", 2, "nothing to read"),
        (("apply", "-f", "/nowhere/x.yaml"), "", 2, "cannot read"),
        (("apply", "-f", "-"), "x" * (33 << 20), 3, "larger than 32 MiB"),
        (("apply", "-f", "-"), "apiVersion: ray.io/v9\nkind: RayCar\nmetadata: {name: a}\n", 4, "no kind"),
        (("set", "raycluster/x", "colour=red"), "", 2, "cannot set"),
        (("scale", "raycluster/x", "--group", "g"), "", 2, "no size"),
        (("get", "rayclusters", "--context", "nobody"), "", 10, "nobody"),
        (("reassemble", "raycluster/x", "--undo", "image=a"), "", 2, "takes no settings"),
        (("edit", "rayjob/x", "spec.a=["), "", 2, "not YAML"),
        (("timeline", "rayservice/nobody"), "", 4, "not found"),
        (("recreate", "raycluster/nobody", "--approve=nobody"), "", 4, "does not exist"),
    ],
)
async def test_bad_input(
    ray: ServiceStage, cli: Callable[..., Any], words: tuple[str, ...], stdin: str, code: int, said: str
) -> None:
    done = await cli(*words, stdin=stdin)
    assert (done.code, said in done.err) == (code, True), done.err[:2000]
    assert "Traceback" not in done.err


async def test_an_unreachable_server_is_ten(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    cluster = {"name": "x", "cluster": {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}}
    context = {"name": "x", "context": {"cluster": "x", "user": "x"}}
    whole = {"clusters": [cluster], "contexts": [context], "users": [{"name": "x", "user": {}}], "current-context": "x"}
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **whole}))
    done = await asyncio.to_thread(run, "why", "--kubeconfig", str(file), "raycluster/x")
    assert (done.code, "did not answer" in done.err) == (10, True), done.err


async def test_ctrl_c_while_waiting_is_130_and_the_change_goes_on(
    ray: ServiceStage, request: pytest.FixtureRequest, cli: Callable[..., Any]
) -> None:
    kubeconfig = str(_kubeconfig(request))
    async with ray.operator():
        await ray.create(service(metadata={"annotations": {labels.PAUSE: "true"}}))
        words = ("wait", "--kubeconfig", kubeconfig, "-n", ray.namespace, "rayservice/svc")
        waiting = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "rayward.cli", *words, stderr=asyncio.subprocess.PIPE, env=dict(os.environ)
        )
        assert waiting.stderr is not None
        try:
            await waiting.stderr.readline()
            waiting.send_signal(signal.SIGINT)
            assert await waiting.wait() == 130
            await waiting.stderr.read()
        finally:
            if waiting.returncode is None:
                waiting.kill()
        await ray.annotate(pause=None)
        await ray.until_settled()


async def test_a_failed_release_is_rolled_back_and_the_service_goes_on(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await ray.create(service())
        first = await ray.until_settled()
        broken = changed(service(), "spec.serveConfigV2", config("app:broken"))
        written = await sdk.apply(changed(broken, "spec.rayClusterConfig.rayVersion", "2.53.0"), force_conflicts=True)
        with pytest.raises(RolledBack) as caught:
            await sdk.settle(written)
        assert caught.value.code == 9
        assert await ray.serving() == first
        assert (await ray.service())["spec"]["rayClusterConfig"]["rayVersion"] == "2.52.0"
        with pytest.raises(RolloutFailed):
            await sdk.settle(await sdk.apply(broken, force_conflicts=True), on_failure="hold")


async def test_a_config_in_place_that_fails_is_rolled_back_and_that_is_true_when_it_is_told(
    ray: ServiceStage, sdk: AsyncClient
) -> None:
    async with ray.operator():
        await ray.create(service())
        first = await ray.until_settled()
        written = await sdk.apply(changed(service(), "spec.serveConfigV2", config("app:broken")), force_conflicts=True)
        with pytest.raises(RolledBack):
            await sdk.settle(written)
        live = await ray.service()
        assert live["spec"]["serveConfigV2"] == service()["spec"]["serveConfigV2"]
        progressing = condition(live, "Progressing")
        assert progressing["observedGeneration"] == live["metadata"]["generation"]
        assert (progressing["reason"], condition(live, "Ready")["status"]) == ("NewReleaseAvailable", "True")
        assert await ray.serving() == first
        assert ray.heads.words(first) == b"one"


async def test_apply_and_wait_cost_at_most_twelve_requests_beside_one_watch(
    ray: ServiceStage, access: Access, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the SDK and by the command line; the operator of this process has a client of another class."""
    asked: list[str] = []
    watches: list[str] = []
    answer, watch = SyncClient.answer, SyncClient.watch

    def counted(self: SyncClient, request: Request) -> Any:
        asked.append(f"{request.method} {request.target.partition('?')[0].rpartition('/')[2]}")
        return answer(self, request)

    def watched(self: SyncClient, resource: Any, *arguments: Any, **options: Any) -> Any:
        watches.append(resource.kind)
        return watch(self, resource, *arguments, **options)

    monkeypatch.setattr(SyncClient, "answer", counted)
    monkeypatch.setattr(SyncClient, "watch", watched)

    def release(version: str) -> Object:
        return changed(service(), "spec.rayClusterConfig.rayVersion", version)

    def change() -> None:
        with SyncClient.connect(access) as client:
            sdk = Client(client, namespace=ray.namespace, user="ada")
            (written,) = sdk.apply_all([release("2.53.0")], force_conflicts=True, cause="newer")
            sdk.settle(written)

    async with ray.operator():
        await ray.create(service())
        await ray.until_settled()
        await asyncio.to_thread(change)
        assert 0 < len(asked) <= 12, asked
        assert watches == ["RayService"]
        asked.clear()
        watches.clear()
        done: Done = await cli("apply", "-f", "-", "--wait", stdin=yamltext.dump(release("2.54.0")))
        assert done.code == 0, done.err
        assert 0 < len(asked) <= 12, asked
        assert watches == ["RayService"]


async def _until_written(ray: ServiceStage, ref: Ref, intents: tuple[Intent, ...], who: str) -> int:
    """An autoscaler that writes without a pause may be faster each of ten times: then one is told to try again."""
    for tried in range(1, 50):
        with contextlib.suppress(Conflict):
            return tried * (await run_async(ray.client, writing.change(ref, intents, manager=who))).attempts
    raise AssertionError("it was never written")


async def test_two_writers_and_the_autoscaler_lose_nothing(ray: ServiceStage, sdk: AsyncClient) -> None:
    """A thousand edits of one object at once: sizes by the autoscaler, images and variables by two people."""
    from rayward.changes.intents import SetEnv
    from rayward.kinds.resources import RAY_CLUSTERS
    from tests.operator.stage import group

    body = manifest(groups=[group("a"), group("b")], suspend=True, enableInTreeAutoscaling=True)
    await Stage.create(ray, body)
    per_writer = 250

    async def autoscaler(index: int) -> None:
        for number in range(per_writer):
            operations = [{"op": "replace", "path": f"/spec/workerGroupSpecs/{index}/replicas", "value": number % 9}]
            await ray.client.patch(
                RAY_CLUSTERS, "plain", operations, PatchType.JSON, ray.namespace, field_manager="python-requests"
            )

    async def person(who: str, group_name: str) -> int:
        ref = sdk.ref("raycluster/plain")
        attempts = 0
        for number in range(per_writer):
            intents = (SetEnv(f"V{number % 5}", f"{who}{number}", group_name), SetImage(f"{who}:{number}", group_name))
            attempts += await _until_written(ray, ref, intents, who)
        return attempts

    await asyncio.gather(autoscaler(0), autoscaler(1), person("ada", "a"), person("ben", "b"))
    spec = (await ray.cluster())["spec"]
    assert [one["groupName"] for one in spec["workerGroupSpecs"]] == ["a", "b"]
    for one, who in zip(spec["workerGroupSpecs"], ("ada", "ben"), strict=True):
        container = one["template"]["spec"]["containers"][0]
        assert container["image"] == f"{who}:{per_writer - 1}"
        values = {variable["name"]: variable["value"] for variable in container["env"]}
        assert values == {f"V{n % 5}": f"{who}{n}" for n in range(per_writer - 5, per_writer)}
        assert one["replicas"] == (per_writer - 1) % 9
