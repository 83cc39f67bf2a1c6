"""The same node for a user without any rights."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rayward
from tests.node.behaviour.keyring import FILL, SEARCH
from tests.node.behaviour.test_files import cannot_change_the_kernel
from tests.node.behaviour.test_limits import shows_limits, shows_use
from tests.node.machine import Machine, sh
from tests.waiting import eventually

_NOBODY = 65534


def _interpreter() -> str | None:
    """A Python of this version that a user without rights can run."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}", shutil.which(version)):
        if candidate is None:
            continue
        try:
            done = subprocess.run([candidate, "-c", ""], user=_NOBODY, group=_NOBODY, extra_groups=[], check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return candidate
    return None


@pytest.fixture(scope="module")
def plain(machine: Machine, ticket: bool) -> Iterator[Machine]:
    del machine, ticket
    if os.geteuid() != 0:
        pytest.skip("already a user without rights: all other tests are this test")
    python = _interpreter()
    if python is None:
        pytest.skip("no Python of this version that another user can run")
    packages = [str(Path(rayward.__file__).parents[1]), *(path for path in sys.path if path.endswith("site-packages"))]
    with Machine(python=python, user=_NOBODY, packages=packages) as running:
        yield running


def test_two_pods_on_one_port(plain: Machine) -> None:
    server = "cd /tmp; echo {} > index.html; exec python3 -m http.server 80"
    one, two = (plain.run(sh(server.format(word))) for word in ("one", "two"))
    addresses = [plain.until_ready(name)["podIP"] for name in (one, two)]
    script = "; ".join(f"until wget -q -O- http://{address}/; do sleep 0.2; done" for address in addresses)
    assert plain.output(sh(script)) == "one\ntwo\n"
    for name in (one, two):
        plain.delete(name)
        plain.until_gone(name)


def test_files_users_and_commands(plain: Machine) -> None:
    name = plain.run(
        sh("id -u; touch /usr/x 2>&1; touch /tmp/a ~/b /dev/shm/c && echo own; exec sleep 600"),
        sh("id -u; exec sleep 600", securityContext={"runAsUser": 1234}),
    )
    plain.until_ready(name)
    eventually(lambda: plain.log(name).endswith("own\n") and plain.log(name, "c1") == "1234\n")
    assert plain.log(name).startswith("0\n")
    code, streams = plain.execute(name, "sh", "-c", "hostname; exit 2")
    assert (code, streams[1]) == (2, f"{name}\n".encode())
    plain.delete(name)


def test_the_kernels_settings_can_be_read_and_not_written(plain: Machine) -> None:
    cannot_change_the_kernel(plain)


def test_parts_of_volumes_users_that_are_not_root_and_folders_that_may_not_be_made(plain: Machine) -> None:
    mounts = [
        {"name": "m", "mountPath": "/memory", "subPath": "a/b"},
        {"name": "d", "mountPath": "/disk", "subPath": "a/b"},
    ]
    said = plain.output(
        sh("id -u; touch /memory/x /disk/x && echo writes", volumeMounts=mounts),
        volumes=[{"name": "m", "emptyDir": {"medium": "Memory"}}, {"name": "d", "emptyDir": {}}],
        securityContext={"runAsNonRoot": True},
    )
    assert said == "1000\nwrites\n"
    name = plain.run(sh("true"), volumes=[{"name": "h", "hostPath": {"path": "/no/such"}}])
    assert plain.until_event(name, "FailedMount").endswith(
        "hostPath /no/such can neither be found nor made by this node: Permission denied"
    )
    plain.delete(name)


def test_the_node_dies_and_finds_its_pods(plain: Machine) -> None:
    name = plain.run(sh("exec sleep 600"))
    plain.until_ready(name)
    before = plain.container(name)
    plain.kill_node()
    plain.start_node()
    assert plain.container(name) == before
    plain.delete(name)
    plain.until_gone(name)
    eventually(lambda: len(plain.processes()) == 1)


def test_what_a_container_closed_is_removed_all_the_same(plain: Machine) -> None:
    name = plain.run(sh("mkdir -p /tmp/a/b; touch /tmp/a/b/c; chmod 0 /tmp/a/b /tmp/a"))
    uid = plain.pod(name)["metadata"]["uid"]
    plain.until_phase(name, "Succeeded")
    plain.delete(name)
    eventually(lambda: not (plain.folder / "node" / "pods" / uid).exists())


def test_limits_are_shown_by_whoever_cannot_keep_them(plain: Machine) -> None:
    shows_limits(plain)
    shows_use(plain)


def test_limits_that_are_only_stated_are_called_so(plain: Machine) -> None:
    name = plain.run(sh("exec sleep 600", resources={"limits": {"memory": "64Mi"}}))
    assert "counted, but not enforced by the kernel" in plain.until_event(name, "LimitsNotEnforced")
    plain.until_ready(name)
    assert plain.execute(name, "sh", "-c", "echo 9 > /sys/fs/cgroup/memory.max")[0] != 0
    assert plain.execute(name, "cat", "/sys/fs/cgroup/memory.max")[1][1] == b"67108864\n"
    plain.delete(name)


def test_no_key_of_the_session_where_the_user_may_have_no_more_keyrings(plain: Machine, ticket: bool) -> None:
    if not ticket:
        pytest.skip("this machine keeps no keys, or lets nobody have some")
    command = [plain.python, "-c", FILL]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, user=_NOBODY, group=_NOBODY, extra_groups=[], text=True
    ) as full:
        assert full.stdout is not None
        assert int(full.stdout.readline()) == errno.EDQUOT
        said = plain.output({"name": "c", "image": "busybox", "command": ["python3", "-c", SEARCH]})
        full.communicate("\n")
    assert said == "nothing\n"
