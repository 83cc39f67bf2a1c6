from __future__ import annotations

import base64
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds import packing
from rayward.kinds.rayjob import RayJob
from rayward.kinds.validation import job_problems, job_warnings
from tests.kinds.clusters import changed, job_manifest
from tests.kinds.judgements import BAD, GOOD, Judgement

CLUSTER = "spec.rayClusterSpec"
RULES = "spec.deletionStrategy"
SELECTED = {"spec.clusterSelector": {"ray.io/cluster": "c"}, CLUSTER: None}


def _job(changes: dict[str, Any]) -> RayJob:
    value = job_manifest()
    for path, part in changes.items():
        value = changed(value, path, part)
    return msgspec.convert(value, RayJob)


def _found(changes: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.path, problem.reason) for problem in job_problems(_job(changes))]


def _rule(policy: str, ttl: int = 0, status: str = "SUCCEEDED") -> dict[str, Any]:
    return {"policy": policy, "condition": {"jobStatus": status, "ttlSeconds": ttl}}


def _rules(*rules: dict[str, Any]) -> dict[str, Any]:
    return {RULES: {"deletionRules": list(rules)}}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="the small one"),
        pytest.param({"spec.suspend": True}, id="suspend without shutdown, which KubeRay refuses"),
        pytest.param({**SELECTED, "spec.suspend": True}, id="suspend with a selector, which KubeRay refuses"),
        pytest.param({"spec.submissionMode": "HTTPMode"}, id="HTTP"),
        pytest.param({"spec.submissionMode": "SidecarMode", "spec.backoffLimit": 2}, id="a sidecar with retries"),
        pytest.param({"spec.submissionMode": "InteractiveMode", "spec.entrypoint": ""}, id="interactive"),
        pytest.param({**SELECTED}, id="a selector"),
        pytest.param({"spec.runtimeEnvYAML": "env_vars:\n  A: 'b'\n"}, id="an environment"),
        pytest.param({"spec.entrypointResources": '{"TPU": 0.5}'}, id="resources"),
        pytest.param({"spec.shutdownAfterJobFinishes": True, "spec.ttlSecondsAfterFinished": 9}, id="a time to live"),
        pytest.param(_rules(_rule("DeleteWorkers", 1), _rule("DeleteCluster", 2), _rule("DeleteSelf", 3)), id="rules"),
        pytest.param(_rules(_rule("DeleteSelf", 1), _rule("DeleteCluster", 2, "FAILED")), id="rules by condition"),
        pytest.param({"metadata.annotations": {"rayward.dev/status-check-timeout": "90s"}}, id="a timeout"),
    ],
)
def test_what_can_work_is_taken(changes: dict[str, Any]) -> None:
    assert _found(changes) == []


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        pytest.param({"spec.entrypoint": " "}, [("spec.entrypoint", "Required")], id="no command"),
        pytest.param({CLUSTER: None}, [(CLUSTER, "Required")], id="no cluster"),
        pytest.param({"spec.submissionMode": "X"}, [("spec.submissionMode", "Invalid")], id="no mode"),
        pytest.param({"spec.activeDeadlineSeconds": 0}, [("spec.activeDeadlineSeconds", "Invalid")], id="deadline"),
        pytest.param(
            {"spec.preRunningDeadlineSeconds": 0}, [("spec.preRunningDeadlineSeconds", "Invalid")], id="start deadline"
        ),
        pytest.param({"spec.backoffLimit": -1}, [("spec.backoffLimit", "Invalid")], id="fewer than no retries"),
        pytest.param(
            {"spec.ttlSecondsAfterFinished": 5}, [("spec.ttlSecondsAfterFinished", "Invalid")], id="ttl of nothing"
        ),
        pytest.param(
            {"spec.ttlSecondsAfterFinished": -5}, [("spec.ttlSecondsAfterFinished", "Invalid")], id="a negative ttl"
        ),
        pytest.param(
            {**SELECTED, "spec.backoffLimit": 1}, [("spec.backoffLimit", "Invalid")], id="retries on a chosen cluster"
        ),
        pytest.param(
            {**SELECTED, "spec.clusterSelector": {"a": "b"}},
            [("spec.clusterSelector", "Required")],
            id="a selector without name",
        ),
        pytest.param(
            {**SELECTED, "spec.submissionMode": "SidecarMode"},
            [("spec.submissionMode", "Invalid")],
            id="a sidecar in a chosen cluster",
        ),
        pytest.param(
            {"spec.submissionMode": "InteractiveMode", "spec.backoffLimit": 1},
            [("spec.backoffLimit", "Invalid")],
            id="retries of what the user submits",
        ),
        pytest.param(
            {
                "spec.submissionMode": "SidecarMode",
                "spec.submitterPodTemplate": {},
                "spec.submitterConfig": {},
                f"{CLUSTER}.headGroupSpec.template.spec.restartPolicy": "Always",
            },
            [
                ("spec.submitterPodTemplate", "Forbidden"),
                ("spec.submitterConfig", "Forbidden"),
                (f"{CLUSTER}.headGroupSpec.template.spec.restartPolicy", "Invalid"),
            ],
            id="a sidecar with a pod of its own",
        ),
        pytest.param(
            {f"{CLUSTER}.authOptions": {"mode": "token", "enableK8sTokenAuth": True}},
            [(f"{CLUSTER}.authOptions.enableK8sTokenAuth", "Forbidden")],
            id="Kubernetes' tokens",
        ),
        pytest.param(
            {f"{CLUSTER}.upgradeStrategy": {"type": "Recreate"}},
            [(f"{CLUSTER}.upgradeStrategy", "Forbidden")],
            id="an upgrade of what is made anew",
        ),
        pytest.param(
            {f"{CLUSTER}.workerGroupSpecs.0.minReplicas": 9},
            [(f"{CLUSTER}.workerGroupSpecs[0].minReplicas", "Invalid")],
            id="a bad cluster",
        ),
        pytest.param(
            {"spec.entrypointResources": "{"},
            [("spec.entrypointResources", "Invalid")],
            id="resources that are no JSON",
        ),
        pytest.param(
            {"spec.entrypointResources": '{"a": "b"}'},
            [("spec.entrypointResources", "Invalid")],
            id="resources that are no numbers",
        ),
        pytest.param({"spec.jobId": "a b;c"}, [("spec.jobId", "Invalid")], id="an id that a shell would split"),
        pytest.param(
            {"spec.metadata": {"a": "b"}, f"{CLUSTER}.rayVersion": "2.5.0"},
            [("spec.metadata", "Invalid")],
            id="old Ray",
        ),
        pytest.param(
            {**_rules(_rule("DeleteCluster")), "spec.shutdownAfterJobFinishes": True},
            [("spec.shutdownAfterJobFinishes", "Forbidden")],
            id="rules beside shutdown",
        ),
        pytest.param(
            _rules(_rule("DeleteCluster", 5), _rule("DeleteSelf", 3)),
            [(f"{RULES}.deletionRules", "Invalid")],
            id="all before a part",
        ),
        pytest.param(
            _rules(_rule("DeleteSelf"), _rule("DeleteSelf")),
            [(f"{RULES}.deletionRules[1]", "Duplicate")],
            id="a rule twice",
        ),
        pytest.param(
            _rules({"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}}),
            [(f"{RULES}.deletionRules[0].condition", "Invalid")],
            id="a rule about two statuses",
        ),
        pytest.param(
            _rules({"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED", "ttlSeconds": -1}}),
            [(f"{RULES}.deletionRules[0].condition.ttlSeconds", "Invalid")],
            id="a rule before the end",
        ),
        pytest.param(
            {**SELECTED, **_rules(_rule("DeleteCluster"))},
            [(f"{RULES}.deletionRules[0].policy", "Invalid")],
            id="deleting a chosen cluster",
        ),
        pytest.param(
            {**_rules(_rule("DeleteWorkers")), f"{CLUSTER}.enableInTreeAutoscaling": True},
            [(f"{RULES}.deletionRules[0].policy", "Invalid")],
            id="deleting what is scaled",
        ),
        pytest.param(_rules(_rule("DeleteAll")), [(f"{RULES}.deletionRules[0].policy", "Invalid")], id="no policy"),
        pytest.param(
            {RULES: {"onSuccess": {"policy": "DeleteSelf"}}},
            [(f"{RULES}.onFailure.policy", "Required")],
            id="half of the old policies",
        ),
        pytest.param(
            {
                RULES: {"onSuccess": {"policy": "DeleteNone"}, "onFailure": {"policy": "DeleteSelf"}},
                "spec.shutdownAfterJobFinishes": True,
            },
            [(f"{RULES}.onSuccess.policy", "Invalid")],
            id="nothing and the cluster",
        ),
        pytest.param(
            {"metadata.annotations": {"rayward.dev/status-check-timeout": "soon"}},
            [("metadata.annotations", "Invalid")],
            id="no time",
        ),
        pytest.param(
            {"metadata.annotations": {"rayward.dev/retry-unknown-outcome": "perhaps"}},
            [("metadata.annotations", "Invalid")],
            id="neither yes nor no",
        ),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_written(
    changes: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    assert _found(changes) == problems


def test_what_an_attempt_cannot_keep_is_refused_with_its_size() -> None:
    """300 KB that no compression helps, and as many that one does."""
    noise = base64.b64encode(Random(1).randbytes(220_000)).decode()
    (problem,) = job_problems(_job({"spec.runtimeEnvYAML": f"env_vars:\n  A: '{noise}'\n"}))
    assert problem.path == "spec.runtimeEnvYAML"
    assert "takes 29" in problem.message
    assert f"at most {packing.MOST}" in problem.message
    assert _found({"spec.runtimeEnvYAML": f"env_vars:\n  A: '{'a' * 300_000}'\n"}) == []
    # it is bytes that count: each of these letters has three
    chance = Random(1)
    wide = "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(65_000))
    (problem,) = job_problems(_job({"spec.entrypoint": wide}))
    assert problem.path == "spec.entrypoint"


def test_a_mistake_in_the_environment_has_line_and_column() -> None:
    text = "env_vars:\n  A: 1\npip: [a]\nconda: {}\nuv: [b]\n"
    assert [str(problem) for problem in job_problems(_job({"spec.runtimeEnvYAML": text}))] == [
        "spec.runtimeEnvYAML: line 2, column 3: the value of A is not text, and Ray takes only text: put it in quotes",
        "spec.runtimeEnvYAML: line 5, column 1: Ray takes one of pip and uv: keep one",
    ]
    (problem,) = job_problems(_job({"spec.runtimeEnvYAML": "a: [b\n"}))
    assert "line 1, column 4" in problem.message


def test_warnings_say_what_has_no_effect() -> None:
    found = job_warnings(
        _job(
            {
                "spec.clusterSelector": {"ray.io/cluster": "c"},
                "spec.shutdownAfterJobFinishes": True,
                "spec.runtimeEnvYAML": "working_dirr: x\n",
                "metadata.annotations": {"rayward.dev/retry": "false"},
            }
        )
    )
    assert [problem.path for problem in found] == [
        "metadata.annotations",
        "spec.shutdownAfterJobFinishes",
        "spec.rayClusterSpec",
        "spec.runtimeEnvYAML",
    ]
    assert "line 1, column 1" in found[-1].message


@pytest.mark.parametrize("mode", ["HTTPMode", "InteractiveMode"])
def test_a_submitter_that_is_not_made_is_worth_a_warning(mode: str) -> None:
    given = {"spec.submitterConfig": {"backoffLimit": 1}, "spec.submitterPodTemplate": {}}
    found = job_warnings(_job({"spec.submissionMode": mode, **given}))
    assert sorted(warning.path for warning in found) == sorted(given)
    assert job_warnings(_job({"spec.submitterConfig": {"backoffLimit": 1}})) == []


def test_code_that_ray_cannot_unpack_is_worth_a_warning() -> None:
    text = "pip: [a]\nworking_dir: s3://b/code\npy_modules:\n- s3://b/a.zip\n- s3://b/b\n"
    messages = [warning.message for warning in job_warnings(_job({"spec.runtimeEnvYAML": text}))]
    assert [message.partition(" is not an archive")[0] for message in messages] == [
        "line 2, column 1: working_dir 's3://b/code'",
        "line 5, column 3: py_modules 's3://b/b'",
    ]
    assert job_warnings(_job({"spec.runtimeEnvYAML": "working_dir: local:///srv/code\n"})) == []


@pytest.mark.parametrize("judgement", [one for one in BAD if one.body["kind"] == "RayJob"], ids=lambda one: one.name)
def test_what_the_server_refuses_is_refused_here_too(judgement: Judgement) -> None:
    paths = [problem.path for problem in job_problems(msgspec.convert(judgement.body, RayJob))]
    assert any(path.startswith(judgement.field) for path in paths)


@pytest.mark.parametrize("judgement", [one for one in GOOD if one.body["kind"] == "RayJob"], ids=lambda one: one.name)
def test_what_the_server_takes_is_taken_here_too(judgement: Judgement) -> None:
    assert job_problems(msgspec.convert(judgement.body, RayJob)) == []


@given(st.text(max_size=60))
def test_any_environment_is_read_or_refused(text: str) -> None:
    job_problems(_job({"spec.runtimeEnvYAML": text}))
