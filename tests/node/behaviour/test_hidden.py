"""What a curious pod does not find."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.node.behaviour.keyring import SEARCH
from tests.node.machine import Machine, sh

_OWN: Final = Path(__file__).parents[3] / ".cache"
"""Not below /tmp, of which every pod has its own."""
_SECRETS: Final = (".ssh/id_ed25519", ".kube/config", ".aws/credentials", ".docker/config.json", ".netrc", "notes.txt")
_LOOK: Final = """
import sys
for path in open(sys.argv[1]).read().splitlines():
    try:
        print('read', path, len(open(path, 'rb').read()))
    except OSError:
        pass
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A user's folder: credentials, a project, and a data folder."""
    _OWN.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="home-", dir=_OWN))
    for name in _SECRETS:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("secret")
    (folder / "data").mkdir()
    (folder / "project").mkdir()
    (folder / "project" / "code.py").write_text("code")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def beside(machine: Machine, home: Path, ticket: bool) -> Iterator[Machine]:
    del machine, ticket
    with Machine("--project", str(home / "project"), place=home / "data") as running:
        yield running


def _files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def _found(machine: Machine, home: Path, name: str, paths: list[str]) -> str:
    asked = home / "project" / "asked"
    asked.write_text("\n".join(paths))
    code, streams = machine.execute(name, "python3", "-c", _LOOK, str(asked))
    assert code == 0, streams
    return streams.get(1, b"").decode()


def test_nothing_of_the_data_folder_before_and_after_a_restart_of_the_server(beside: Machine, home: Path) -> None:
    beside.secret(password="pw")
    name = beside.run(sh("exec sleep 600"))
    beside.until_ready(name)
    before = _files(beside.folder)
    assert {"store.db", "store.db-wal", "kubeconfig"} <= {Path(path).name for path in before}
    assert _found(beside, home, name, before) == ""
    beside.restart_server()
    after = _files(beside.folder)
    assert _found(beside, home, name, after) == ""
    later = beside.run(sh("exec sleep 600"))
    beside.until_ready(later)
    assert _found(beside, home, later, _files(beside.folder)) == ""
    for pod in (name, later):
        beside.delete(pod)


def test_nothing_of_a_home_folder_but_the_project(beside: Machine, home: Path) -> None:
    name = beside.run(sh("exec sleep 600"))
    beside.until_ready(name)
    asked = [str(home / path) for path in (*_SECRETS, "project/code.py")]
    assert _found(beside, home, name, asked) == f"read {home}/project/code.py 4\n"
    assert _found(beside, home, name, ["/etc/shadow", "/etc/ssl/private", "/etc/sudoers", "/root/.bashrc"]) == ""
    code, streams = beside.execute(name, "ls", "-A", str(home))
    assert (code, streams[1]) == (0, b"project\n")
    beside.delete(name)


def test_what_is_hidden_in_the_project_folder_cannot_be_moved_to_where_it_shows(machine: Machine, home: Path) -> None:
    del machine
    project = home / "other"
    data = project / "own" / "deep" / "data"
    data.mkdir(parents=True)
    (data / "secret").write_text("secret")
    (project / "own" / "notes").write_text("notes")
    with Machine("--project", str(project), "--hide", str(data), place=home / "data") as running:
        moves = f"mv {project}/own {project}/x; mv {project}/own/deep {project}/x; mv {data} {project}/x"
        exchange = f"mkdir {project}/y; mv -T --exchange {project}/own {project}/y"
        nested = f"unshare -Urm sh -c 'umount -R {project}/own; {moves}'"
        running.output(sh(f"({moves}; {exchange}; {nested}) 2>&1; true"))
        # Its neighbours are the project's, and can be written and moved as ever.
        running.output(sh(f"echo more >> {project}/own/notes; mv {project}/own/notes {project}/notes"))
        assert (project / "notes").read_text() == "notesmore\n"
        assert (data / "secret").read_text() == "secret"
        assert running.output(sh(f"grep -rs secret {project}; ls -A {data}; true")) == ""


@pytest.mark.parametrize(
    ("shown", "hidden"),
    [("linked", "real/data"), ("real/code/..", "real/data"), ("real", "linked/code/../data")],
    ids=["linked project", "project with dots", "linked data folder"],
)
def test_the_data_folder_is_hidden_however_it_and_the_project_are_spelled(
    machine: Machine, home: Path, shown: str, hidden: str
) -> None:
    del machine
    real, linked = home / "real", home / "linked"
    (real / "code").mkdir(parents=True)
    (real / "code" / "notes").write_text("notes")
    (real / "data").mkdir()
    (real / "data" / "store").write_text("secret")
    linked.symlink_to(real)
    try:
        with Machine("--project", str(home / shown), "--hide", str(home / hidden), place=home / hidden) as running:
            assert len(_files(running.folder)) > 1
            readable = running.output(sh(f"grep -rs --devices=skip --files-with-matches '' {real} {linked}; true"))
            assert readable == f"{real}/code/notes\n"
            assert running.output(sh(f"ls -A {real}/data {linked}/data {linked}/code/../data 2>/dev/null; true")) in (
                "",
                f"{real}/data:\n",
            )
            running.output(sh(f"mv {real}/data {real}/x; echo more >> {real}/code/notes"))
            assert (real / "code" / "notes").read_text() == "notesmore\n"
            assert (real / "data" / "store").exists()
    finally:
        linked.unlink()
        shutil.rmtree(real)


def test_what_leads_to_a_hidden_folder_stays_in_place_however_a_mount_is_spelled(machine: Machine, home: Path) -> None:
    del machine
    project = home / "dots"
    data = project / "own" / "data"
    data.mkdir(parents=True)
    (data / "secret").write_text("secret")
    with Machine("--hide", str(data), place=home / "data") as running:
        mounted = {"volumeMounts": [{"name": "p", "mountPath": f"{project}/../dots"}]}
        volumes = [{"name": "p", "hostPath": {"path": str(project)}}]
        running.output(sh(f"mv {project}/own {project}/x; true", **mounted), volumes=volumes)
        assert running.output(sh(f"grep -rs secret {project}; true", **mounted), volumes=volumes) == ""
    assert (data / "secret").read_text() == "secret"


def test_devices_are_those_of_every_container_and_of_no_gpu(beside: Machine) -> None:
    said = beside.output(sh("ls /dev"))
    own = {"fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"}
    assert set(said.split()) - {"tty", "termination-log"} == own


def test_no_key_of_the_session_that_started_the_node(beside: Machine, ticket: bool) -> None:
    # Tickets and disk keys are kept so, and no namespace keeps them apart.
    if not ticket:
        pytest.skip("this machine keeps no keys, or lets nobody have some")
    assert beside.output({"name": "c", "image": "busybox", "command": ["python3", "-c", SEARCH]}) == "nothing\n"
