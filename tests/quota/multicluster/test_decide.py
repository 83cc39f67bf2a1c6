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
    ReleaseClaim,
    RequeueClaim,
    SetFinalizer,
    State,
    Worker,
)
from rayward.quota.multicluster.state import RemoteService as Copy
from tests.quota.gate.stage import queued_service, release

_CHECK = "workers"
_UID = "cluster-1"


def _service(image: str = "1", **metadata: Any) -> RayService:
    body = queued_service(image=f"rayproject/ray:{image}", managedBy="kueue.x-k8s.io/multikueue")
    body["metadata"] |= {
        "namespace": "team",
        "uid": "service-1",
        "finalizers": [labels.MULTICLUSTER],
        **metadata,
    }
    return msgspec.convert(body, RayService, strict=False)


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
