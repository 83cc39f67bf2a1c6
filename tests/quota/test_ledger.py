"""What a ledger says of a Workload is what the engine then does with it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kinds import labels
from rayward.kinds.kueue import Workload
from rayward.quota.ledger import Ledger, Objects
from tests.quota.engine.building import (
    Laboratory,
    cluster_queue,
    flavor,
    local_queue,
    pod_set,
    workload,
)

_TAINT = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
_TWO = {"a": {"cpu": 3}, "b": {"cpu": 3}}


def _ledger(
    quotas: Any, *held: Workload, flavors: dict[str, Any] | None = None, namespaces: Any = None, **spec: Any
) -> Ledger:
    known = {name: {} for name in quotas} | (flavors or {})
    return Ledger(
        Objects(
            flavors=[flavor(name, **about) for name, about in known.items()],
            cluster_queues=[cluster_queue("cq", quotas, **spec)],
            local_queues=[local_queue("q", "cq")],
            workloads=held,
            namespaces=namespaces or {},
        ),
        0,
    )


def _of(owner: str, body: Workload) -> Workload:
    """A Workload for a RayService."""
    tags = {labels.ORIGIN_KIND: "RayService", labels.ORIGIN_NAME: owner}
    return msgspec.structs.replace(body, metadata=msgspec.structs.replace(body.metadata, labels=tags))


def _head_and_worker(cpu: int = 2) -> Workload:
    return workload("w", "q", [pod_set("head", 1, {"cpu": cpu}), pod_set("worker", 1, {"cpu": cpu})])


def test_no_flavor_has_enough_of_everything() -> None:
    found = _ledger({"a": {"cpu": 10, "memory": 1}, "b": {"cpu": 1, "memory": 10}}).verdict(
        workload("w", "q", {"cpu": 5, "memory": 5})
    )
    assert not found.fits_now
    assert "couldn't assign flavors to pod set main" in found.never_fits


def test_an_untolerated_taint_is_why_it_never_fits() -> None:
    ledger = _ledger({"a": {"cpu": 9}}, flavors={"a": {"nodeTaints": _TAINT}})
    assert "untolerated taint gpu=yes:NoSchedule in flavor a" in ledger.verdict(workload("w", "q", {"cpu": 1})).message
    tolerated = [pod_set("main", 1, {"cpu": 1}, tolerations=[{"key": "gpu", "operator": "Exists"}])]
    assert ledger.verdict(workload("w", "q", tolerated)).fits_now


def test_room_that_the_pods_cannot_use_is_told_beside_the_numbers() -> None:
    held = workload("h", "q", {"cpu": 3}, admitted={"queue": "cq", "flavor": "a"})
    ledger = _ledger(_TWO, held, flavors={"b": {"nodeTaints": _TAINT}})
    found = ledger.verdict(workload("w", "q", {"cpu": 2}))
    assert (found.fits_now, found.never_fits) == (False, "")
    assert "Needs cpu 2; ClusterQueue cq has cpu 3 free; couldn't assign flavors" in found.message
    assert "untolerated taint" in found.message


@pytest.mark.parametrize(
    ("namespaces", "fits"),
    [({"ns": {"team": "x"}}, True), ({"ns": {"team": "y"}}, False), ({"other": {}}, False), ({}, True)],
    ids=["selected", "another team's", "not made yet", "unknown"],
)
def test_a_queue_that_is_not_for_the_namespace_is_a_problem(namespaces: Any, fits: bool) -> None:
    ledger = _ledger({"a": {"cpu": 9}}, namespaces=namespaces, namespaceSelector={"matchLabels": {"team": "x"}})
    found = ledger.verdict(workload("w", "q", {"cpu": 1}))
    assert found.fits_now == fits
    assert ("namespaceSelector" in found.problem) == (not fits)


def test_two_flavors_hold_together_what_neither_holds_alone() -> None:
    found = _ledger(_TWO).verdict(_head_and_worker())
    assert (found.fits_now, found.never_fits, found.most) == (True, "", {"cpu": "6"})
    lab = Laboratory("a", "b").queues(cluster_queue("q", _TWO)).workloads(_head_and_worker())
    assert lab.run().admitted == {"w": {"head": "a", "worker": "b"}}
    busy = _ledger(_TWO, workload("h", "q", {"cpu": 2}, admitted={"queue": "cq", "flavor": "a"}))
    assert not busy.verdict(_head_and_worker()).is_blocked, "it only has to wait"


def test_pods_too_large_for_any_flavor_never_fit_whatever_the_sum() -> None:
    found = _ledger(_TWO).verdict(workload("w", "q", {"cpu": 5}))
    assert "insufficient quota for cpu in flavor a" in found.never_fits


def test_what_the_owner_holds_of_another_queue_is_in_nobodys_way() -> None:
    body = Objects(
        flavors=[flavor("a")],
        cluster_queues=[cluster_queue(name, {"a": {"cpu": 3}}) for name in ("cq", "other")],
        local_queues=[local_queue("q", "cq"), local_queue("o", "other")],
        workloads=[_of("svc", workload("h", "o", {"cpu": 3}, admitted={"queue": "other", "flavor": "a"}))],
    )
    assert Ledger(body, 0).verdict(_of("svc", workload("w", "q", {"cpu": 3}))).fits_now


def test_a_release_never_fits_beside_the_one_that_its_service_keeps() -> None:
    base = _of("svc", workload("h", "q", {"cpu": 3}, admitted={"queue": "cq", "flavor": "a"}))
    ledger = _ledger({"a": {"cpu": 5}}, base)
    surge = _of("svc", workload("w", "q", {"cpu": 3}))
    assert "cpu 3 beside 3 that RayService ns/svc holds and keeps, of 5 at most" in ledger.verdict(surge).never_fits
    assert ledger.verdict(surge, gives_up=True).fits_now


def test_a_slice_counts_whole_and_needs_only_what_it_adds() -> None:
    held = workload("w0", "q", [pod_set("p", 2, {"cpu": 1})], admitted={"queue": "cq", "flavor": "a"})
    ledger = _ledger({"a": {"cpu": 3}}, held)
    for count, fits in ((3, True), (4, False)):
        found = ledger.verdict(workload("w1", "q", [pod_set("p", count, {"cpu": 1})], replaces="w0"))
        assert (found.fits_now, found.is_blocked, found.need["cpu"]) == (fits, not fits, str(count - 2))


def _asks(name: str, *cpu: int) -> Workload:
    return workload(name, "q", [pod_set(f"p{at}", 1, {"cpu": each}) for at, each in enumerate(cpu)])


@pytest.mark.parametrize(
    ("quotas", "first", "second", "together"),
    [
        (_TWO, (2, 2), (1, 1), True),
        (_TWO, (2, 2), (2,), False),
        ({"a": {"cpu": 3}, "b": {"cpu": 1}}, (1,), (3,), True),
        (_TWO, (5,), (1,), False),
    ],
    ids=["beside each other", "the sum does, the pods do not", "in the other order", "one is too large"],
)
def test_two_fit_together_whichever_comes_first(
    quotas: Any, first: tuple[int, ...], second: tuple[int, ...], together: bool
) -> None:
    held = workload("h", "q", {"cpu": 1}, admitted={"queue": "cq", "flavor": "a"})
    ledger = _ledger(quotas, held)
    assert ledger.fit_together(_asks("one", *first), _asks("two", *second)) == together
    assert ledger.never_fits_alone(_asks("one", *first)) == (first == (5,))
    assert ledger.engine.forest.queues["cq"].usage == {("a", "cpu"): 1000}


def test_where_nobody_can_tell_nothing_is_said_never_to_fit() -> None:
    ledger = _ledger(_TWO, stopPolicy="Hold")
    assert ledger.fit_together(_asks("one", 5), _asks("two", 5))
    assert not ledger.never_fits_alone(_asks("one", 9))
