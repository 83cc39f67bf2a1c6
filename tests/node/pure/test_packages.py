"""Where the files of an environment lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.local.node.container.packages import shown_folders


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / ".ssh").mkdir(parents=True)
    return folder


def _python(prefix: Path) -> Path:
    for name in ("bin", "lib/python3.11", "share/secrets"):
        (prefix / name).mkdir(parents=True)
    program = prefix / "bin" / "python3.11"
    program.touch()
    return program


def _venv(folder: Path, python: Path) -> Path:
    packages = folder / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(python)
    (folder / "pyvenv.cfg").write_text(f"home = {python.parent}\n")
    return packages


def test_an_environment_and_the_python_it_was_made_from(home: Path, tmp_path: Path) -> None:
    _venv(home / "env", _python(home / ".local"))
    shown = shown_folders(str(home / "env"), str(home))
    assert shown == [str(home / ".local/bin"), str(home / ".local/lib"), str(home / "env")]


def test_a_python_behind_links(home: Path, tmp_path: Path) -> None:
    _python(tmp_path / "cpython-3.11.9")
    (tmp_path / "cpython-3.11").symlink_to("cpython-3.11.9")
    _venv(home / "env", tmp_path / "cpython-3.11" / "bin" / "python3.11")
    shown = shown_folders(str(home / "env"), str(home))
    for place in ("cpython-3.11/bin", "cpython-3.11/lib", "cpython-3.11.9/bin", "cpython-3.11.9/lib"):
        assert str(tmp_path / place) in shown


def test_packages_that_are_edited_in_place(home: Path, tmp_path: Path) -> None:
    packages = _venv(home / "env", _python(tmp_path / "python"))
    for name in ("one/src", "two/pkg"):
        (home / name).mkdir(parents=True)
    (home / "three.py").touch()
    (packages / "one.pth").write_text(f"import os; os.system('never')\n{home}/one/src\n{home}/missing\n")
    mapping = {"pkg": f"{home}/two/pkg", "three": f"{home}/three", "odd": 3}
    (packages / "__editable___two_1_0_finder.py").write_text(
        f"MAPPING: dict[str, str] = {mapping!r}\nNAMESPACES = {{}}\n"
    )
    shown = shown_folders(str(home / "env"), str(home))
    assert {f"{home}/one/src", f"{home}/two/pkg", f"{home}/three.py"} <= set(shown)
    assert not any("missing" in path for path in shown)


def test_a_home_folder_is_never_shown_whole(home: Path, tmp_path: Path) -> None:
    packages = _venv(home / "env", _python(home))
    (packages / "all.pth").write_text(f"{home}\n/\n{home.parent}\n")
    (packages / "__editable___x_finder.py").write_text("MAPPING = {not python}\n")
    assert shown_folders(str(home / "env"), str(home)) == [f"{home}/bin", f"{home}/env", f"{home}/lib"]
