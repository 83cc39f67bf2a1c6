from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.cli import terminal
from rayward.kinds import crds
from rayward.kinds.resources import RAY_JOBS
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS
from rayward.stack import control, settings
from rayward.stack.folder import Folder
from rayward.stack.settings import Settings
from rayward.stack.state import StackState
from tests.cli.rayward import Rayward, run
from tests.cli.screen import on_a_terminal
from tests.waiting import eventually


@pytest.fixture(scope="module")
def client(stack: Path) -> Iterator[SyncClient]:
    """A client of a server that knows RayJobs; nobody acts on them."""
    with SyncClient.connect(find_access(Folder(stack).kubeconfig)) as client:
        for manifest in crds.manifests():
            client.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, field_manager="tests", force=True)
        eventually(lambda: _serves(client))
        yield client


def _serves(client: SyncClient) -> bool:
    try:
        client.page(RAY_JOBS, limit=1)
    except ApiError:
        return False
    return True


def _status(client: SyncClient, rayward: Rayward, name: str, **status: object) -> None:
    change = {"status": status}
    client.patch(RAY_JOBS, name, change, PatchType.MERGE, rayward.namespace, subresource="status")


def test_a_run_is_a_ray_job_with_its_code(client: SyncClient, rayward: Rayward, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    flags = ["--name", "mine", "--working-dir", str(tmp_path), "--workers", "2", "--cpus", "3"]
    done = rayward("run", "--detach", *flags, "--", "python", "train.py")
    assert done.code == 0, done.err
    assert done.out == "rayjob.ray.io/mine\n"
    assert "1 files, 0.0 kB" in done.err
    assert "a failed attempt is not tried again (--retries N)" in done.err
    # an answer to "how do I get back" that works from anywhere
    where = done.err.partition("rayward logs rayjob/mine -f")[2].partition("   #")[0]
    assert "-n" in where.split()
    assert f"rayward stop mine{where}" in done.err
    spec = client.get(RAY_JOBS, "mine", rayward.namespace)["spec"]
    assert spec["entrypoint"] == "python train.py"
    assert spec["rayClusterSpec"]["workerGroupSpecs"][0]["replicas"] == 2


def test_a_run_ends_with_the_jobs_result(client: SyncClient, rayward: Rayward) -> None:
    rows = [{"number": 1, "jobId": "id", "reason": "AppFailed", "exitCode": 3, "logTail": "so far\n"}]
    for name, phase, ray, code in (("good", "Complete", "SUCCEEDED", 0), ("bad", "Failed", "FAILED", 8)):
        assert rayward("run", "--detach", "--name", name, "--", "true").code == 0
        ended = {"jobId": "id", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:01:00Z"}
        reason = {"reason": "AppFailed"} if code else {}
        _status(client, rayward, name, jobDeploymentStatus=phase, jobStatus=ray, attempts=rows, **ended, **reason)
        done = rayward("logs", f"rayjob/{name}", "-f")
        assert (done.code, done.out) == (code, "so far\n"), done.err
    where = f"-n {rayward.namespace}"
    logs, _, again = done.err.rstrip().rpartition("next: ")[2].partition("   # or again: ")
    assert logs.startswith(f"rayward logs rayjob/bad {where}")
    assert again.startswith(f"rayward rerun bad {where}")
    table = rayward("get", "rayjobs").out.splitlines()
    assert table[0].split()[-3:] == ["ATTEMPT", "DURATION", "CAUSE"]
    assert table[1].endswith("60s        AppFailed (exit code 3)")
    assert rayward("get", "rayjob", "bad").out.splitlines()[1].endswith("60s        AppFailed (exit code 3)")
    assert rayward("logs", "rayjob/bad").out == "so far\n"


def test_a_run_again_has_a_new_name_and_a_stop_of_an_ended_one_does_nothing(
    client: SyncClient, rayward: Rayward
) -> None:
    rayward("run", "--detach", "--name", "first", "--", "true")
    assert rayward("rerun", "first", "--detach").out == "rayjob.ray.io/first-2\n"
    changes = ("--set", "entrypoint=sleep 1", "--set", "head.env.A=b=c")
    assert rayward("rerun", "first", *changes, "--detach").out == "rayjob.ray.io/first-3\n"
    spec = client.get(RAY_JOBS, "first-3", rayward.namespace)["spec"]
    (container,) = spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
    assert (spec["entrypoint"], container["env"]) == ("sleep 1", [{"name": "A", "value": "b=c"}])
    assert client.get(RAY_JOBS, "first", rayward.namespace)["spec"]["entrypoint"] == "true"
    assert rayward("rerun", "first", "--set", "gpu", "--detach").code == 2
    assert rayward("rerun", "first", "--set", "gpu.replicas=2", "--detach").code == 4
    _status(client, rayward, "first", jobDeploymentStatus="Complete", jobStatus="SUCCEEDED")
    assert rayward("stop", "first").out == "rayjob.ray.io/first had ended: SUCCEEDED\n"
    again = rayward("run", "--name", "first", "--", "true")
    assert again.code == 5
    assert "next: rayward rerun first" in again.err


def test_mistakes_of_usage(client: SyncClient, rayward: Rayward, tmp_path: Path) -> None:
    assert rayward("run", "--").code == 2
    assert rayward("run", "--memory", "lots", "--", "true").code == 2
    assert rayward("run", "--working-dir", str(tmp_path / "nowhere"), "--", "true").code == 2
    broken = tmp_path / "env.yaml"
    broken.write_text("env_vars: [1]\n")
    assert rayward("run", "--runtime-env", str(broken), "--", "true").code == 3
    assert rayward("logs", "rayjob/nobody").code == 4
    assert rayward("logs", "rayjob/nobody", "--tail", "3").code == 2


def test_a_file_that_is_not_uploaded_is_named(
    client: SyncClient, rayward: Rayward, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    done = rayward("run", "--detach", "--", "python", "train.py")
    assert "rayward run --working-dir . -- python train.py" in done.err


def test_without_a_server_and_a_terminal_it_says_which_flag_to_add(tmp_path: Path) -> None:
    done = run("run", "--data-dir", str(tmp_path / "nothing"), "--", "true")
    assert done.code == 2
    assert "rayward run --yes" in done.err


@pytest.mark.parametrize(
    ("answer", "asked", "started"),
    [
        ("y\n", [], [Settings(("--nodes", "1", "--gpus", "0"), operator=True)]),
        ("\n", ["--gpus", "2"], [Settings(("--nodes", "1", "--gpus", "2"), operator=True)]),
        ("y\n", ["--gpus", "2", "--workers", "3"], [Settings(("--nodes", "1", "--gpus", "6"), operator=True)]),
        ("n\n", ["--gpus", "2"], []),
    ],
)
def test_the_server_that_is_offered_has_the_gpus_that_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, asked: list[str], started: list[Settings]
) -> None:
    made = _starts(monkeypatch)
    done = run("run", "--data-dir", str(tmp_path / "nothing"), *asked, "--", "true", stdin=answer)
    assert "Start one on this machine?" in done.err
    assert made == started


def test_the_server_that_is_offered_is_as_it_was_the_last_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Settings(("--nodes", "3", "--gpus", "2", "--cpus", "8", "--images", "strict"))
    settings.write(Folder(tmp_path).settings, before)
    made = _starts(monkeypatch)
    for asked in ("1", "4"):
        done = run("run", "--data-dir", str(tmp_path), "--gpus", asked, "--", "true", stdin="y\n")
        assert "--images strict --operator none (remembered until down --purge)" in done.err
    more = Settings(("--nodes", "3", "--gpus", "4", "--cpus", "8", "--images", "strict"))
    assert made == [before, more]


def _starts(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """How stacks are started from here on; none is."""
    made: list[Settings] = []

    def up(folder: Folder, *, node: tuple[str, ...], operator: bool, tell: object) -> control.Up:
        made.append(Settings(node, operator))
        return control.Up(StackState(1, 0.0, ready=True), False, 1.0)

    monkeypatch.setattr(control, "up", up)
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    return made


def test_whoever_says_yes_to_the_second_interrupt_stops_the_job(client: SyncClient, rayward: Rayward) -> None:
    """Ray does not have it yet: it is suspended, and the command waits until that is so."""
    rayward("run", "--detach", "--name", "long", "--", "sleep", "600")
    command = [sys.executable, "-m", "rayward.cli", *rayward.words("logs", "rayjob/long", "-f")]
    patient = {**os.environ, "RAYWARD_INTERRUPT_SECONDS": "120"}
    with on_a_terminal(command, patient) as (following, screen):
        screen.until(b"New: no operator has acted on it yet")
        following.send_signal(signal.SIGINT)
        screen.until(b"press Ctrl-C once more")
        following.send_signal(signal.SIGINT)
        screen.until(b"Stop rayjob/long?")
        screen.answer("y")
        eventually(lambda: client.get(RAY_JOBS, "long", rayward.namespace)["spec"].get("suspend") is True)
        _status(client, rayward, "long", jobDeploymentStatus="Suspended")
        screen.until(b"rayjob/long was stopped")
        assert following.wait(timeout=60) == 130


def test_one_interrupt_leaves_the_job_and_a_second_asks_whether_to_stop_it(
    client: SyncClient, rayward: Rayward
) -> None:
    rayward("run", "--detach", "--name", "long", "--", "sleep", "600")
    command = [sys.executable, "-m", "rayward.cli", *rayward.words("logs", "rayjob/long", "-f")]
    patient = {**os.environ, "RAYWARD_INTERRUPT_SECONDS": "120"}
    with on_a_terminal(command, patient) as (following, screen):
        screen.until(b"New: no operator has acted on it yet")
        following.send_signal(signal.SIGINT)
        screen.until(b"rayjob/long is still running")
        screen.until(b"press Ctrl-C once more")
        following.send_signal(signal.SIGINT)
        screen.until(b"Stop rayjob/long?")
        screen.answer("n")
        assert following.wait(timeout=60) == 130
    assert not client.get(RAY_JOBS, "long", rayward.namespace)["spec"].get("suspend")


def test_without_a_terminal_an_interrupt_leaves_at_once(client: SyncClient, rayward: Rayward) -> None:
    rayward("run", "--detach", "--name", "long", "--", "sleep", "600")
    with rayward.process("logs", "rayjob/long", "-f") as following:
        assert following.stderr is not None
        assert "New" in following.stderr.readline()
        following.send_signal(signal.SIGINT)
        assert following.wait(timeout=60) == 130
        assert "rayward stop long" in following.stderr.read()
