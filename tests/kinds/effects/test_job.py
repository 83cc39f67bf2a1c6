from __future__ import annotations

from typing import Any, Final

import pytest

from rayward.kinds.effects import Effect, Rules, effects
from rayward.kinds.effects.job import FIELDS, Kind
from rayward.kinds.managedby import KUBERAY
from tests.kinds.clusters import Object, changed, manifest
from tests.kinds.effects.fieldlist import changed as changed_below_spec
from tests.kinds.effects.fieldlist import fields

R, K6, K7 = Rules.RAYWARD, Rules.KUBERAY_1_6, Rules.KUBERAY_1_7

_ROWS: Final = {
    Kind.ATTEMPT: (
        "clusterSelector entrypoint entrypointNumCpus entrypointNumGpus entrypointResources jobId metadata "
        "runtimeEnvYAML submissionMode submitterConfig.backoffLimit submitterPodTemplate"
    ),
    Kind.WHILE_RUNNING: "activeDeadlineSeconds backoffLimit",
    Kind.WHILE_STARTING: "preRunningDeadlineSeconds",
    Kind.CLEANUP: (
        "deletionStrategy.deletionRules[].condition.jobDeploymentStatus "
        "deletionStrategy.deletionRules[].condition.jobStatus deletionStrategy.deletionRules[].condition.ttlSeconds "
        "deletionStrategy.deletionRules[].policy deletionStrategy.onFailure.policy deletionStrategy.onSuccess.policy "
        "shutdownAfterJobFinishes ttlSecondsAfterFinished"
    ),
    Kind.SUSPEND: "suspend",
    Kind.OWNER: "managedBy",
}
JOB_FIELDS: Final = fields("rayjobs")
JOB_ROWS: Final = {path: kind for kind, paths in _ROWS.items() for path in paths.split()} | {
    f"rayClusterSpec.{path}": Kind.ATTEMPT for path in fields("rayclusters")
}

_TABLE: Final = {
    # phase: attempt, while running, while starting, cleanup
    "": (Effect.NEXT_CLUSTER, Effect.IN_PLACE, Effect.IN_PLACE, Effect.IN_PLACE),
    "Initializing": (Effect.NEXT_CLUSTER, Effect.IN_PLACE, Effect.IN_PLACE, Effect.IN_PLACE),
    "Running": (Effect.NEXT_CLUSTER, Effect.IN_PLACE, Effect.IGNORED, Effect.IN_PLACE),
    "Retrying": (Effect.NEXT_CLUSTER, Effect.IN_PLACE, Effect.IN_PLACE, Effect.IN_PLACE),
    "Suspended": (Effect.NEXT_CLUSTER, Effect.IN_PLACE, Effect.IN_PLACE, Effect.IN_PLACE),
    "Complete": (Effect.IGNORED, Effect.IGNORED, Effect.IGNORED, Effect.IN_PLACE),
    "Failed": (Effect.IGNORED, Effect.IGNORED, Effect.IGNORED, Effect.IN_PLACE),
}
_KINDS: Final = (Kind.ATTEMPT, Kind.WHILE_RUNNING, Kind.WHILE_STARTING, Kind.CLEANUP)


def _job(status: str, **spec: Any) -> Object:
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "j"},
        "spec": {"entrypoint": "python train.py", "rayClusterSpec": manifest()["spec"], **spec},
        "status": {"jobDeploymentStatus": status},
    }


def _effect(old: Object, path: str, value: Any, rules: Rules = R) -> Effect:
    found = effects("RayJob", old, changed(old, path, value), rules)
    assert len(found) == 1
    assert found.changes[0].why
    return found.changes[0].effect


def test_no_field_of_the_definition_is_without_a_row() -> None:
    assert sorted(JOB_FIELDS) == sorted(JOB_ROWS)
    assert sorted({path.partition(".")[0] for path in JOB_FIELDS}) == sorted(FIELDS)


