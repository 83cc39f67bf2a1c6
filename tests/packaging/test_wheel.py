"""The wheel is all that a user needs: installed in a fresh environment, on every Python here that Rayward supports."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.waiting import eventually

ROOT = Path(__file__).resolve().parent.parent.parent
_OLDEST, _NEWEST = 11, 14
"""Minor versions that are looked for: what Rayward asks for at least, and what Ray has wheels for at most."""
_LOCAL = """
from rayward import Client
with Client.local() as client:
    spec = {"containers": [{"name": "ray", "image": "rayproject/ray:2.60.0"}]}
    head = {"rayStartParams": {}, "template": {"spec": spec}}
    body = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "c"}, "spec": {"headGroupSpec": head}}
    print(client.apply(body).changed, client.plan({**body, "spec": {**body["spec"], "suspend": True}}).strongest)
"""


@functools.cache
def _interpreters() -> dict[str, str]:
    """The oldest and the newest Python of this machine that can make environments, by version."""
    managed = Path.home().joinpath(".pyenv", "versions").glob("3.*/bin/python3")
    named = (shutil.which(f"python3.{minor}") for minor in range(_OLDEST, _NEWEST + 1))
    candidates = [getattr(sys, "_base_executable", sys.executable), *(one for one in named if one), *map(str, managed)]
    found: dict[int, str] = {}
    for path in candidates:
        command = [path, "-c", "import ensurepip, sys, venv; print(sys.version_info[1])"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        # a shim may be there for a version that is not
        if asked.returncode == 0 and _OLDEST <= int(asked.stdout) <= _NEWEST:
            found.setdefault(int(asked.stdout), path)
    return {f"3.{minor}": found[minor] for minor in sorted({min(found), max(found)})}


def _run(command: Sequence[str | Path], folder: Path) -> str:
    # of this suite's environment only what leads to an index of packages
    environment = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PIP_") or name.lower().endswith("_proxy") or name in ("HOME", "LANG", "SSL_CERT_FILE")
    }
    environment |= {"PATH": f"{folder}/env/bin:/usr/bin:/bin", "RAYWARD_DATA_DIR": str(folder / "data")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-3000:]}"
    return done.stdout


def _installed(folder: Path, interpreter: str, wheel: Path, extra: str, *locks: str) -> Path:
    """A fresh environment with the wheel; what it asks for is what the locks have, and nothing is left to ask for."""
    _run([interpreter, "-m", "venv", folder / "env"], folder)
    python = folder / "env" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for lock in locks:
        _run([*pip, "--require-hashes", "--no-deps", "-r", ROOT / "locks" / lock], folder)
    _run([*pip, "--no-index", "--find-links", wheel.parent, f"rayward{extra}"], folder)
    return python


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_has_all_data_and_offers_the_ray_that_is_tested(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        metadata = packed.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    source = ROOT / "src"
    expected = {
        str(file.relative_to(source))
        for file in (source / "rayward").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert expected <= names, sorted(expected - names)[:10]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (group,) = project["dependency-groups"]["ray"]
    assert project["project"]["optional-dependencies"]["ray"] == [group]
    assert "Provides-Extra: ray" in metadata


def _named(version: str) -> str:
    """A version as an id that says what of the supported range this machine lacks."""
    end = "oldest" if version == min(_interpreters(), key=_minor) else "newest"
    supported = _OLDEST if end == "oldest" else _NEWEST
    return version if _minor(version) == supported else f"{version}-{end} here, not 3.{supported}"


def _minor(version: str) -> int:
    return int(version.partition(".")[2])


@pytest.mark.parametrize("version", _interpreters(), ids=_named)
def test_it_works_where_nothing_else_is_installed(wheel: Path, tmp_path: Path, version: str) -> None:
    python = _installed(tmp_path, _interpreters()[version], wheel, "", "run.txt")
    rayward = tmp_path / "env" / "bin" / "rayward"
    assert _run([rayward, "--version"], tmp_path).startswith("rayward 0.")
    _run([rayward, "init", "greet"], tmp_path)
    _run([rayward, "lint", "--strict", "greet/service.yaml"], tmp_path)
    assert _run([python, "-c", _LOCAL], tmp_path).splitlines()[-1] == "True Suspend"


@pytest.mark.soak
@pytest.mark.parametrize("version", _interpreters(), ids=_named)
def test_with_the_extra_ray_a_service_answers(wheel: Path, tmp_path: Path, version: str) -> None:
    """The first ten minutes of a user, from ``pip install 'rayward[ray]'`` to an answer and to nothing left."""
    _installed(tmp_path, _interpreters()[version], wheel, "[ray]", "run.txt", "ray.txt")
    rayward = tmp_path / "env" / "bin" / "rayward"
    _run([rayward, "up", "--cpus", "8", "--memory", "16Gi"], tmp_path)
    try:
        _run([rayward, "init", "greet"], tmp_path)
        _run([rayward, "apply", "-f", "greet/service.yaml", "--wait"], tmp_path)
        address = _run([rayward, "get", "service", "greet-serve-svc", "--no-headers"], tmp_path).split()[-1]

        def answers() -> bool:
            with urllib.request.urlopen(f"http://{address}/", timeout=30) as answer:
                return answer.read() == b"hello from release 1\n"

        eventually(answers)
    finally:
        _run([rayward, "down", "--purge"], tmp_path)
