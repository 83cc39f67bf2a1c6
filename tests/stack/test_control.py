"""Up, down and status of a real stack."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import verbs
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CONFIG_MAPS, NAMESPACES, PODS
from rayward.stack import control, state
from rayward.stack.errors import StackError
from rayward.stack.folder import Folder
from tests.waiting import eventually


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path / "data")
    yield folder
    control.down(folder, purge=True)


def _up(folder: Folder) -> control.Up:
    return control.up(folder, tell=lambda _text: None)


def _client(folder: Folder) -> SyncClient:
    return SyncClient.connect(find_access(folder.kubeconfig))


def _processes(folder: Folder) -> list[str]:
    listed = subprocess.run(["ps", "-ewwo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(folder.root) in line]


def test_up_serves_and_down_leaves_nothing_but_the_objects(folder: Folder) -> None:
    steps: list[str] = []
    first = control.up(folder, tell=steps.append)
    assert not first.already
    assert steps[0] == f"starting in {folder.root}"
    assert [step.split()[:2] for step in steps[1:]] == [["apiserver", "ready"], ["controllers", "ready"]]
    second = _up(folder)
    assert second.already
    assert second.state.supervisor == first.state.supervisor
    with _client(folder) as client:
        client.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}}, "default")
    assert oct(folder.kubeconfig.stat().st_mode)[-3:] == "600"
    assert control.down(folder, purge=False)
    assert _processes(folder) == []
    assert not folder.kubeconfig.exists()
    assert not folder.run.exists()
    _up(folder)
    with _client(folder) as client:
        assert client.get(CONFIG_MAPS, "a", "default")["data"] == {"k": "v"}
    control.down(folder, purge=True)
    assert not folder.root.exists()


def test_two_folders_run_side_by_side(folder: Folder, tmp_path: Path) -> None:
    other = Folder(tmp_path / "other")
    try:
        _up(folder)
        _up(other)
        with _client(folder) as one, _client(other) as two:
            one.create(CONFIG_MAPS, {"metadata": {"name": "only-here"}}, "default")
            names = [item["metadata"]["name"] for item in two.list(CONFIG_MAPS, "default").items]
        assert "only-here" not in names
    finally:
        control.down(other, purge=True)


def test_a_part_that_falls_is_started_again_and_said_so(folder: Folder) -> None:
    before = _up(folder).state
    os.kill(before.parts[0].pid, signal.SIGKILL)

    def restarted() -> bool:
        seen = control.status(folder)
        return seen is not None and seen.parts[0].restarts == 1 and seen.parts[0].phase == "running"

    eventually(restarted)
    seen = control.status(folder)
    assert seen is not None
    assert seen.parts[0].reason == "was killed by SIGKILL"
    assert "apiserver was killed by SIGKILL; restarting it" in (folder.logs / "supervisor.log").read_text()

    def serving() -> bool:
        with _client(folder) as client:
            return bool(client.get(NAMESPACES, "default"))

    eventually(serving)


def test_a_killed_supervisor_ends_nothing_and_the_next_up_adopts_what_runs(folder: Folder) -> None:
    before = _up(folder).state
    os.kill(before.supervisor, signal.SIGKILL)
    eventually(lambda: state.unsupervised(folder) is not None)
    assert control.status(folder) is None
    with _client(folder) as client:
        client.create(CONFIG_MAPS, {"metadata": {"name": "meanwhile"}}, "default")
    steps: list[str] = []
    again = control.up(folder, tell=steps.append)
    assert again.already
    assert steps[0] == f"adopting the parts that run in {folder.root}: their supervisor was killed"
    assert again.state.supervisor != before.supervisor
    assert [(part.name, part.pid) for part in again.state.parts] == [(part.name, part.pid) for part in before.parts]
    os.kill(before.parts[0].pid, signal.SIGKILL)

    def restarted() -> bool:
        seen = control.status(folder)
        return seen is not None and seen.parts[0].reason == "ended" and seen.parts[0].phase == "running"

    eventually(restarted)
    assert control.down(folder, purge=False)
    assert _processes(folder) == []


def test_down_waits_for_what_a_killed_supervisor_left(folder: Folder) -> None:
    os.kill(_up(folder).state.supervisor, signal.SIGKILL)
    assert control.down(folder, purge=False)
    assert _processes(folder) == []


def test_a_pod_runs_and_says_something(folder: Folder) -> None:
    control.up(folder, node=[], tell=lambda _text: None)
    script = (
        "import os, socket; print('hello from', socket.gethostname())\n"
        f"print(os.path.exists({str(folder.root / 'pki' / 'token')!r}), os.access({str(folder.kubeconfig)!r}, os.R_OK)"
        f" and os.path.getsize({str(folder.kubeconfig)!r}) > 0)"
    )
    container = {"name": "main", "image": "python", "command": ["python3", "-c", script]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    with _client(folder) as client:
        client.create(PODS, {"metadata": {"name": "talker"}, "spec": spec}, "default")
        eventually(lambda: client.get(PODS, "talker", "default")["status"]["phase"] == "Succeeded")
        log = client.answer(verbs.get(PODS, "talker", "default", subresource="log"))
    assert log.body == b"hello from talker\nFalse False\n"
    control.down(folder, purge=True)
    assert _processes(folder) == []


def test_nothing_survives_down_even_if_all_who_kept_it_were_killed(folder: Folder) -> None:
    seen = control.up(folder, node=[], tell=lambda _text: None).state
    mark = f"sleeper {folder.root}"
    container = {"name": "main", "image": "python", "command": ["python3", "-c", "import time; time.sleep(600)", mark]}
    with _client(folder) as client:
        client.create(PODS, {"metadata": {"name": "sleeper"}, "spec": {"containers": [container]}}, "default")
        eventually(lambda: client.get(PODS, "sleeper", "default")["status"]["phase"] == "Running")
        eventually(lambda: any(mark in line for line in _processes(folder)))
    node = next(part.pid for part in seen.parts if part.name == "node")
    os.kill(seen.supervisor, signal.SIGSTOP)
    os.kill(node, signal.SIGKILL)
    os.kill(seen.supervisor, signal.SIGKILL)
    assert any(mark in line for line in _processes(folder)), "the pod outlives its node"
    control.down(folder, purge=False)
    assert _processes(folder) == []


def test_the_operator_finds_rays_kinds_defined(folder: Folder) -> None:
    seen = control.up(folder, operator=True, tell=lambda _text: None)
    assert [(part.name, part.phase) for part in seen.state.parts][-1] == ("operator", "running")
    assert seen.failing == ()
    with _client(folder) as client:
        assert client.list(RAY_CLUSTERS).items == []


def test_a_stack_that_cannot_start_says_why(folder: Folder) -> None:
    folder.root.mkdir()
    (folder.root / "store.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(StackError) as caught:
        _up(folder)
    assert "apiserver" in caught.value.why
    assert state.is_running(folder) is False
