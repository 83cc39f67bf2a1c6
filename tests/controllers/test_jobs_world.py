"""However its pods end and wherever the controller is killed, a job counts every pod once."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.controllers.jobworld import World

_specs = st.fixed_dictionaries(
    {
        "parallelism": st.integers(1, 4),
        "completions": st.integers(0, 6),
        "backoffLimit": st.integers(0, 8),
        "completionMode": st.sampled_from(["NonIndexed", "Indexed"]),
        "podReplacementPolicy": st.sampled_from(["TerminatingOrFailed", "Failed"]),
    }
)
_deeds = st.lists(
    st.tuples(
        st.sampled_from(["control", "control", "kill", "succeed", "fail", "delete", "sweep", "later", "suspend"]),
        st.integers(0, 6),
    ),
    max_size=60,
)


def _do(world: World, deed: str, number: int) -> None:
    active = world.active
    if deed == "control":
        world.control()
    elif deed == "kill":
        world.control(number)
    elif deed == "sweep":
        world.sweep()
    elif deed == "later":
        world.pass_time(10.0 * 2**number)
    elif deed == "suspend":
        world.spec["suspend"] = not world.spec.get("suspend", False)
    elif active and deed == "delete":
        world.delete(active[number % len(active)])
    elif active:
        world.end(active[number % len(active)], "Succeeded" if deed == "succeed" else "Failed")


def _finish(world: World) -> None:
    """Everything goes well from now on."""
    world.spec["suspend"] = False
    for _ in range(200):
        world.sweep()
        if not world.control() and not world.active:
            world.pass_time(700)
        if world.ended:
            return
        for uid in world.active:
            world.end(uid, "Succeeded")
    raise AssertionError(f"the job does not end: {world.status}")


@settings(max_examples=300)
@given(_specs, _deeds)
def test_every_pod_is_counted_once(spec: dict[str, Any], deeds: list[tuple[str, int]]) -> None:
    world = World(**spec)
    for deed, number in deeds:
        _do(world, deed, number)
        assert len(world.active) <= spec["parallelism"], "never more than asked for"
    _finish(world)
    status = world.status
    successes = [uid for uid, phase in world.released.items() if phase == "Succeeded"]
    assert status.failed == len(world.released) - len(successes)
    if spec["completionMode"] == "NonIndexed":
        assert status.succeeded == len(successes)
    complete = status.condition("Complete") is not None
    assert complete == (status.completion_time is not None)
    assert not complete or status.succeeded == spec["completions"]
    assert complete or status.failed > spec["backoffLimit"]
    uncounted = status.uncounted_terminated_pods
    assert uncounted is None or not (uncounted.succeeded or uncounted.failed)
    assert all(pod.get("released") for pod in world.pods.values()), "no finalizer stays"
