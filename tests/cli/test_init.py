"""``rayward init``: a project that lints clean."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rayward.cli.init import files
from tests.cli.rayward import run


def test_a_project_is_made_once_and_lints_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("init", "hello")
    assert (done.code, sorted(file.name for file in (tmp_path / "hello").iterdir())) == (
        0,
        ["README.md", "app.py", "service.yaml"],
    )
    linted = run("lint", "hello/service.yaml", "--strict")
    assert (linted.code, linted.out) == (0, ""), linted.out
    again = run("init", "hello")
    assert (again.code, "is in use" in again.err) == (5, True)
    assert run("init", "No_Name").code == 2
    compile((tmp_path / "hello" / "app.py").read_text(), "app.py", "exec")


def test_pods_see_the_code_that_the_file_has() -> None:
    made = files("hello")
    documents = list(yaml.safe_load_all(made["service.yaml"]))
    assert documents[1]["data"]["app.py"] == made["app.py"]
