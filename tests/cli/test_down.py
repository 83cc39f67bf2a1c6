"""``rayward down``: what is said of the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.stack import control, state
from tests.cli.rayward import run


@pytest.mark.parametrize(
    ("ran", "flags", "said"),
    [
        (True, [], "stopped; objects stay in {}\n"),
        (False, [], "nothing ran; objects stay in {}\n"),
        (True, ["--purge"], "stopped; {} is wiped\n"),
    ],
    ids=["stopped", "nothing ran", "wiped"],
)
def test_people_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ran: bool, flags: list[str], said: str
) -> None:
    monkeypatch.setattr(control, "down", lambda *_args, **_options: ran)
    done = run("down", *flags, "--data-dir", str(tmp_path))
    assert (done.code, done.out, done.err) == (0, "", said.format(tmp_path))


@pytest.mark.parametrize("ran", [True, False])
@pytest.mark.parametrize("purge", [True, False])
def test_programs_get_one_document(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ran: bool, purge: bool) -> None:
    monkeypatch.setattr(control, "down", lambda *_args, **_options: ran)
    done = run("down", *(["--purge"] if purge else []), "-o", "json", "--data-dir", str(tmp_path))
    assert (done.code, done.err) == (0, "")
    assert done.json() == {
        "apiVersion": "cli.rayward/v1",
        "kind": "Down",
        "dataDir": str(tmp_path),
        "ran": ran,
        "purged": purge,
    }


@pytest.mark.parametrize(
    ("verb", "flags", "said"),
    [
        ("up", [], "interrupted: the start goes on in the background"),
        ("down", [], "interrupted: the stop goes on in the background\n  next: rayward down "),
        ("down", ["--purge"], "interrupted: the stop goes on in the background, and nothing is deleted"),
    ],
)
def test_who_interrupts_it_is_told_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str, flags: list[str], said: str
) -> None:
    def interrupted(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(control, verb, interrupted)
    monkeypatch.setattr(state, "is_running", lambda _folder: True)
    done = run(verb, *flags, "--data-dir", str(tmp_path))
    assert done.code == 130
    assert said in done.err
