"""Ctrl-C before and after each request of a command: the code, the words, and nothing half-done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from rayward.kube.client.errors import ApiError
from rayward.kube.client.request import Request, Response
from rayward.kube.client.sync import SyncClient
from rayward.kube.machinery import yamltext
from tests.cli.rayward import Done, Rayward, run
from tests.kinds.clusters import Object, changed, manifest, service_manifest

Moment = Literal["before", "after"]

_MOST: Final = 40


class _Interrupting:
    """Stands in for ``SyncClient.answer``, and is interrupted at the n-th request."""

    def __init__(self, at: int, moment: Moment) -> None:
        self.asked = 0
        self._at, self._moment = at, moment
        self._answer = SyncClient.answer

    def __call__(self, client: SyncClient, request: Request) -> Response:
        self.asked += 1
        if self.asked != self._at:
            return self._answer(client, request)
        if self._moment == "after":
            with suppress(ApiError):
                self._answer(client, request)
        raise KeyboardInterrupt


@pytest.fixture(scope="module", autouse=True)
def _kinds(stack: Path) -> None:
    installed = Rayward(stack, "default")("apply", "-f", "-", "--force-conflicts", stdin=run("crds").out)
    assert installed.code == 0, installed.err


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Done], int, Moment], tuple[Done, bool]]:
    """Runs a command that is interrupted at a request; whether it came to that."""

    def once(command: Callable[[], Done], at: int, moment: Moment) -> tuple[Done, bool]:
        interrupting = _Interrupting(at, moment)
        with monkeypatch.context() as patched:
            patched.setattr(SyncClient, "answer", lambda client, request: interrupting(client, request))
            done = command()
        return done, interrupting.asked >= at

    return once


def _bodies(version: str) -> list[Object]:
    """Two objects as one change; both suspended, so that nobody waits for pods."""
    cluster = changed(changed(manifest(), "spec.suspend", True), "spec.rayVersion", version)
    service = changed(service_manifest(), "spec.suspend", True)
    return [cluster, changed(service, "spec.rayClusterConfig.rayVersion", version)]


def _text(bodies: Sequence[Object]) -> str:
    return "---\n".join(map(yamltext.dump, bodies))


def _specs(rayward: Rayward) -> list[Object]:
    return [rayward("get", one, "-o", "json").json()["spec"] for one in ("raycluster/c", "rayservice/s")]


def test_an_apply_of_several_objects(rayward: Rayward, interrupted: Callable[..., Any]) -> None:
    """Each object is as it was or as asked, none in between; the same command makes the rest true."""
    assert rayward("apply", "-f", "-", stdin=_text(_bodies("2.60.0"))).code == 0
    before = _specs(rayward)
    assert rayward("apply", "-f", "-", stdin=_text(_bodies("2.61.0"))).code == 0
    after = _specs(rayward)
    told = 0
    for at in range(1, _MOST):
        for moment in ("before", "after"):
            assert rayward("apply", "-f", "-", stdin=_text(_bodies("2.60.0"))).code == 0
            done, reached = interrupted(lambda: rayward("apply", "-f", "-", stdin=_text(_bodies("2.61.0"))), at, moment)
            assert done.code == (130 if reached else 0), (at, moment, done.err)
            assert "Traceback" not in done.err
            told += "objects were applied" in done.err
            for found, old, new in zip(_specs(rayward), before, after, strict=True):
                assert found in (old, new), (at, moment)
        if not reached:
            break
    else:
        pytest.fail("it never ended")
    assert told > 4
    assert _specs(rayward) == after


@pytest.mark.parametrize(
    "words",
    [
        ("set", "raycluster/c", "rayVersion=2.61.0", "small.max=9"),
        ("scale", "raycluster/c", "--group", "small", "--max", "9"),
        ("patch", "raycluster/c", "-p", '{"spec": {"rayVersion": "2.61.0"}}'),
        ("undo", "raycluster/c", "--to-revision", "1"),
        ("recreate", "raycluster/c", "--approve=c"),
    ],
    ids=lambda words: words[0],
)
def test_a_verb_and_the_same_again(rayward: Rayward, interrupted: Callable[..., Any], words: tuple[str, ...]) -> None:
    """Wherever it was interrupted, the same command ends what it began, as if it had never been."""

    def prepare() -> None:
        rayward("delete", "raycluster/c", "--ignore-not-found")
        body = changed(manifest(), "spec.suspend", True)
        assert rayward("apply", "-f", "-", stdin=yamltext.dump(body)).code == 0
        assert rayward("set", "raycluster/c", "small.replicas=2").code == 0

    prepare()
    assert rayward(*words).code == 0
    wanted = rayward("get", "raycluster/c", "-o", "json").json()["spec"]
    for at in range(1, _MOST):
        for moment in ("before", "after"):
            prepare()
            done, reached = interrupted(lambda: rayward(*words), at, moment)
            assert done.code == (130 if reached else 0), (at, moment, done.err)
            again = rayward(*words)
            assert again.code == 0, (at, moment, again.err)
            assert rayward("get", "raycluster/c", "-o", "json").json()["spec"] == wanted, (at, moment)
        if not reached:
            return
    pytest.fail("it never ended")
