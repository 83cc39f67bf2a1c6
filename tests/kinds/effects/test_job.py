from __future__ import annotations

from typing import Any, Final

import pytest

from rayward.kinds.effects import Effect, Rules, effects
from rayward.kinds.effects.job import FIELDS, Kind
from tests.kinds.clusters import Object, changed, manifest

R, K6, K7 = Rules.RAYWARD, Rules.KUBERAY_1_6, Rules.KUBERAY_1_7

KUBERAY_FIELDS: Final = """
    rayClusterSpec clusterSelector entrypoint runtimeEnvYAML metadata entrypointNumCpus entrypointNumGpus
    entrypointResources jobId submissionMode submitterPodTemplate submitterConfig activeDeadlineSeconds
    preRunningDeadlineSeconds backoffLimit shutdownAfterJobFinishes ttlSecondsAfterFinished deletionStrategy
    managedBy suspend
"""

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


def test_every_field_of_kuberays_definition_has_a_row() -> None:
    assert sorted(KUBERAY_FIELDS.split()) == sorted(FIELDS)


@pytest.mark.parametrize("status", _TABLE)
@pytest.mark.parametrize("field", FIELDS)
def test_a_field_in_each_phase(field: str, status: str) -> None:
    kind = FIELDS[field]
    if kind not in _KINDS:
        return
    old = _job(status)
    path, value = (f"spec.{field}.rayVersion", "2.61.0") if field == "rayClusterSpec" else (f"spec.{field}", 5)
    expected = _TABLE[status][_KINDS.index(kind)]
    assert {rules: _effect(old, path, value, rules) for rules in Rules} == dict.fromkeys(Rules, expected)


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
