from __future__ import annotations

from dataclasses import replace

from rayward.kube.core.event import ObjectReference
from rayward.kube.runtime.folding import Folder, Happening

ABOUT = ObjectReference("ray.io/v1", "RayCluster", "a", "demo", "uid-1")


def happening(message: str, *, reason: str = "Created", kind: str = "Normal", uid: str = "uid-1") -> Happening:
    return Happening(ObjectReference("ray.io/v1", "RayCluster", "a", "demo", uid), kind, reason, message)


def test_equal_happenings_share_a_slot_and_others_do_not() -> None:
    folder = Folder()
    told = [
        folder.fold(found, 0.0)
        for found in (
            happening("one"),
            happening("one"),
            happening("two"),
            happening("one", reason="Deleted"),
            happening("one", kind="Warning"),
            happening("one", uid="uid-2"),
        )
    ]
    slots = [folded.slot for folded in told if folded is not None]
    assert slots[0] == slots[1]
    assert len(set(slots)) == 5


def test_from_the_tenth_on_similar_ones_are_joined() -> None:
    folder = Folder()
    told = [folder.fold(happening(f"pod {number}"), float(number)) for number in range(13)]
    messages = [folded.happening.message for folded in told if folded is not None]
    assert messages[:9] == [f"pod {number}" for number in range(9)]
    assert messages[9:] == [f"(combined from similar events): pod {number}" for number in range(9, 13)]
    assert len({folded.slot for folded in told[9:] if folded is not None}) == 1


def test_what_was_told_before_joining_began_still_counts_as_itself() -> None:
    folder = Folder()
    for number in range(12):
        folder.fold(happening(f"pod {number}"), 0.0)
    again = folder.fold(happening("pod 3"), 0.0)
    assert again is not None
    assert again.happening.message == "pod 3"


def test_after_ten_quiet_minutes_joining_ends() -> None:
    folder = Folder()
    for number in range(12):
        folder.fold(happening(f"pod {number}"), 0.0)
    late = folder.fold(happening("pod 99"), 601.0)
    assert late is not None
    assert late.happening.message == "pod 99"


def test_a_reason_that_comes_often_costs_no_event_of_another_reason() -> None:
    folder = Folder()
    for number in range(200):
        folder.fold(happening(f"pod {number}"), 0.0)
        folder.fold(happening(f"RayCluster {number}", reason="UpdatedRayCluster"), 0.0)
    switched = folder.fold(happening("Switched traffic to RayCluster b", reason="SwitchedTraffic"), 0.0)
    assert switched is not None
    assert switched.happening.message == "Switched traffic to RayCluster b"


def test_an_object_that_tells_too_much_is_not_listened_to() -> None:
    folder = Folder()
    told = [folder.fold(happening("same"), 0.0) for _ in range(30)]
    assert [folded is None for folded in told] == [False] * 25 + [True] * 5
    assert folder.fold(happening("same", uid="uid-2"), 0.0) is not None, "others are"
    assert folder.fold(happening("same", kind="Warning"), 0.0) is not None, "warnings are counted apart"
    assert folder.fold(happening("same"), 299.0) is None
    assert folder.fold(happening("same"), 300.0) is not None


def test_memory_is_bounded() -> None:
    folder = Folder()
    for number in range(10_000):
        folder.fold(happening("x", uid=str(number)), 0.0)
    assert len(folder._buckets._entries) == len(folder._similar._entries) == 4096


def test_decisions_are_neither_dropped_nor_joined() -> None:
    folder = Folder()
    told = [folder.fold(replace(happening(f"to {number}"), decision=True), 0.0) for number in range(60)]
    assert [folded.happening.message for folded in told if folded is not None] == [f"to {each}" for each in range(60)]
    assert len({folded.slot for folded in told if folded is not None}) == 60
