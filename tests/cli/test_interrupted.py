"""Ctrl-C before and after each request of a command: the code, the words, and nothing half-done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request, Response
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import Resource
from rayward.kube.machinery import yamltext
from rayward.stack.folder import Folder
from tests.cli.rayward import Done, Rayward, run
from tests.kinds.clusters import Object, changed, job_manifest, manifest, service_manifest

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


@dataclass(frozen=True)
class _Case:
    """A verb, and the object that it is tried on; each time another one, whose name is put for NAME.

    No operator runs: what it would say is in the status from the beginning.
    """

    words: tuple[str, ...]
    resource: Resource
    body: Object
    status: Object = field(default_factory=dict[str, Any])
    again: frozenset[int] = frozenset({0})
    """What the same command may end with the second time: an object may be made, or gone, already."""
    makes: str = "NAME"
    """The object that is read in the end."""
    stdin: Object | None = None
    deleted: bool = False
    """Whether it is being deleted when the verb begins."""


def _condition(kind: str, status: str) -> Object:
    told = {"type": kind, "status": status, "reason": "R", "message": ""}
    return {**told, "lastTransitionTime": "2026-01-01T00:00:00Z"}


_SUSPENDED: Final = {"state": "suspended", "observedGeneration": 99}
_UPGRADING: Final = {
    "pendingServiceStatus": {"rayClusterName": "next"},
    "conditions": [_condition("Reconciling", "True")],
}
_GIVEN_UP: Final = {
    "conditions": [_condition("Progressing", "False"), {**_condition("ReleaseFailed", "True"), "observedGeneration": 1}]
}
_ORPHAN: Final = {labels.ORIGIN_NAME: "gone", labels.ORIGIN_KIND: "RayService"}
_LOST: Final = {labels.ORIGIN_NAME: "keeper", labels.ORIGIN_KIND: "RayService"}
_CASES: Final = (
    _Case(("reassemble", "raycluster/NAME", "small.max=9"), RAY_CLUSTERS, manifest(), _SUSPENDED),
    _Case(
        ("edit", "rayjob/NAME", "entrypoint=python other.py"),
        RAY_JOBS,
        job_manifest(),
        {"jobDeploymentStatus": "Suspended"},
    ),
    _Case(("upgrade", "rayservice/NAME", "rayVersion=2.61.0", "--pause"), RAY_SERVICES, service_manifest()),
    _Case(("rollout", "raycluster/NAME", "small.image=rayproject/ray:2.61.0"), RAY_CLUSTERS, manifest()),
    _Case(("replace", "-f", "-"), RAY_CLUSTERS, manifest(), stdin=changed(manifest(), "spec.rayVersion", "2.61.0")),
    _Case(
        ("rerun", "NAME", "--name", "NAME-again", "--detach"),
        RAY_JOBS,
        job_manifest(),
        again=frozenset({0, 5}),
        makes="NAME-again",
    ),
    _Case(
        ("unstick", "raycluster/NAME", "--approve", "NAME"),
        RAY_CLUSTERS,
        changed(manifest(), "metadata.finalizers", ["example.com/held"]),
        again=frozenset({0, 4}),
        deleted=True,
    ),
    _Case(("gc", "--yes"), RAY_CLUSTERS, changed(manifest(), "metadata.labels", _ORPHAN)),
    _Case(("adopt", "--yes"), RAY_CLUSTERS, changed(manifest(), "metadata.labels", _LOST)),
    _Case(("delete", "raycluster/NAME", "--ignore-not-found", "--cascade=background"), RAY_CLUSTERS, manifest()),
    _Case(("delete", "rayjob/NAME", "--ignore-not-found"), RAY_JOBS, job_manifest()),
    _Case(("pause", "rayservice/NAME"), RAY_SERVICES, service_manifest()),
    _Case(("promote", "rayservice/NAME"), RAY_SERVICES, service_manifest(), _UPGRADING),
    _Case(("abort", "rayservice/NAME"), RAY_SERVICES, service_manifest(), _UPGRADING),
    # once it has been asked for again, nothing is given up any more
    _Case(("retry", "rayservice/NAME"), RAY_SERVICES, service_manifest(), _GIVEN_UP, again=frozenset({0, 3})),
    _Case(("restart", "rayservice/NAME"), RAY_SERVICES, service_manifest()),
    _Case(("suspend", "raycluster/NAME"), RAY_CLUSTERS, manifest()),
    _Case(("resume", "raycluster/NAME"), RAY_CLUSTERS, changed(manifest(), "spec.suspend", True), _SUSPENDED),
    _Case(("reconcile", "raycluster/NAME"), RAY_CLUSTERS, manifest()),
    _Case(
        ("apply", "-f", "-", "--wait", "--force-conflicts"),
        RAY_CLUSTERS,
        changed(manifest(), "spec.suspend", True),
        _SUSPENDED,
        stdin=changed(changed(manifest(), "spec.suspend", True), "spec.rayVersion", "2.61.0"),
    ),
)


def _timeless(value: Any) -> Any:
    """A spec without the times of restarts in it."""
    if isinstance(value, list):
        return [_timeless(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, dict):
        return value
    return {name: "" if name == labels.RESTARTED_AT else _timeless(one) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType]


@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case.words[0]}-{case.resource.kind}")
def test_a_verb_on_an_object_of_its_own_and_the_same_again(
    rayward: Rayward, stack: Path, interrupted: Callable[..., Any], case: _Case
) -> None:
    """As above; and no transaction stays open, and what was to go is gone."""
    with SyncClient.connect(find_access(Folder(stack).kubeconfig)) as api:

        def prepare(name: str) -> Callable[[], Done]:
            namespace, resource = rayward.namespace, case.resource
            api.create(resource, changed(case.body, "metadata.name", name), namespace)
            if case.status:
                api.patch(resource, name, {"status": case.status}, PatchType.MERGE, namespace, subresource="status")
            if case.deleted:
                api.delete(resource, name, namespace)
            words = [word.replace("NAME", name) for word in case.words]
            stdin = "" if case.stdin is None else yamltext.dump(changed(case.stdin, "metadata.name", name))
            return lambda: rayward(words[0], *words[1:], stdin=stdin)

        def result(name: str) -> tuple[Object, list[str], int] | None:
            try:
                found = api.get(case.resource, case.makes.replace("NAME", name), rayward.namespace)
            except NotFound:
                return None
            metadata = found["metadata"]
            owners = len(metadata.get("ownerReferences") or ())
            return _timeless(found["spec"]), sorted(metadata.get("annotations") or {}), owners

        api.create(RAY_SERVICES, service_manifest("keeper"), rayward.namespace)
        command = prepare("a0")
        before = result("a0")
        done = command()
        assert done.code == 0, done.err
        wanted = result("a0")
        assert wanted != before
        for at in range(1, _MOST):
            for moment in ("before", "after"):
                name = f"{moment[0]}{at}"
                command = prepare(name)
                done, reached = interrupted(command, at, moment)
                assert done.code == (130 if reached else 0), (at, moment, done.err)
                assert "Traceback" not in done.err
                again = command()
                assert again.code in case.again, (at, moment, again.err)
                assert result(name) == wanted, (at, moment)
            if not reached:
                return
    pytest.fail("it never ended")


def _until_it_ends(once: Callable[[int, Moment], bool]) -> None:
    """Interrupt at each request in turn, until there is none left; ``once`` says whether there was one."""
    for at in range(1, _MOST):
        if not [once(at, moment) for moment in ("before", "after")][-1]:
            return
    pytest.fail("it never ended")


def test_a_plan_that_is_applied(rayward: Rayward, tmp_path: Path, interrupted: Callable[..., Any]) -> None:
    """It is applied, or not; where it was, the same command says that the object has moved."""
    file = tmp_path / "plan.json"
    older, newer = (yamltext.dump(one) for one in (manifest(), changed(manifest(), "spec.rayVersion", "2.61.0")))

    def once(at: int, moment: Moment) -> bool:
        assert rayward("apply", "-f", "-", stdin=older).code == 0
        assert rayward("plan", "-f", "-", "--out", str(file), stdin=newer).code == 0
        done, reached = interrupted(lambda: rayward("apply", "--plan", str(file)), at, moment)
        assert done.code == (130 if reached else 0), (at, moment, done.err)
        applied = rayward("get", "raycluster/c", "-o", "json").json()["spec"].get("rayVersion") == "2.61.0"
        assert rayward("apply", "--plan", str(file)).code == (5 if applied else 0)
        assert rayward("get", "raycluster/c", "-o", "json").json()["spec"]["rayVersion"] == "2.61.0"
        return reached

    _until_it_ends(once)


def test_a_change_that_fails_and_is_rolled_back(rayward: Rayward, stack: Path, interrupted: Callable[..., Any]) -> None:
    """Each time it is as it was or as asked, and the same command ends as if it had never been interrupted.

    No operator runs: what is asked for has failed from the beginning, and so has what it goes back to.
    """
    ready = {**_condition("Ready", "False"), "reason": "InvalidImageName", "observedGeneration": 99}
    status: Object = {"status": {"observedGeneration": 99, "conditions": [ready]}}

    def body(name: str, version: str) -> str:
        return yamltext.dump(changed(changed(manifest(), "metadata.name", name), "spec.rayVersion", version))

    with SyncClient.connect(find_access(Folder(stack).kubeconfig)) as api:

        def once(at: int, moment: Moment) -> bool:
            name = f"{moment[0]}{at}"
            assert rayward("apply", "-f", "-", stdin=body(name, "2.60.0")).code == 0
            api.patch(RAY_CLUSTERS, name, status, PatchType.MERGE, rayward.namespace, subresource="status")
            words = ("apply", "-f", "-", "--wait", "--on-failure=rollback", "--force-conflicts")

            def command() -> Done:
                return rayward(*words, stdin=body(name, "2.61.0"))

            done, reached = interrupted(command, at, moment)
            assert done.code == (130 if reached else 8), (at, moment, done.err)
            assert "Traceback" not in done.err
            assert api.get(RAY_CLUSTERS, name, rayward.namespace)["spec"]["rayVersion"] in ("2.60.0", "2.61.0")
            again = command()
            assert again.code == 8, (at, moment, again.err)
            return reached

        _until_it_ends(once)
