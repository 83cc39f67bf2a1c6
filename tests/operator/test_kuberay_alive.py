"""How a KubeRay operator is recognised, and which namespaces it holds."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.operator.handover import Holder, overlaps, watched_namespaces


def _deployment(*words: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"command": ["/manager"], "args": list(words)}]}}}}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), None),
        (("--watch-namespace=",), None),
        (("--watch-namespace=a",), {"a"}),
        (("--watch-namespace=a,b",), {"a", "b"}),
        (("--watch-namespace", "a, b"), {"a", "b"}),
        (("-watch-namespace=a", "--qps=1"), {"a"}),
    ],
)
def test_its_flags_say_what_it_watches(words: tuple[str, ...], expected: set[str] | None) -> None:
    assert watched_namespaces(_deployment(*words)) == expected


@pytest.mark.parametrize(
    ("theirs", "ours", "meet"),
    [
        (None, [], True),
        (None, ["a"], True),
        (frozenset("a"), [], True),
        (frozenset("a"), ["a", "b"], True),
        (frozenset("a"), ["b"], False),
    ],
)
def test_two_operators_meet_in_a_common_namespace(theirs: frozenset[str] | None, ours: list[str], meet: bool) -> None:
    assert overlaps(theirs, ours) is meet


def test_the_refusal_says_how_to_hand_over() -> None:
    told = Holder("Deployment", "ray-system", "my-kuberay").refusal()
    assert "Deployment ray-system/my-kuberay" in told.why
    assert told.following.startswith("kubectl -n ray-system scale deployment my-kuberay --replicas=0")
