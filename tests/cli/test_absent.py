"""A server that does not answer, and one on which Ray's kinds are not defined: the code, why, and what to run next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kube.client import sync
from rayward.kube.machinery import yamltext
from tests.cli.rayward import Done, run
from tests.contract.kubectl import targets
from tests.kinds.clusters import manifest

_TEXT = yamltext.dump(manifest())
_VERBS = (
    ("apply", "-f", "-"),
    ("plan", "-f", "-"),
    ("diff", "-f", "-"),
    ("set", "raycluster/c", "rayVersion=2.61.0"),
    ("scale", "raycluster/c", "--group", "small", "--replicas", "2"),
    ("wait", "raycluster/c"),
    ("history", "raycluster/c"),
    ("undo", "raycluster/c"),
    ("reassemble", "raycluster/c"),
    ("suspend", "raycluster/c"),
    ("why", "raycluster/c"),
    ("get", "rayclusters"),
    ("delete", "raycluster/c"),
)


def _refused(done: Done, code: int) -> None:
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    for part in ("error: ", "  why: ", "  next: "):
        assert part in done.err


@pytest.mark.parametrize("words", _VERBS, ids=lambda words: words[0])
def test_a_server_that_does_not_answer_is_ten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    file = tmp_path / "kubeconfig"
    cluster = {"name": "x", "cluster": {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}}
    context = {"name": "x", "context": {"cluster": "x", "user": "x"}}
    whole = {"clusters": [cluster], "contexts": [context], "users": [{"name": "x", "user": {}}], "current-context": "x"}
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **whole}))
    monkeypatch.setattr(sync, "wait_before_retry", lambda *_arguments: None)
    _refused(run(words[0], "--kubeconfig", str(file), *words[1:], stdin=_TEXT), 10)


@pytest.fixture(scope="module")
def bare() -> Iterator[Path]:
    with targets.embedded() as kubeconfig:
        yield kubeconfig


@pytest.mark.parametrize("words", _VERBS, ids=lambda words: words[0])
def test_kinds_that_are_not_defined_are_four(bare: Path, words: tuple[str, ...]) -> None:
    done = run(words[0], "--kubeconfig", str(bare), *words[1:], stdin=_TEXT)
    _refused(done, 4)
    assert any(text in done.err for text in ("definition is not installed", "have a resource type"))
