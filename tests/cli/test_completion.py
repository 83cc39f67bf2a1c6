"""What a shell is offered after ``rayward why``."""

from __future__ import annotations

from click.shell_completion import ShellComplete

from rayward.cli.main import commands
from rayward.kube.machinery import yamltext
from tests.cli.rayward import Rayward, run
from tests.kinds.clusters import changed, manifest


def _offered(words: list[str], incomplete: str) -> list[str]:
    made = ShellComplete(commands, {}, "rayward", "_RAYWARD_COMPLETE")
    return [one.value for one in made.get_completions(words, incomplete)]


def test_kinds_then_names_from_the_server(rayward: Rayward) -> None:
    assert rayward("apply", "-f", "-", "--force-conflicts", stdin=run("crds").out).code == 0
    for name in ("train", "trial", "other"):
        body = changed(manifest(name), "spec.suspend", True)
        assert rayward("apply", "-f", "-", stdin=yamltext.dump(body)).code == 0
    words = ["why", "-n", rayward.namespace, "--data-dir", str(rayward.folder)]
    assert _offered(words, "rayc") == ["raycluster/"]
    assert _offered(words, "raycluster/tr") == ["raycluster/train", "raycluster/trial"]
    assert _offered(["why", "--data-dir", "/nowhere"], "raycluster/t") == []
    assert _offered(["history", *words[1:], "raycluster"], "tr") == ["train", "trial"]
    assert _offered(["get", *words[1:]], "rayclusters/o") == ["rayclusters/other"]
    assert _offered(["describe", *words[1:], "serviceaccount"], "def") == ["default"]
    assert _offered(["logs", *words[1:]], "raycluster/tra") == ["raycluster/train"]
    assert "reassemble" in _offered([], "rea")