@pytest.mark.parametrize("path", [path for path, kind in JOB_ROWS.items() if kind in _KINDS])
def test_a_field_in_each_phase(path: str) -> None:
    for status, row in _TABLE.items():
        old = _job(status)
        new = changed_below_spec(old, path, JOB_FIELDS[path])
        expected = {row[_KINDS.index(JOB_ROWS[path])]}
        found = {
            # values of a field's type alone, which validation may reject
            rules: {change.effect for change in effects("RayJob", old, new, rules, problems=())}
            for rules in Rules
        }
        assert found == dict.fromkeys(Rules, expected), status


@pytest.mark.parametrize("status", _TABLE)
def test_the_operator_that_acts_anyway_may_be_named(status: str) -> None:
    old = _job(status)
    assert {rules: _effect(old, "spec.managedBy", KUBERAY, rules) for rules in Rules} == dict.fromkeys(
        Rules, Effect.IGNORED
    )


@pytest.mark.parametrize(
    ("status", "spec", "rules", "effect"),
    [
        ("Running", {}, R, Effect.SUSPEND),
        ("Running", {}, K6, Effect.REFUSED),
        ("Running", {"shutdownAfterJobFinishes": True}, K6, Effect.SUSPEND),
        ("Running", {"shutdownAfterJobFinishes": True, "clusterSelector": {"ray.io/cluster": "c"}}, K7, Effect.REFUSED),
        ("Complete", {}, R, Effect.IGNORED),
        ("Complete", {}, K7, Effect.IGNORED),
    ],
)
def test_suspend(status: str, spec: Object, rules: Rules, effect: Effect) -> None:
    assert _effect(_job(status, **spec), "spec.suspend", True, rules) is effect


def test_resume_is_a_new_attempt() -> None:
    old = _job("Suspended", suspend=True)
    assert _effect(old, "spec.suspend", False) is Effect.RESUME


def test_kuberay_never_looks_again_at_a_job_that_failed_validation() -> None:
    old = _job("ValidationFailed")
    assert _effect(old, "spec.entrypoint", "python a.py", K7) is Effect.IGNORED
    assert _effect(old, "spec.entrypoint", "python a.py", R) is Effect.NEXT_CLUSTER


def test_an_interactive_job_that_waits_takes_its_id() -> None:
    old = _job("Waiting", submissionMode="InteractiveMode")
    assert _effect(old, "spec.jobId", "raysubmit_1") is Effect.IN_PLACE


def test_a_job_of_another_controller() -> None:
    old = _job("Running", managedBy="kueue.x-k8s.io/multikueue")
    assert _effect(old, "spec.suspend", True) is Effect.IGNORED
    assert _effect(old, "spec.managedBy", "ray.io/kuberay-operator") is Effect.REFUSED


@pytest.mark.parametrize("path", ["spec.backoffLimit", "spec.entrypointResources"])
def test_an_edit_that_is_not_valid_is_refused(path: str) -> None:
    value = {"spec.backoffLimit": -3, "spec.entrypointResources": "{CPU"}[path]
    found = effects("RayJob", _job("Running"), changed(_job("Running"), path, value))
    assert [change.effect for change in found] == [Effect.REFUSED]


@pytest.mark.parametrize(
    ("name", "running", "ended"),
    [
        ("rayward.dev/retry-unknown-outcome", Effect.IN_PLACE, Effect.IGNORED),
        ("rayward.dev/status-check-timeout", Effect.IN_PLACE, Effect.IGNORED),
        ("team", Effect.NEXT_CLUSTER, Effect.IGNORED),
    ],
)
def test_annotations(name: str, running: Effect, ended: Effect) -> None:
    for status, expected in (("Running", running), ("Suspended", running), ("Complete", ended)):
        old = _job(status)
        assert (
            _effect(old, "metadata.annotations", {name: "true" if name.endswith("outcome") else "10m"}) is expected
        ), status
