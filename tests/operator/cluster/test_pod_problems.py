"""What is wrong with pods, said so that a user knows what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from rayward.kube.core.objects import Condition, ObjectMeta
from rayward.kube.core.pod import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    PodStatus,
)
from rayward.kube.machinery.jsonvalue import Object
from rayward.operator.cluster.pod import PodContainer, RayPod, RayPodSpec
from rayward.operator.cluster.pod_problems import (
    log_requests,
    pod_problems,
    version_mismatch,
    warning_of,
    warning_request,
)
from rayward.operator.cluster.state import LogRequest, PodWarning, WarningRequest


def _pod(name: str = "w", *, image: str = "rayproject/ray:2.52.0", **status: object) -> RayPod:
    return RayPod(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", labels={"ray.io/node-type": "worker"}),
        spec=RayPodSpec(containers=(PodContainer("ray", image),)),
        status=PodStatus(**status),  # pyright: ignore[reportArgumentType]
    )


def _going(pod: RayPod) -> RayPod:
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(pod, metadata=metadata)


def _waiting(
    reason: str, message: str = "", restarts: int = 0, ended: ContainerStateTerminated | None = None
) -> ContainerStatus:
    return ContainerStatus(
        name="ray",
        restart_count=restarts,
        state=ContainerState(waiting=ContainerStateWaiting(reason, message)),
        last_state=ContainerState(terminated=ended),
    )


_UNFIT = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="0/1 nodes: Insufficient cpu.")
_CASES = {
    "unschedulable": (_pod(conditions=(_UNFIT,)), "Unschedulable", "pod w: 0/1 nodes: Insufficient cpu."),
    "image": (
        _pod(container_statuses=(_waiting("ErrImagePull", "no such image"),)),
        "ImagePullBackOff",
        "pod w: container ray: no such image",
    ),
    "config": (
        _pod(container_statuses=(_waiting("CreateContainerConfigError", 'secret "x" not found'),)),
        "CreateContainerConfigError",
        'pod w: container ray: secret "x" not found',
    ),
    "init": (
        _pod(init_container_statuses=(_waiting("ImagePullBackOff", "Back-off"),)),
        "ImagePullBackOff",
        "pod w: container ray: Back-off",
    ),
    "crash": (
        _pod(
            container_statuses=(
                _waiting("CrashLoopBackOff", "back-off", 3, ContainerStateTerminated(1, reason="Error")),
            )
        ),
        "CrashLoopBackOff",
        "pod w: container ray: no module named app (restarted 3 times, last exit code 1 (Error))",
    ),
}


@pytest.mark.parametrize(("pod", "reason", "text"), _CASES.values(), ids=_CASES)
def test_an_ailment_has_a_reason_and_names_its_pod(pod: RayPod, reason: str, text: str) -> None:
    (found,) = pod_problems([pod], {("uid-w", "ray"): (3, "no module named app")})
    assert (found.reason, found.text) == (reason, text)


def test_the_last_line_of_a_log_comes_first_and_the_log_after_it() -> None:
    crashes = _pod(container_statuses=(_waiting("CrashLoopBackOff", restarts=1),))
    (found,) = pod_problems([crashes], {("uid-w", "ray"): (1, "Usage: ray start\n\nError: No such option '--x'.\n")})
    first, *log = found.text.splitlines()
    assert first == "pod w: container ray: Error: No such option '--x'. (restarted 1 time)"
    assert log == ["Usage: ray start", "", "Error: No such option '--x'."]


def test_of_the_scheduler_only_what_is_missing_is_told() -> None:
    message = (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims "
        "found for incoming pod. The pod requests 5 cpu; the most that a node has free is 1 of 4."
    )
    (found,) = pod_problems([_pod(conditions=(msgspec.structs.replace(_UNFIT, message=message),))], {})
    assert found.text == (
        "pod w: 0/1 nodes are available: 1 Insufficient cpu. "
        "The pod requests 5 cpu; the most that a node has free is 1 of 4."
    )


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing", ""])
def test_starting_is_no_ailment(reason: str) -> None:
    assert pod_problems([_pod(container_statuses=(_waiting(reason),))], {}) == []


def test_a_pod_that_goes_ails_no_more() -> None:
    assert pod_problems([_going(_pod(conditions=(_UNFIT,)))], {}) == []


def test_last_words_are_asked_for_once_after_each_restart() -> None:
    pod = _pod(container_statuses=(_waiting("CrashLoopBackOff", restarts=2),))
    assert log_requests([pod], {}) == (LogRequest("w", "uid-w", "ray", 2),)
    assert log_requests([pod], {("uid-w", "ray"): (2, "")}) == ()
    assert log_requests([pod], {("uid-w", "ray"): (1, "old")}) == (LogRequest("w", "uid-w", "ray", 2),)


_CRASHES = (_waiting("CrashLoopBackOff", restarts=2),)
_FIRST = LogRequest("a", "uid-a", "ray", 2)


@pytest.mark.parametrize(
    ("pods", "wanted"),
    [
        pytest.param(
            [_pod("b", container_statuses=_CRASHES), _pod("a", container_statuses=_CRASHES)], (_FIRST,), id="of two"
        ),
        pytest.param(
            [_pod("a", conditions=(_UNFIT,)), _pod("b", container_statuses=_CRASHES)], (), id="another ailment is shown"
        ),
        pytest.param(
            [_pod("a", init_container_statuses=(_waiting("ImagePullBackOff"),), container_statuses=_CRASHES)],
            (),
            id="another container is shown",
        ),
        pytest.param([_going(_pod("a", container_statuses=_CRASHES))], (), id="the pod goes"),
    ],
)
def test_last_words_are_asked_of_the_container_that_is_shown_alone(
    pods: list[RayPod], wanted: tuple[LogRequest, ...]
) -> None:
    assert log_requests(pods, {}) == wanted


@pytest.mark.parametrize(
    ("image", "differs"),
    [
        ("rayproject/ray:2.52.0", False),
        ("rayproject/ray:2.52.0-py311-gpu", False),
        ("rayproject/ray:2.53.0", True),
        ("registry:5000/ray:2.53.0-py311", True),
        ("registry:5000/ray", False),
        ("rayproject/ray:latest", False),
        ("rayproject/ray@sha256:0123", False),
        ("rayproject/ray:2.53.0@sha256:0123", True),
        ("rayproject/ray:2.53", True),
        ("rayproject/ray:v2.52.0", False),
        ("rayproject/ray-ml:2.53.0.0e19ea-py39-gpu", True),
        ("rayproject/ray-llm:2.52.0-py311-cu128", False),
        ("rayproject/ray-llm:2.53.0-py311-cu128", True),
        ("ray:2.53.0-rocm64", True),
        ("registry.corp/team/app:1.4.2", False),
        ("registry.corp/ray/app:1.4.2", False),
        ("registry.corp/my-ray:1.4.2", False),
    ],
)
def test_another_ray_is_known_by_the_tag(image: str, differs: bool) -> None:
    assert bool(version_mismatch([_pod(image=image)], "2.52.0")) is differs
    assert version_mismatch([_pod(image=image)], "") == ""


@pytest.mark.parametrize(
    ("version", "differs"),
    [("2.52", False), ("v2.52.0", False), ("2.52.0rc1", False), ("2.53", True), ("nightly", False)],
)
def test_a_version_is_compared_by_what_it_means(version: str, differs: bool) -> None:
    assert bool(version_mismatch([_pod()], version)) is differs


_STARTED = datetime(2026, 1, 1, tzinfo=UTC)
_UNMOUNTED = 'MountVolume.SetUp failed for volume "code" : configmap "hello-code-v2" not found'


def _creating() -> RayPod:
    containers = (_waiting("ContainerCreating"),)
    return _pod(phase="Pending", start_time="2026-01-01T00:00:00Z", container_statuses=containers)


def test_of_a_pod_whose_containers_are_not_created_the_events_are_asked_for_less_and_less_often() -> None:
    pods = (_creating(),)
    assert warning_request(pods, {}, _STARTED + timedelta(seconds=1)) == (None, 3.0)
    asked = _STARTED + timedelta(seconds=4)
    assert warning_request(pods, {}, asked) == (WarningRequest("w", "uid-w", 0), None)
    waits = [
        warning_request(pods, {"uid-w": PodWarning("", "", count, asked)}, asked)[1] for count in (1, 2, 3, 4, 5, 6)
    ]
    assert waits == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    again = warning_request(pods, {"uid-w": PodWarning("", "", 2, asked)}, asked + timedelta(seconds=10))
    assert again == (WarningRequest("w", "uid-w", 2), None)


def test_pods_whose_status_says_why_or_that_run_have_no_events_asked_for() -> None:
    late = _STARTED + timedelta(hours=1)
    failing = _pod("a", container_statuses=(_waiting("ErrImagePull", "no such image"),))
    running = _pod(phase="Running", start_time="2026-01-01T00:00:00Z")
    ended = ContainerStateTerminated(exit_code=1)
    restarting = _pod(
        phase="Pending",
        start_time="2026-01-01T00:00:00Z",
        init_container_statuses=(_waiting("PodInitializing", ended=ended),),
    )
    for pods in ((failing, _creating()), (running,), (restarting,), (_going(_creating()),), (_pod(phase="Pending"),)):
        assert warning_request(pods, {}, late) == (None, None)


def _event(reason: str, message: str, kind: str = "Warning", **times: object) -> Object:
    return {"type": kind, "reason": reason, "message": message, **times}


def test_a_warning_that_something_followed_has_passed_and_the_schedulers_is_of_another_time() -> None:
    mount = _event("FailedMount", _UNMOUNTED, lastTimestamp="2026-01-01T00:00:01Z")
    pulling = _event("Pulling", "Pulling image", "Normal", lastTimestamp="2026-01-01T00:00:02Z")
    unfit = _event("FailedScheduling", "0/3 nodes are available", eventTime="2026-01-01T00:00:00.5Z")
    for events in ([mount, pulling], [unfit], [unfit, pulling]):
        assert warning_of(events, 1, _STARTED) == PodWarning("", "", 1, _STARTED)
    assert warning_of([unfit, mount], 1, _STARTED).reason == "FailedMount"


def test_a_pod_that_is_slow_hides_none_that_fails() -> None:
    containers, began = (_waiting("ContainerCreating"),), "2026-01-01T00:00:00Z"
    pods = [_pod(each, phase="Pending", start_time=began, container_statuses=containers) for each in ("a", "b")]
    later = _STARTED + timedelta(seconds=5)
    known = {"uid-a": PodWarning("", "", 1, later)}
    assert warning_request(pods, {}, later) == (WarningRequest("a", "uid-a", 0), None)
    assert warning_request(pods, known, later) == (WarningRequest("b", "uid-b", 0), None)


def test_the_last_warning_event_is_what_keeps_a_pod_from_starting() -> None:
    older = _event("FailedAttachVolume", "busy", lastTimestamp="2026-01-01T00:00:01Z")
    newer = _event("FailedMount", _UNMOUNTED, eventTime="2026-01-01T00:00:02.5Z", series=None)
    warning = warning_of([newer, older], 1, _STARTED)
    assert warning == PodWarning("FailedMount", _UNMOUNTED, 1, _STARTED)
    (problem,) = pod_problems((_creating(),), {}, {"uid-w": warning})
    assert (problem.reason, problem.text) == ("FailedMount", f"pod w: {_UNMOUNTED}")
    assert pod_problems((_creating(),), {}, {"uid-w": warning_of([], 1, _STARTED)}) == []
    assert pod_problems((_pod(phase="Running"),), {}, {"uid-w": warning}) == []
