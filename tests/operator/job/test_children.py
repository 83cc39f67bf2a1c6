from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any, Final

import msgspec
import pytest

from rayward.kinds.admission import Admission, Queueing
from rayward.kinds.raycluster import Object, RayCluster
from rayward.kinds.rayjob import RayJob
from rayward.operator.job import annotations as memory
from rayward.operator.job import children, submission
from rayward.operator.job.annotations import Attempt
from tests.kinds.clusters import job_manifest, manifest
from tests.operator.ray.simulated import SimulatedHead, listening


def _job(**spec: Any) -> tuple[RayJob, Object]:
    value = job_manifest("train")
    value["metadata"] |= {
        "namespace": "team",
        "uid": "u",
        "labels": {"a": "b"},
        "annotations": {"ray.io/ft-enabled": "false", "rayward.dev/attempt": "{}", "other": "kept"},
    }
    value["spec"] |= spec
    return msgspec.convert(value, RayJob), value["spec"]["rayClusterSpec"]


def _attempt(job: RayJob, session: str = "s") -> Attempt:
    return Attempt(1, "train-abcde", "train-xyzzy", session=session, **memory.frozen(job.spec))


def _cluster(**spec: Any) -> RayCluster:
    value = manifest("train-xyzzy")
    value["metadata"]["namespace"] = "team"
    value["spec"] |= spec
    return msgspec.convert(value, RayCluster)


def test_a_cluster_has_the_jobs_labels_and_the_users_annotations() -> None:
    job, config = _job(submissionMode="HTTPMode")
    made = children.cluster(job, job.spec, config, _attempt(job))
    assert made["metadata"]["name"] == "train-xyzzy"
    assert made["metadata"]["labels"] == {
        "a": "b",
        "ray.io/originated-from-cr-name": "train",
        "ray.io/originated-from-crd": "RayJob",
        "ray.io/job-submission-mode": "HTTPMode",
    }
    assert made["metadata"]["annotations"] == {"ray.io/ft-enabled": "false", "other": "kept"}
    assert made["spec"] == config
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u"


def test_a_submitter_is_marked_with_the_workload_of_its_attempt() -> None:
    job, _ = _job()
    grant = '{"uid":"u","workload":"raycluster-train-xyzzy-1","groups":{"headgroup":{"pods":1}}}'
    value = msgspec.to_builtins(_cluster())
    value["metadata"] |= {"uid": "u", "annotations": {"rayward.dev/admitted": grant}}
    on = msgspec.convert(value, RayCluster)
    made = children.submitter_job(job, job.spec, _attempt(job), on, "a:1")
    marked = {"rayward.dev/workload": "raycluster-train-xyzzy-1"}
    assert made["spec"]["template"]["metadata"]["annotations"] == marked
    beside_kueue = children.submitter_job(job, job.spec, _attempt(job), on, "a:1", Queueing(Admission.KUEUE))
    marked["kueue.x-k8s.io/pod-suspending-parent"] = "rayward.dev/gate"
    assert beside_kueue["spec"]["template"]["metadata"]["annotations"] == marked


def test_a_sidecar_is_added_to_a_copy() -> None:
    job, config = _job(submissionMode="SidecarMode")
    before = msgspec.json.encode(config)
    made = children.cluster(job, job.spec, config, _attempt(job))
    assert msgspec.json.encode(config) == before
    pod = made["spec"]["headGroupSpec"]["template"]["spec"]
    assert [container["name"] for container in pod["containers"]] == ["ray", "ray-job-submitter"]
    sidecar = pod["containers"][1]
    assert sidecar["command"] == ["/bin/bash", "-ce", "--"]
    assert "--submission-id train-abcde" in sidecar["args"][0]
    assert sidecar["resources"]["requests"] == {"cpu": "500m", "memory": "200Mi"}
    assert made["metadata"]["annotations"]["ray.io/disable-provisioned-head-restart"] == "true"


