"""Kueue's own cases of its flavor assigner (``tests.quota.record``), slices among them, decided by our assigner."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
import pytest

from rayward.kinds.kueue import Cohort, ResourceFlavor, Workload
from rayward.quota.engine.amounts import FlavorResource, Usage, request_of
from rayward.quota.engine.assign import Assigner, Assignment, Mode
from rayward.quota.engine.engine import Engine, Settings
from rayward.quota.engine.item import NO_TIME, Grant, Item, item_of
from tests.quota.engine.building import stored
from tests.quota.record import recorded

Case = dict[str, Any]

_CASES: Final = [case for case in recorded() if case["suite"] == "TestAssignFlavors"]
_ELSEWHERE: Final = {
    "multiple TAS flavors assigned to different resources in the same PodSet leads to NoFit": (
        "topologies are refused before anything is assigned"
    ),
    "with reclaimable pods; reclaimablePods off": "reclaimable pods cannot be switched off here",
}
"""Cases about what the engine leaves out."""
_POSSIBLE: Final = (Mode.NO_CANDIDATES, Mode.PREEMPT, Mode.RECLAIM)
"""What Kueue's oracle says, by its numbers."""
_MODES: Final = {Mode.NO_FIT: 0, Mode.FIT: 2} | dict.fromkeys(_POSSIBLE, 1)
_NAMES: Final = ("NoFit", "Preempt", "Fit")
_TAINT: Final = re.compile(r"untolerated taint \{(\S+) (\S+) (\S+) <nil>\}")
"""Kueue prints Go's notation of a taint, we print kubectl's."""


@pytest.fixture(autouse=True)
def no_webhooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some cases have queues that Kueue's webhooks, and so our validation, would refuse."""
    monkeypatch.setattr("rayward.quota.engine.inventory.cluster_queue_problems", lambda found: [])


def test_no_case_is_left_out_that_is_not_there() -> None:
    assert {case["name"] for case in _CASES} >= _ELSEWHERE.keys()


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case["name"].replace(" ", "-")) for case in _CASES if case["name"] not in _ELSEWHERE],
)
def test_the_same_flavors_are_assigned(case: Case) -> None:
    found = _assigned(case)
    assert _NAMES[_MODES[found.mode]] == case["wantMode"]
    got = [
        (
            one.name,
            one.count,
            {name: (choice.flavor, _MODES[choice.mode], choice.tried) for name, choice in one.flavors.items()},
            sorted(one.reasons),
            one.requests,
        )
        for one in found.pod_sets
    ]
    assert got == [
        _wanted(pod_set, reasons) for pod_set, reasons in zip(case["wantPodSets"], case["wantReasons"], strict=True)
    ]
    assert found.borrow == case["wantBorrowing"]
    assert found.usage == _usage(case["wantUsage"])


def _assigned(case: Case) -> Assignment:
    engine = Engine(Settings(fair_sharing=case["fairSharing"]))
    for flavor in case["flavors"].values():
        engine.set_flavor(msgspec.convert(flavor, ResourceFlavor))
    queue = case["clusterQueue"]
    if cohort := queue["spec"].get("cohortName"):
        engine.set_cohort(msgspec.convert({"metadata": {"name": cohort}}, Cohort))
    for one in (queue, case["other"]):
        if one is not None:
            engine.set_cluster_queue(stored(one))
    for one, used in zip((queue, case["other"]), case["usage"], strict=True):
        if one is not None:
            engine.forest.queues[one["metadata"]["name"]].add(_usage(used))
    spec = {"podSets": case["podSets"]}
    status = {"reclaimablePods": case["reclaimable"]}
    workload = msgspec.convert({"metadata": {"name": "wl"}, "spec": spec, "status": status}, Workload)
    simulated = {_flavor_resource(text): (_POSSIBLE[mode], height) for text, (mode, height) in case["oracle"].items()}

    def oracle(item: Item, fr: FlavorResource, amount: int) -> tuple[Mode, int]:
        del item, amount
        return simulated.get(fr, (Mode.PREEMPT, 0))

    name = queue["metadata"]["name"]
    return Assigner(
        item_of(workload),
        engine.forest.queues[name],
        engine.inventory.rules[name],
        engine.inventory.flavors,
        oracle,
        fair=case["fairSharing"],
        replaced=_replaced(case["replaced"]),
    ).assign()


def _replaced(pod_sets: Any) -> Item | None:
    if not pod_sets:
        return None
    grants = tuple(Grant(one["Name"], one["Count"], one["Flavors"], one["Requests"]) for one in pod_sets)
    return Item("default/old", "u", "default/q", 0, NO_TIME, (), grants=grants)


def _usage(recorded_usage: dict[str, int]) -> Usage:
    return {_flavor_resource(text): amount for text, amount in recorded_usage.items()}


def _flavor_resource(text: str) -> FlavorResource:
    flavor, _, resource = text.partition(" ")
    return flavor, resource


def _wanted(pod_set: Any, reasons: list[str] | None) -> Any:
    flavors = {
        resource: (one["Name"], one["Mode"], one["TriedFlavorIdx"])
        for resource, one in (pod_set["Flavors"] or {}).items()
    }
    requests = {name: request_of(name, value) for name, value in (pod_set["Requests"] or {}).items()}
    said = sorted(_TAINT.sub(r"untolerated taint \1=\2:\3", reason) for reason in reasons or ())
    return pod_set["Name"], pod_set["Count"], flavors, said, requests
