"""What is wrong with pods, said so that a user knows what to do."""

from __future__ import annotations

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
from rayward.operator.cluster.ailments import ailments, logs_wanted, other_version
from rayward.operator.cluster.plan import LogWanted
from rayward.operator.cluster.pod import PodContainer, RayPod, RayPodSpec


def _pod(name: str = "w", *, image: str = "rayproject/ray:2.52.0", **status: object) -> RayPod:
    return RayPod(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", labels={"ray.io/node-type": "worker"}),
        spec=RayPodSpec(containers=(PodContainer("ray", image),)),
        status=PodStatus(**status),  # pyright: ignore[reportArgumentType]
    )


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
        "pod w: container ray ended 3 times, last with exit code 1 (Error); its last words:\nno module named app",
    ),
}


@pytest.mark.parametrize(("pod", "reason", "text"), _CASES.values(), ids=_CASES)
def test_an_ailment_has_a_reason_and_names_its_pod(pod: RayPod, reason: str, text: str) -> None:
    (found,) = ailments([pod], {("uid-w", "ray"): (3, "no module named app")})
    assert (found.reason, found.text) == (reason, text)


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing", ""])
def test_starting_is_no_ailment(reason: str) -> None:
    assert ailments([_pod(container_statuses=(_waiting(reason),))], {}) == []


def test_a_pod_that_goes_ails_no_more() -> None:
    pod = _pod(conditions=(_UNFIT,))
    gone = msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    )
    assert ailments([gone], {}) == []


def test_last_words_are_asked_for_once_after_each_restart() -> None:
    pod = _pod(container_statuses=(_waiting("CrashLoopBackOff", restarts=2),))
    assert logs_wanted([pod], {}) == (LogWanted("w", "uid-w", "ray", 2),)
    assert logs_wanted([pod], {("uid-w", "ray"): (2, "")}) == ()
    assert logs_wanted([pod], {("uid-w", "ray"): (1, "old")}) == (LogWanted("w", "uid-w", "ray", 2),)


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
    ],
)
def test_another_ray_is_known_by_the_tag(image: str, differs: bool) -> None:
    assert bool(other_version([_pod(image=image)], "2.52.0")) is differs
    assert other_version([_pod(image=image)], "") == ""
