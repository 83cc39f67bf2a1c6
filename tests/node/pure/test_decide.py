"""What happens next in a pod's life."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayward.local.node.pod import backoff
from rayward.local.node.pod.decide import decide, initialized
from rayward.local.node.pod.facts import Backoff, Container, Pod, Run, is_sidecar
from rayward.local.node.pod.status import pod_status

Object = dict[str, Any]

RUNNING = Container(run=Run(0, started=1.0))
DONE = Container(run=Run(0, started=1.0, ended=2.0, code=0))
FAILED = Container(run=Run(0, started=1.0, ended=2.0, code=1))


def _pod(policy: str = "Always", inits: tuple[str, ...] = (), sidecars: tuple[str, ...] = (), **spec: Any) -> Object:
    containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]
    listed = [
        {"name": name, "image": "i", **({"restartPolicy": "Always"} if name in sidecars else {})} for name in inits
    ]
    metadata = {"name": "p", "namespace": "ns", "uid": "u"}
    return {
        "metadata": metadata,
        "spec": {"restartPolicy": policy, "containers": containers, "initContainers": listed, **spec},
    }


def _known(**containers: Container) -> Pod:
    return Pod(containers=containers, address="10.42.0.2", host="127.0.0.1", begun=1.0)


@pytest.mark.parametrize(
    ("pod", "known", "start"),
    [
        (_pod(), _known(), ("a", "b")),
        (_pod(), _known(a=RUNNING), ("b",)),
        (_pod(), _known(a=RUNNING, b=RUNNING), ()),
        (_pod(), _known(a=DONE, b=RUNNING), ("a",)),
        (_pod("OnFailure"), _known(a=DONE, b=FAILED), ("b",)),
        (_pod("Never"), _known(a=FAILED, b=RUNNING), ()),
        (_pod(inits=("i", "j")), _known(), ("i",)),
        (_pod(inits=("i", "j")), _known(i=RUNNING), ()),
        (_pod(inits=("i", "j")), _known(i=DONE), ("j",)),
        (_pod(inits=("i",)), _known(i=DONE), ("a", "b")),
        (_pod("OnFailure", inits=("i",)), _known(i=FAILED), ("i",)),
        (_pod("Never", inits=("i",)), _known(i=FAILED), ()),
        (_pod(inits=("s",), sidecars=("s",)), _known(), ("s",)),
        (_pod(inits=("s",), sidecars=("s",)), _known(s=RUNNING), ("a", "b")),
        (_pod(inits=("s", "i"), sidecars=("s",)), _known(s=RUNNING), ("i",)),
        (_pod(inits=("s",), sidecars=("s",)), _known(s=FAILED, a=RUNNING, b=RUNNING), ("s",)),
        (_pod(), Pod(containers={}), ()),
    ],
)
def test_what_starts_next(pod: Object, known: Pod, start: tuple[str, ...]) -> None:
    assert decide(pod, known, 100.0).start == start


def test_a_container_that_keeps_failing_waits() -> None:
    known = _known(a=Container(run=Run(1, ended=100.0, code=1), backoff=Backoff(20.0, 95.0)), b=RUNNING)
    step = decide(_pod(), known, 110.0)
    assert (step.start, step.look_again) == ((), 120.0)
    assert decide(_pod(), known, 120.0).start == ("a",)


def test_a_condemned_container_is_stopped_once() -> None:
    sick = msgspec.structs.replace(RUNNING, condemned="sick")
    assert decide(_pod(), _known(a=sick, b=RUNNING), 5.0).stop == (("a", "sick"),)
    stopping = msgspec.structs.replace(sick, stopping=True)
    assert decide(_pod(), _known(a=stopping, b=RUNNING), 5.0).stop == ()


def _ran(image: str, **fields: Any) -> Container:
    return Container(run=Run(0, started=1.0, image=image, **fields))


def test_a_container_with_another_image_is_stopped_to_be_started_again() -> None:
    why = "Container a definition changed, will be restarted"
    assert decide(_pod(), _known(a=_ran("old"), b=_ran("i")), 5.0).stop == (("a", why),)
    stopping = msgspec.structs.replace(_ran("old"), stopping=True)
    assert decide(_pod(), _known(a=stopping, b=_ran("i")), 5.0).stop == ()
    inits = _pod(inits=("i", "s"), sidecars=("s",))
    known = _known(i=_ran("old", ended=2.0, code=0), s=_ran("old"), a=_ran("i"), b=_ran("i"))
    assert [name for name, _ in decide(inits, known, 5.0).stop] == ["s"], "what is done is not done again"


def test_whatever_the_policy_what_was_stopped_for_its_image_starts_again() -> None:
    stopped = _ran("old", ended=2.0, code=143, superseded=True)
    known = _known(a=stopped, b=_ran("i"))
    assert decide(_pod("Never"), known, 5.0).start == ("a",)
    assert pod_status(_pod("Never"), known, 5.0, str)["phase"] == "Running"
    ended_itself = _ran("old", ended=2.0, code=1)
    assert decide(_pod("Never"), _known(a=ended_itself, b=_ran("i")), 5.0).start == ()


def test_a_new_image_does_not_wait_for_what_the_old_one_did() -> None:
    crashed = msgspec.structs.replace(_ran("old", ended=100.0, code=1), backoff=Backoff(300.0, 99.0))
    assert decide(_pod(), _known(a=crashed, b=_ran("i")), 101.0).start == ("a",)


def test_the_image_that_runs_is_told() -> None:
    status = pod_status(_pod(), _known(a=_ran("old"), b=RUNNING), 5.0, "id of {}".format)
    assert [told["image"] for told in status["containerStatuses"]] == ["old", "i"]
    assert status["containerStatuses"][0]["imageID"] == "id of old"


def test_a_deleted_pod_stops_all_and_its_sidecars_last() -> None:
    pod = _pod(inits=("s", "t"), sidecars=("s", "t"))
    pod["metadata"]["deletionTimestamp"] = "now"
    everything = _known(s=RUNNING, t=RUNNING, a=RUNNING, b=DONE)
    assert [name for name, _ in decide(pod, everything, 5.0).stop] == ["a"]
    assert [name for name, _ in decide(pod, _known(s=RUNNING, t=RUNNING, a=DONE, b=DONE), 5.0).stop] == ["t"]
    assert [name for name, _ in decide(pod, _known(s=RUNNING, t=DONE, a=DONE, b=DONE), 5.0).stop] == ["s"]
    assert decide(pod, _known(s=DONE, t=DONE, a=DONE, b=DONE), 5.0).over


def test_a_finished_pod_lets_its_sidecars_go() -> None:
    step = decide(_pod("Never", inits=("s",), sidecars=("s",)), _known(s=RUNNING, a=DONE, b=FAILED), 5.0)
    assert [name for name, _ in step.stop] == ["s"]
    assert not step.over


def test_a_new_sandbox_runs_init_containers_again() -> None:
    pod = _pod(inits=("i",))
    old = {
        name: msgspec.structs.replace(found, run=msgspec.structs.replace(found.run, stale=True))
        for name, found in {"i": DONE, "a": FAILED, "b": FAILED}.items()
        if found.run
    }
    assert decide(pod, _known(**old), 100.0).start == ("i",)


def test_backoff_doubles_up_to_five_minutes_and_is_forgotten_after_ten_quiet_ones() -> None:
    found, delays, now = Backoff(), [], 1000.0
    for attempt in range(8):
        found = backoff.after_start(Run(attempt, ended=now, code=1), found, now)
        delays.append(found.delay)
        now += found.delay
    assert delays == [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]
    later = now + 601
    assert backoff.wait_until(Run(9, ended=later, code=1), found) is None
    assert backoff.after_start(Run(9, ended=later, code=1), found, later).delay == 10.0


def test_the_first_restart_is_at_once() -> None:
    assert backoff.wait_until(Run(0, ended=5.0, code=1), Backoff()) is None


CONTAINERS = st.builds(
    Container,
    run=st.one_of(
        st.none(),
        st.builds(Run, st.integers(0, 3), started=st.one_of(st.none(), st.just(5.0))),
        st.builds(
            Run,
            st.integers(0, 3),
            started=st.just(5.0),
            ended=st.just(6.0),
            code=st.integers(0, 2),
            stale=st.booleans(),
        ),
    ),
    backoff=st.sampled_from([Backoff(), Backoff(10.0, 1.0), Backoff(300.0, 6.0)]),
    ready=st.sampled_from([None, True, False]),
    startup=st.sampled_from([None, True, False]),
    stopping=st.booleans(),
    condemned=st.sampled_from(["", "why"]),
)


@settings(max_examples=300)
@given(
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.fixed_dictionaries({}, optional=dict.fromkeys("istab", CONTAINERS)),
    st.booleans(),
    st.floats(0, 1000),
)
def test_no_decision_ever_breaks_these_rules(
    policy: str, containers: dict[str, Container], deleting: bool, now: float
) -> None:
    pod = _pod(policy, inits=("i", "s", "t"), sidecars=("s",))
    if deleting:
        pod["metadata"]["deletionTimestamp"] = "now"
    known = _known(**containers)
    step = decide(pod, known, now)
    alive = {name for name, found in containers.items() if found.alive}
    assert not alive & set(step.start), "nothing runs twice"
    assert {name for name, _ in step.stop} <= alive, "only what lives is stopped"
    assert not (deleting and step.start), "a deleted pod starts nothing"
    assert not (step.over and alive), "a pod is not over while something lives"
    mains = {"a", "b"} & set(step.start)
    if mains and not any(
        found.run is not None and not found.run.stale for name, found in containers.items() if name in "ab"
    ):
        assert initialized(pod["spec"], known), "containers wait for init containers"
    for name in step.start:
        found = containers.get(name)
        assert found is None or (due := backoff.wait_until(found.run, found.backoff)) is None or due <= now


@settings(max_examples=300)
@given(
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.fixed_dictionaries({}, optional=dict.fromkeys("isab", CONTAINERS)),
    st.floats(0, 1000),
)
def test_every_status_is_whole_and_stable(policy: str, containers: dict[str, Container], now: float) -> None:
    pod = _pod(policy, inits=("i", "s"), sidecars=("s",))
    known = _known(**containers)
    status = pod_status(pod, known, now, str)
    assert status["phase"] in ("Pending", "Running", "Succeeded", "Failed")
    for told in (*status["containerStatuses"], *status["initContainerStatuses"]):
        assert len(told["state"]) == 1
    ready = {found["type"]: found["status"] for found in status["conditions"]}
    if ready["Ready"] == "True":
        assert all(told["ready"] for told in status["containerStatuses"])
        assert status["phase"] == "Running"
    again = pod_status({**pod, "status": status}, known, now + 0.0, str)
    assert again == status, "what was told is told again"


@pytest.mark.parametrize(
    ("policy", "known", "phase"),
    [
        ("Always", _known(), "Pending"),
        ("Always", _known(a=RUNNING), "Pending"),
        ("Always", _known(a=RUNNING, b=RUNNING), "Running"),
        ("Always", _known(a=DONE, b=DONE), "Running"),
        ("OnFailure", _known(a=DONE, b=FAILED), "Running"),
        ("OnFailure", _known(a=DONE, b=DONE), "Succeeded"),
        ("Never", _known(a=DONE, b=FAILED), "Failed"),
        ("Never", _known(a=RUNNING, b=FAILED), "Running"),
    ],
)
def test_phases(policy: str, known: Pod, phase: str) -> None:
    assert pod_status(_pod(policy), known, 100.0, str)["phase"] == phase


def test_sidecars_are_known_by_their_restart_policy() -> None:
    assert is_sidecar({"restartPolicy": "Always"})
    assert not is_sidecar({})
