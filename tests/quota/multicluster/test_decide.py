"""Admit, then apply: each step towards a RayService on a worker cluster, and never one too early."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds import labels
from rayward.kinds.kueue import Workload
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kube.machinery.jsonvalue import Object
from rayward.quota.multicluster.claims import claim_body, twin_body
from rayward.quota.multicluster.decide import decide
from rayward.quota.multicluster.observe import goal_of
from rayward.quota.multicluster.state import (
    ActivateTwin,
    AnswerCheck,
    BindClaim,
    CreateClaim,
    CreateTwin,
    DeleteService,
    DeleteTwin,
    FinishClaim,
    Forward,
    Goal,
    Pin,
    RecountClaim,
    RecountTwin,
    ReleaseClaim,
    RequeueClaim,
    SetFinalizer,
    State,
    Worker,
)
from rayward.quota.multicluster.state import RemoteService as Copy
from tests.quota.gate.stage import group, queued_service, release

_CHECK = "workers"
_UID = "cluster-1"


def _body(image: str = "1", groups: list[Object] | None = None, **metadata: Any) -> Object:
    image = f"rayproject/ray:{image}"
    body = queued_service(image=image, groups=groups, managedBy="kueue.x-k8s.io/multikueue")
    body["metadata"] |= {
        "namespace": "team",
        "uid": "service-1",
        "finalizers": [labels.MULTICLUSTER],
        **metadata,
    }
    return body


def _service(image: str = "1", **metadata: Any) -> RayService:
    return msgspec.convert(_body(image, **metadata), RayService, strict=False)


def _goal(image: str = "1") -> Goal:
    found, problem = goal_of(_service(image), {"spec": {"rayClusterConfig": release(image=f"rayproject/ray:{image}")}})
    assert found is not None, problem
    return found


def _state(*claims: Workload, image: str = "1", **more: Any) -> State:
    workers = {name: Worker(name, connected=True) for name in ("east", "west")}
    state = State(
        service=_service(image),
        goal=_goal(image),
        queue="q",
        claims=claims,
        checks=frozenset({_CHECK}),
        allowed=("east", "west"),
        workers=workers,
    )
    return replace(state, **more)


def _claim(image: str = "1", said: str = "", *, check: str = "Pending", bound: str = "", **metadata: Any) -> Workload:
    body = claim_body(_state(image=image), _goal(image).release, _goal(image).demand)
    body["metadata"] |= {"uid": f"claim-{image}", "resourceVersion": "1", **metadata}
    if bound:
        body["metadata"]["labels"][labels.CLUSTER_UID] = bound
    message = "Quota is reserved on worker cluster east" if check == "Ready" else ""
    checks = [{"name": _CHECK, "state": check, "message": message}]
    body["status"] = {"conditions": _said(said), "admissionChecks": checks}
    return msgspec.convert(body, Workload)


def _twin(claim: Workload, said: str = "", *, bound: str = "", active: bool = True) -> Workload:
    body = twin_body(claim)
    body["metadata"]["uid"] = "twin"
    if bound:
        body["metadata"]["labels"][labels.CLUSTER_UID] = bound
    body["spec"]["active"] = active
    body["status"] = {"conditions": _said(said)}
    return msgspec.convert(body, Workload)


def _said(words: str) -> list[Object]:
    return [{"type": word, "status": "True", "reason": "Test", "message": "said"} for word in words.split()]


def _copy(image: str, digest: str = "") -> Copy:
    return Copy("remote-1", ours=True, release=_goal(image).release, forwarded=digest or _goal(image).digest)


def _on(state: State, name: str = "east", *twins: Workload, **worker: Any) -> State:
    made = replace(Worker(name, connected=True, workloads=twins), **worker)
    return replace(state, workers={**state.workers, name: made})


HOLDS = "QuotaReserved Admitted"


def _kinds(state: State) -> list[str]:
    return [type(write).__name__ for write in decide(state).writes]


def test_the_finalizer_comes_before_anything_else() -> None:
    assert decide(_state(service=_service(finalizers=[]))).writes == (SetFinalizer(present=True),)


def test_quota_of_the_manager_cluster_is_asked_for_first() -> None:
    [write] = decide(_state()).writes
    assert isinstance(write, CreateClaim)
    assert decide(_state(_claim())).writes == ()


def test_worker_clusters_are_asked_once_the_manager_has_given_quota() -> None:
    claim = _claim(said="QuotaReserved")
    found = decide(_state(claim))
    assert [write.worker for write in found.writes if isinstance(write, CreateTwin)] == ["east", "west"]
    assert not any(isinstance(write, AnswerCheck) and write.answer == "Ready" for write in found.writes)


def test_the_first_worker_cluster_that_admits_gets_it_and_the_others_are_asked_no_longer() -> None:
    claim = _claim(said="QuotaReserved")
    state = _on(_on(_state(claim), "east", _twin(claim)), "west", _twin(claim, HOLDS))
    found = decide(state).writes
    assert [write.worker for write in found if isinstance(write, DeleteTwin)] == ["east"]
    assert Pin("west") in found
    assert [write.answer for write in found if isinstance(write, AnswerCheck)] == ["Ready"]
    assert not any(isinstance(write, Forward) for write in found)


def test_the_edit_is_forwarded_when_both_clusters_have_admitted_it() -> None:
    claim = _claim(said=HOLDS, check="Ready")
    state = _on(_state(claim, pinned="west"), "west", _twin(claim, HOLDS))
    assert [write.worker for write in decide(state).writes if isinstance(write, Forward)] == ["west"]


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("", ""),
        ("QuotaReserved", HOLDS),
        (HOLDS, "QuotaReserved"),
        (HOLDS, f"{HOLDS} Evicted"),
        (f"{HOLDS} Evicted", HOLDS),
    ],
)
def test_it_is_not_forwarded_before(here: str, there: str) -> None:
    claim = _claim(said=here, check="Ready")
    state = _on(_state(claim, pinned="west"), "west", _twin(claim, there))
    assert "Forward" not in _kinds(state)


def test_a_claim_is_bound_to_the_cluster_that_runs_by_it() -> None:
    claim = _claim(said=HOLDS, check="Ready")
    state = _on(_state(claim, pinned="east"), "east", _twin(claim, HOLDS, bound=_UID), service=_copy("1"))
    assert decide(state).writes == (BindClaim(claim, _UID),)


def test_an_upgrade_asks_beside_what_serves_and_nothing_reaches_the_worker_cluster_yet() -> None:
    serving = _claim(said=HOLDS, check="Ready", bound=_UID)
    state = _on(
        _state(serving, image="2", pinned="east"), "east", _twin(serving, HOLDS, bound=_UID), service=_copy("1")
    )
    [write] = decide(state).writes
    assert isinstance(write, CreateClaim)
    assert write.body["metadata"]["labels"][labels.ROLE] == "surge"


def test_a_revert_withdraws_what_waits() -> None:
    serving, waiting = _claim(said=HOLDS, check="Ready", bound=_UID), _claim("2")
    state = _on(_state(serving, waiting, pinned="east"), "east", _twin(serving, HOLDS, bound=_UID), service=_copy("1"))
    [write] = decide(state).writes
    assert isinstance(write, FinishClaim)
    assert write.claim is waiting


def test_what_is_evicted_here_stops_there_and_is_queued_again_when_nothing_runs_by_it() -> None:
    claim = _claim(said=f"{HOLDS} Evicted", bound=_UID)
    state = _state(claim, pinned="east")
    running = _twin(claim, HOLDS, bound=_UID)
    assert decide(_on(state, "east", running, service=_copy("1"))).writes == (
        ActivateTwin("east", running, active=False),
    )
    stopped = _twin(claim, bound=_UID, active=False)
    assert decide(_on(state, "east", stopped, service=_copy("1"))).writes == (RequeueClaim(claim),)


def test_a_twin_does_not_ask_again_before_its_claim_has_quota() -> None:
    claim = _claim(bound=_UID)
    state = _on(_state(claim, pinned="east"), "east", _twin(claim, bound=_UID), service=_copy("1"))
    assert [write.active for write in decide(state).writes if isinstance(write, ActivateTwin)] == [False]


def test_quota_that_a_worker_cluster_takes_back_is_given_back_here() -> None:
    claim = _claim(said=HOLDS, check="Ready", bound=_UID)
    state = _on(_state(claim, pinned="east"), "east", _twin(claim, f"{HOLDS} Evicted", bound=_UID), service=_copy("1"))
    assert [write.answer for write in decide(state).writes if isinstance(write, AnswerCheck)] == ["Retry"]


def test_a_claim_is_finished_when_its_cluster_is_gone() -> None:
    claim = _claim(said=HOLDS, check="Ready", bound=_UID)
    assert _kinds(_on(_state(claim, image="2", pinned="east"), "east", service=_copy("2"))) == [
        "FinishClaim",
        "CreateClaim",
    ]


def test_nothing_is_changed_while_the_worker_cluster_does_not_answer() -> None:
    claim = _claim(said=f"{HOLDS} Evicted", bound=_UID)
    state = _on(_state(claim, image="2", pinned="east"), "east", connected=False)
    found = decide(state)
    assert found.writes == ()
    assert found.report is not None
    assert found.report.reason == "WorkerUnreachable"


def test_a_deletion_goes_from_the_worker_cluster_to_the_claim_to_the_finalizer() -> None:
    deleted = _service(deletionTimestamp="2026-01-01T00:00:00Z")
    claim = _claim(said=HOLDS, check="Ready", bound=_UID)
    state = _state(claim, pinned="east", service=deleted, goal=None)
    runs = _on(state, "east", _twin(claim, HOLDS, bound=_UID), service=_copy("1"))
    assert decide(runs).writes == (DeleteService("east", "remote-1"),)
    assert decide(_on(state, "east", _twin(claim, HOLDS, bound=_UID))).writes == ()
    assert _kinds(_on(state, "east")) == ["FinishClaim"]
    finished = _claim(said=f"{HOLDS} Finished", bound=_UID)
    assert decide(replace(state, claims=(finished,))).writes == (ReleaseClaim(finished),)
    assert decide(replace(state, claims=())).writes == (SetFinalizer(present=False),)


def _sized(workers: int) -> Goal:
    """A release with so many workers."""
    body = _body(groups=[group(replicas=workers)])
    found, problem = goal_of(msgspec.convert(body, RayService, strict=False), body)
    assert found is not None, problem
    return found


def _scaled(
    goal: Goal, workers: int, said: str = "", *, replaces: Workload | None = None, bound: str = "", name: str = ""
) -> Workload:
    """A claim of the release of ``goal``, for so many workers."""
    demand = goal.demand.with_counts({"head": 1, "w": workers})
    body = claim_body(_state(), goal.release, demand, replaces)
    body["metadata"] |= {"uid": f"claim-{workers}", "resourceVersion": "1"}
    if name:
        body["metadata"]["name"] = name
    if bound:
        body["metadata"]["labels"][labels.CLUSTER_UID] = bound
    check = {"name": _CHECK, "state": "Ready", "message": "Quota is reserved on worker cluster east"}
    body["status"] = {"conditions": _said(said), "admissionChecks": [check]}
    return msgspec.convert(body, Workload)


def _running(workers: int) -> RayCluster:
    body = {"metadata": {"name": "c", "uid": _UID}, "spec": release(groups=[group(replicas=workers)])}
    return msgspec.convert(body, RayCluster)


def _serves(goal: Goal, held: int, there: int, *waiting: Workload, runs: int = -1, told: Goal | None = None) -> State:
    """A claim of ``held`` workers, by which the worker cluster runs ``there``, and was told of ``told``."""
    claim = _scaled(goal, held, HOLDS, bound=_UID)
    twin = _twin(_scaled(goal, there), HOLDS, bound=_UID)
    copy = Copy("remote-1", ours=True, release=goal.release, forwarded=(told or goal).digest)
    state = _state(claim, *waiting, pinned="east", goal=goal)
    return _on(state, "east", twin, service=copy, clusters=(_running(there if runs < 0 else runs),))


def _slice_of(goal: Goal, workers: int) -> Workload:
    return _scaled(goal, workers, replaces=_scaled(goal, 1, HOLDS, bound=_UID))


def test_a_slice_that_waits_asks_for_what_the_user_asks_for_now() -> None:
    waiting = _slice_of(_sized(5), 5)
    assert decide(_serves(_sized(5), 1, 1, waiting, told=_sized(1))).writes == ()
    assert decide(_serves(_sized(2), 1, 1, waiting, told=_sized(1))).writes == (
        RecountClaim(waiting, {"head": 1, "w": 2}),
    )
    [withdrawn] = decide(_serves(_sized(1), 1, 1, waiting)).writes
    assert isinstance(withdrawn, FinishClaim)
    assert withdrawn.claim is waiting


@pytest.mark.parametrize("workers", [5, 1], ids=["still asked for", "not asked for any more"])
def test_a_slice_goes_with_the_claim_that_it_was_to_replace(workers: int) -> None:
    goal = _sized(workers)
    evicted = _scaled(goal, 1, f"{HOLDS} Evicted", bound=_UID)
    waiting = _slice_of(goal, 5)
    stopped = _twin(_scaled(goal, 1), bound=_UID, active=False)
    copy = Copy("remote-1", ours=True, release=goal.release, forwarded=_sized(1).digest)
    state = _on(_state(evicted, waiting, pinned="east", goal=goal), "east", stopped, service=copy)
    assert [type(write) for write in decide(state).writes] == [FinishClaim, RequeueClaim]


def test_a_slice_that_was_admitted_evicted_and_queued_again_has_nothing_to_replace() -> None:
    goal = _sized(5)
    alone = _scaled(goal, 5, replaces=_scaled(goal, 1, HOLDS, bound=_UID))
    running = _twin(_scaled(goal, 5), bound=_UID)
    state = _on(
        _state(alone, pinned="east", goal=goal),
        "east",
        running,
        service=Copy("remote-1", ours=True, release=goal.release, forwarded=goal.digest),
    )
    assert decide(state).writes == (ActivateTwin("east", running, active=False),)


def test_fewer_pods_give_quota_back_here_when_the_worker_cluster_has_given_back_its_own() -> None:
    goal = _sized(1)
    assert [type(one) for one in decide(_serves(goal, 5, 5, told=_sized(5))).writes] == [Forward]
    assert decide(_serves(goal, 5, 5)).writes == ()
    assert decide(_serves(goal, 5, 5, runs=1)).writes == (), "its pods still run"
    assert decide(_serves(goal, 5, 1, runs=5)).writes == (), "its operator may still make pods"
    state = _serves(goal, 5, 2, runs=1)
    assert decide(state).writes == (RecountClaim(state.claims[0], {"head": 1, "w": 2}),)
    state = _serves(goal, 5, 1)
    assert decide(state).writes == (RecountClaim(state.claims[0], {"head": 1, "w": 1}),)


def test_workers_that_the_worker_cluster_added_by_itself_are_not_counted_here() -> None:
    assert decide(_serves(_sized(1), 1, 3)).writes == ()


@pytest.mark.parametrize("workers", [1, 5])
def test_a_claim_that_waits_is_asked_for_other_counts_in_its_place(workers: int) -> None:
    waiting = _scaled(_sized(3), 3)
    state = _state(waiting, goal=_sized(workers))
    assert decide(state).writes == (RecountClaim(waiting, {"head": 1, "w": workers}),)


def test_worker_clusters_are_asked_for_less_when_the_user_asks_for_less() -> None:
    asked = _scaled(_sized(3), 3, "QuotaReserved")
    before = _twin(asked)
    state = _on(_state(asked, goal=_sized(1)), "east", before)
    assert decide(state).writes == (RecountClaim(asked, {"head": 1, "w": 1}),)
    lowered = _scaled(_sized(1), 1, "QuotaReserved", name=asked.metadata.name)
    state = _on(_state(lowered, goal=_sized(1)), "east", before)
    assert decide(state).writes == (RecountTwin("east", before, {"head": 1, "w": 1}),)


def test_a_claim_of_shapes_that_nothing_runs_by_any_more_is_finished() -> None:
    """A group that was appended runs in the same RayCluster by a claim of its own."""
    before, now = _claim(said=HOLDS, check="Ready", bound=_UID), _scaled(_sized(1), 1, HOLDS, bound=_UID)
    goal = _sized(1)
    copy = Copy("remote-1", ours=True, release=goal.release, forwarded=goal.digest)
    twin = _twin(now, HOLDS, bound=_UID)
    state = _on(_state(before, now, pinned="east", goal=goal), "east", twin, service=copy)
    [finished] = decide(state).writes
    assert isinstance(finished, FinishClaim)
    assert finished.claim is before


@given(
    held=st.integers(0, 4),
    there=st.integers(0, 4),
    runs=st.integers(0, 4),
    asked=st.integers(0, 4),
    told=st.integers(0, 4),
)
def test_the_managers_quota_covers_what_the_worker_cluster_may_run_of_it(
    held: int, there: int, runs: int, asked: int, told: int
) -> None:
    goal = _sized(asked)
    before = min(held, max(there, runs, told))
    for write in decide(_serves(goal, held, there, runs=runs, told=_sized(told))).writes:
        if isinstance(write, RecountClaim):
            assert min(held, max(there, runs, asked)) <= write.counts["w"] < held
            assert write.counts["w"] >= before or told == asked


_WORDS = st.lists(st.sampled_from(("QuotaReserved", "Admitted", "Evicted", "Finished")), unique=True).map(" ".join)


@given(
    here=_WORDS,
    there=_WORDS,
    check=st.sampled_from(("Pending", "Ready", "Retry")),
    bound=st.booleans(),
    active=st.booleans(),
    forwarded=st.sampled_from(("", "1", "2")),
    asked=st.sampled_from(("1", "2")),
)
def test_whatever_is_read_an_edit_is_forwarded_only_where_both_clusters_hold_quota_for_it(
    here: str, there: str, check: str, bound: bool, active: bool, forwarded: str, asked: str
) -> None:
    uid = _UID if bound else ""
    claim = _claim("1", here, check=check, bound=uid)
    twin = _twin(claim, there, bound=uid, active=active)
    state = _on(
        _state(claim, image=asked, pinned="east"),
        "east",
        twin,
        service=_copy(forwarded, "other") if forwarded else None,
    )
    forwards = [write for write in decide(state).writes if isinstance(write, Forward)]
    if forwards:
        assert asked == "1"
        for words in (here, there):
            assert {"QuotaReserved", "Admitted"} <= set(words.split())
            assert not {"Evicted", "Finished"} & set(words.split())
