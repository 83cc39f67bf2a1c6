"""Whether Ray Serve has a config: the comparison, and a wait under an operator whose status does not tell."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.changes import serving, waiting
from rayward.changes.judging import State, Verdict
from rayward.changes.outcomes import RolloutFailed
from rayward.changes.refs import Ref
from rayward.changes.steps import NextChange, Now, Operation, Pause, Send
from rayward.kinds.serveconfig import parse
from rayward.kube.client.errors import from_status
from tests.kinds.clusters import Object, changed, service_manifest

_REF = Ref("RayService", "svc", "default")
_APP: Object = {"name": "app", "import_path": "app:two", "route_prefix": "/"}


def _found(config: Object = _APP, status: str = "RUNNING", **more: Any) -> Object:
    return {"app": {"deployed_app_config": config, "status": status, "message": "why"}, **more}


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (_found(), None),
        (_found({**_APP, "import_path": "app:one"}), State.PROGRESSING),
        (_found(status="DEPLOYING"), State.PROGRESSING),
        (_found(status="DEPLOY_FAILED"), State.FAILED),
        # a failure of the config before it says nothing of this one
        (_found({**_APP, "import_path": "app:one"}, "DEPLOY_FAILED"), State.PROGRESSING),
        (_found(other={"deployed_app_config": {}, "status": "RUNNING"}), State.PROGRESSING),
        ({}, State.PROGRESSING),
    ],
)
def test_serve_has_a_config_when_each_application_of_it_runs_and_no_other_does(
    found: Object, state: State | None
) -> None:
    verdict = serving.compare({"app": _APP}, found)
    assert (None if verdict is None else verdict.state) is state


def _under_kuberay() -> Object:
    """As KubeRay's operator shows it before and after it has sent a config on: ready, of an earlier generation."""
    active = {"rayClusterName": "svc-1", "applicationStatuses": {"app": {"status": "RUNNING"}}}
    ready = {"type": "Ready", "status": "True", "reason": "NonZeroServeEndpoints"}
    made = changed(service_manifest(), "metadata.generation", 2)
    return {**made, "status": {"observedGeneration": 1, "conditions": [ready], "activeServiceStatus": active}}


def _played(operation: Operation[Any], answers: list[Any]) -> tuple[Any, int]:
    """What came of it, and how often it paused; Ray gives one of the answers after the other."""
    live, pauses, answer = _under_kuberay(), 0, None
    failure: Exception | None = None
    while True:
        try:
            step = operation.throw(failure) if failure is not None else operation.send(answer)
        except StopIteration as done:
            return done.value, pauses
        answer, failure = None, None
        if isinstance(step, Now):
            answer = 0.0
        elif isinstance(step, Pause):
            pauses += 1
        elif isinstance(step, Send) and "/proxy/" in step.request.target:
            answer = answers.pop(0)
            failure = answer if isinstance(answer, Exception) else None
        elif isinstance(step, Send) and "/rayclusters/" in step.request.target:
            answer = {"spec": live["spec"]["rayClusterConfig"]}
        elif isinstance(step, Send):
            answer = live
        else:
            assert not isinstance(step, NextChange), "KubeRay's operator writes nothing: no event will come"


def _serve(status: str = "RUNNING", path: str | None = None) -> Object:
    (config,) = parse(service_manifest()["spec"]["serveConfigV2"]).applications
    return {"applications": _found({**config, "import_path": path or config["import_path"]}, status)}


def test_under_kuberay_a_config_is_waited_for_until_ray_has_it() -> None:
    answers = [_serve(path="app:earlier"), _serve("DEPLOYING"), _serve()]
    waited, pauses = _played(waiting.wait(_REF, 2), answers)
    assert (waited.verdict.state, pauses, answers) == (State.APPLIED, 2, [])


def test_under_kuberay_a_config_that_ray_cannot_deploy_fails() -> None:
    with pytest.raises(RolloutFailed, match="DEPLOY_FAILED"):
        _played(waiting.wait(_REF, 2), [_serve("DEPLOY_FAILED")])


def test_who_may_not_ask_ray_is_told_so() -> None:
    refused = from_status({"message": "services/proxy is forbidden", "reason": "Forbidden"}, 403)
    verdict, _ = _played(serving.confirm(_REF, _under_kuberay(), Verdict(State.APPLIED, "Ready")), [refused])
    assert verdict.state is State.APPLIED
    assert "Ray Serve was not asked" in verdict.message
