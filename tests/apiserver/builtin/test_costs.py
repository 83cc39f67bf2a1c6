"""Rules of pods and Jobs whose work grows with their input, and not with its square."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from rayward.local.apiserver.builtin.job.indexes import overlap
from rayward.local.apiserver.builtin.podspec.overlaps import overlap_warnings
from rayward.local.apiserver.builtin.podspec.portwarnings import port_warnings
from rayward.local.apiserver.builtin.podspec.scheduling import check_spread
from rayward.local.apiserver.builtin.resources import check_claims
from rayward.local.apiserver.verbs.ownership import drop_doubled_owners

Work = Callable[[int], object]


def _steps(work: Callable[[], object]) -> int:
    """Lines of Python that a piece of work runs: the same number each time, on any machine."""
    count = 0

    def trace(_frame: FrameType, _event: str, _argument: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def _volume(paths: list[str]) -> list[dict[str, Any]]:
    return [{"name": "v", "configMap": {"items": [{"path": path} for path in paths]}}]


def _ports(numbers: list[int]) -> dict[str, Any]:
    return {"containers": [{"ports": [{"containerPort": 80, "hostPort": number} for number in numbers]}]}


def _zones(count: int) -> list[dict[str, Any]]:
    return [{"topologyKey": f"z{n}", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1} for n in range(count)]


def _known(count: int) -> list[str]:
    return [f"d{n}" for n in range(count)]


class _Counted(str):
    """A text that counts, in Python, how often it is compared."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) if isinstance(other, str) else False

    def __hash__(self) -> int:
        return str.__hash__(self)


def _owners(count: int) -> dict[str, Any]:
    return {"ownerReferences": [{"uid": _Counted(n)} for n in range(count)]}


_WORK: dict[str, Work] = {
    "files beside each other": lambda n: overlap_warnings(_volume([f"p{i}" for i in range(n)])),
    "files of one name": lambda n: overlap_warnings(_volume(["p"] * n)),
    "ports of the host": lambda n: port_warnings(_ports(list(range(1, n))), "spec"),
    "ways to spread": lambda n: check_spread(_zones(n), "spec", []),
    "devices": lambda n: check_claims([{"name": name} for name in _known(n)], _known(n), "spec", []),
    "indexes": lambda n: overlap(",".join(map(str, range(0, n, 2))), ",".join(map(str, range(1, n, 2))), completions=n),
    "owners": lambda n: drop_doubled_owners(_owners(n), []),
}


@pytest.mark.parametrize("work", _WORK.values(), ids=_WORK)
def test_twice_the_input_is_about_twice_the_work(work: Work) -> None:
    assert _steps(lambda: work(800)) < 3 * _steps(lambda: work(400))
