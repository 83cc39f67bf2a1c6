from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from rayward.changes.intents import parse_setting
from rayward.changes.outcomes import Conflict, Invalid, NotFound, UsageError
from rayward.changes.packing import Package
from rayward.changes.refs import Ref
from rayward.changes.running import Run, copied, manifest, rerun, start, suggest_name
from rayward.changes.steps import run
from rayward.kinds.rayjob import RayJob
from rayward.kinds.resources import RAY_JOBS
from rayward.kinds.validation import job_problems
from rayward.kube.client import errors
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient

RUN = Run(("python", "train.py", "--name", "a b"), "rayproject/ray:2.60.0", "2.60.0")
PACKAGE = Package(b"an archive", 1, 10)


def _ref(namespace: str, name: str = "train") -> Ref:
    return Ref("RayJob", name, namespace)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "train.py"), "train-x"),
        (("python3.11", "-u", "jobs/My_Train.v2.py", "--fast"), "my-train-x"),
        (("./7days.sh",), "job-7days-x"),
        (("python", "-c"), "job-x"),
        (("bash", "-c", "echo hello"), "job-x"),
        (("$$$",), "job-x"),
        (("a" * 80,), "a" * 45 + "-x"),
    ],
)
def test_a_run_has_the_name_of_its_program(command: tuple[str, ...], name: str) -> None:
    assert suggest_name(command, "x") == name


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("package", [None, PACKAGE])
def test_the_operator_accepts_every_run(workers: int, package: Package | None) -> None:
    made = manifest(replace(RUN, workers=workers, gpus=1, cpus="4", memory="8Gi", retries=2), _ref("n"), package)
    assert job_problems(msgspec.convert(made, RayJob)) == []
    assert made["spec"]["entrypoint"] == "python train.py --name 'a b'"
    head = made["spec"]["rayClusterSpec"]["headGroupSpec"]
    amounts = head["template"]["spec"]["containers"][0]["resources"]["limits"]
    # With workers the head runs no tasks, and asks for little.
    assert ("nvidia.com/gpu" in amounts) is (workers == 0)
    assert head["rayStartParams"] == ({"num-cpus": "0"} if workers else {})


def test_mistakes_are_told_before_anything_is_sent() -> None:
    with pytest.raises(UsageError, match="nothing to run"):
        manifest(replace(RUN, command=()), _ref("n"), None)
    with pytest.raises(UsageError, match="--memory 1Xi is not a quantity"):
        manifest(replace(RUN, memory="1Xi"), _ref("n"), None)
    with pytest.raises(Invalid) as failure:
        manifest(replace(RUN, runtime_env="env_vars:\n  A: 1\n"), _ref("n"), None)
    assert "line 2" in failure.value.why
    with pytest.raises(UsageError, match="given twice"):
        manifest(replace(RUN, runtime_env="working_dir: https://x/y.zip"), _ref("n"), PACKAGE)


def test_a_name_is_taken_once(client: SyncClient, namespace: str) -> None:
    ref = _ref(namespace)
    run(client, start(ref, manifest(RUN, ref, None), None))
    with pytest.raises(Conflict, match="exists already"):
        run(client, start(ref, manifest(RUN, ref, None), None))
    with pytest.raises(Conflict, match="exists already"):
        run(client, rerun(ref, "train"))


def test_a_rerun_starts_from_the_beginning(client: SyncClient, namespace: str) -> None:
    ref = _ref(namespace)
    made = run(client, start(ref, manifest(RUN, ref, None), None))
    ours = ("rayward.dev/attempt", "rayward.dev/transaction", "rayward.dev/suspended-by")
    change = {
        "metadata": {"annotations": {"mine": "kept", **dict.fromkeys(ours, "{}")}},
        "spec": {"suspend": True, "jobId": "taken"},
    }
    found = client.patch(RAY_JOBS, "train", change, PatchType.MERGE, namespace)
    again = copied(found, "train-2")
    assert again["metadata"]["annotations"] == {"mine": "kept"}
    assert "suspend" not in again["spec"]
    assert "jobId" not in again["spec"]
    assert again["spec"]["entrypoint"] == made["spec"]["entrypoint"]


def test_a_rerun_with_settings_changes_these_and_leaves_the_old_job(client: SyncClient, namespace: str) -> None:
    ref = _ref(namespace)
    wanted = manifest(replace(RUN, workers=1), ref, None)
    made = run(client, start(ref, wanted, None))
    settings = ("entrypoint=python other.py", "image=mine:2", "workers.env.A=b", "annotation.mine=new", "suspend=true")
    again = run(client, rerun(ref, intents=[parse_setting(word) for word in settings]))
    spec = again["spec"]
    assert (again["metadata"]["name"], again["metadata"]["annotations"]) == ("train-2", {"mine": "new"})
    assert (spec["entrypoint"], spec["suspend"]) == ("python other.py", True)
    groups = (spec["rayClusterSpec"]["headGroupSpec"], *spec["rayClusterSpec"]["workerGroupSpecs"])
    containers = [group["template"]["spec"]["containers"][0] for group in groups]
    assert [container["image"] for container in containers] == ["mine:2", "mine:2"]
    assert [container.get("env") for container in containers] == [None, [{"name": "A", "value": "b"}]]
    assert client.get(RAY_JOBS, "train", namespace)["spec"] == made["spec"]


def test_a_rerun_with_a_setting_that_fits_nothing_makes_nothing(client: SyncClient, namespace: str) -> None:
    ref = _ref(namespace)
    run(client, start(ref, manifest(RUN, ref, None), None))
    with pytest.raises(NotFound, match="no worker group 'gpu'"):
        run(client, rerun(ref, intents=[parse_setting("gpu.replicas=2")]))
    with pytest.raises((Invalid, errors.BadRequest), match="entrypont"):
        run(client, rerun(ref, intents=[parse_setting("spec.entrypont=true")]))
    assert [job["metadata"]["name"] for job in client.list(RAY_JOBS, namespace).items] == ["train"]