def test_a_submitter_gets_the_heads_image_or_the_users_template() -> None:
    job, _ = _job(submitterConfig={"backoffLimit": 5})
    made = children.submitter_job(job, job.spec, _attempt(job), _cluster(), "train-xyzzy-head-svc.team.svc:8265")
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert (made["metadata"]["name"], made["spec"]["backoffLimit"]) == ("train", 5)
    assert container["image"] == "rayproject/ray:2.60.0"
    assert {each["name"]: each.get("value") for each in container["env"]} == {
        "PYTHONUNBUFFERED": "1",
        "RAY_DASHBOARD_ADDRESS": "train-xyzzy-head-svc.team.svc:8265",
        "RAY_JOB_SUBMISSION_ID": "train-abcde",
    }
    own = {"spec": {"containers": [{"name": "mine", "image": "i", "command": ["sh"]}]}}
    job, _ = _job(submitterPodTemplate=own)
    made = children.submitter_job(job, job.spec, _attempt(job), _cluster(authOptions={"mode": "token"}), "a:1")
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert (container["command"], container.get("args")) == (["sh"], None)
    assert {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN"} <= {each["name"] for each in container["env"]}
    assert "args" not in own["spec"]["containers"][0], "the user's template is left alone"


def test_what_users_write_reaches_ray_and_not_the_shell() -> None:
    job, _ = _job(
        runtimeEnvYAML="env_vars: {A: \"$(rm -rf /) 'x'\"}\n",
        metadata={"k": "`v`"},
        entrypointResources='{"TPU": 1}',
        entrypointNumCpus=0.5,
    )
    words = submission.job_command(job.spec, "i", "http://h:1", "s")
    done = subprocess.run(
        ["/bin/bash", "-c", 'ray() { printf "%s\\n" "$@"; }; python() { return 10; }; ' + words],
        capture_output=True,
        text=True,
        check=True,
    )
    printed = done.stdout.splitlines()
    assert printed[printed.index("--runtime-env-json") + 1] == '{"env_vars": {"A": "$(rm -rf /) \'x\'"}}'
    assert printed[printed.index("--metadata-json") + 1] == '{"k": "`v`"}'
    assert printed[printed.index("--entrypoint-num-cpus") + 1] == "0.500000"
    assert printed[-2:] == ["--follow", "i"]


@pytest.mark.anyio
async def test_a_later_pod_submits_nothing_to_a_head_that_began_anew() -> None:
    head = SimulatedHead(lambda: 0.0, token="secret")
    async with listening(head) as port:
        first = head.session
        assert await _submitter(port, first) == (0, ["submit", "logs"])
        head.answer(
            "POST",
            "/api/jobs/",
            {"authorization": "Bearer secret"},
            b'{"entrypoint": "x", "submission_id": "train-abcde"}',
        )
        assert await _submitter(port, first) == (0, ["logs"]), "what Ray has is followed"
        head.restart()
        assert await _submitter(port, first) == (submission.LOST, []), "and nothing is submitted twice"


_RESPONSES: dict[str, bytes | None] = {
    "500": b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
    "404 of a dashboard that has no jobs yet": b"HTTP/1.1 404 No\r\nContent-Length: 14\r\n\r\n404: Not Found",
    "garbage": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<html",
    "no HTTP": b"hello\n",
    "cut off": b"",
    "silence": None,
}


@pytest.mark.anyio
@pytest.mark.parametrize("response", _RESPONSES)
async def test_a_pod_that_gets_no_answer_of_ray_submits_nothing(response: str) -> None:
    """The first pod may have submitted, and the head may be about to begin anew: nobody can tell."""
    said = _RESPONSES[response]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if said is not None:
            writer.write(said)
        elif await reader.read(1 << 16):
            # until the guard has given up
            await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        patience = 1 if said is None else _PATIENCE
        code, ran = await _submitter(server.sockets[0].getsockname()[1], "s", patience)
    assert (code, ran) == (1, [])


@pytest.mark.anyio
async def test_a_pod_that_reaches_no_head_submits_nothing_and_the_next_one_asks_again() -> None:
    head = SimulatedHead(lambda: 0.0, token="secret")
    async with listening(head) as port:
        pass
    assert await _submitter(port, head.session) == (1, [])
    async with listening(head) as port:
        assert await _submitter(port, head.session) == (0, ["submit", "logs"])


_PATIENCE: Final = 30
"""How many seconds the guard waits for an answer."""


async def _submitter(port: int, session: str, patience: int = _PATIENCE) -> tuple[int, list[str]]:
    """Run a submitter's command with a guard of such patience; its exit code, and what it had ``ray job`` do."""
    job, _ = _job()
    words = submission.job_command(job.spec, "train-abcde", f"http://127.0.0.1:{port}", session)
    assert f"timeout={_PATIENCE}" in words
    words = words.replace(f"timeout={_PATIENCE}", f"timeout={patience}")
    script = f'ray() {{ echo "$@"; }}; python() {{ {sys.executable} "$@"; }}; {words}'
    process = await asyncio.create_subprocess_exec(
        "/bin/bash",
        "-ce",
        script,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"RAY_AUTH_TOKEN": "secret"},
    )
    output, _ = await process.communicate()
    return process.returncode or 0, [line.split()[1] for line in output.decode().splitlines() if line.startswith("job")]


def test_the_service_leads_to_the_cluster_of_the_attempt() -> None:
    job, _ = _job()
    made = children.head_service(job, _cluster())
    assert made["metadata"]["name"] == "train-head-svc"
    assert made["spec"]["selector"]["ray.io/cluster"] == "train-xyzzy"
    assert children.dashboard_address(_cluster(), "cluster.local") == (
        "train-xyzzy-head-svc.team.svc.cluster.local:8265"
    )
