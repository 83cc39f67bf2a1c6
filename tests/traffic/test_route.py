"""Backends that come and go."""

from __future__ import annotations

from rayward.local.traffic.place import Host
from rayward.local.traffic.route import Group, Member, Route, Target

_PLACE = Host()


def _target(pod: str) -> Target:
    return Target(pod, "127.0.0.1", 1, _PLACE)


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class _Connection:
    closed = False

    def close(self) -> None:
        self.closed = True


def _route(*pods: str) -> tuple[Route, list[int], _Clock]:
    changes: list[int] = []
    clock = _Clock()
    clock.now = 100.0
    route = Route("default/web", "8000", lambda: changes.append(1), clock)
    route.update([Group(1, tuple(_target(pod) for pod in pods))])
    return route, changes, clock


def _picked(route: Route, client: str = "c", tried: tuple[Member, ...] = ()) -> str | None:
    member = route.pick(tried, client)
    return member.target.pod if member else None


def test_all_have_their_turn() -> None:
    route, _, _ = _route("a", "b", "c")
    assert sorted(str(_picked(route)) for _ in range(6)) == ["a", "a", "b", "b", "c", "c"]


def test_one_that_left_is_kept_until_it_has_finished() -> None:
    route, changes, _ = _route("a")
    member = route.pick((), "c")
    assert member is not None
    member.begin()
    idle = _Connection()
    member.idle.append(idle)
    route.update([Group(1, (_target("b"),))])
    assert (idle.closed, member.current, len(route.members)) == (True, False, 2)
    assert {_picked(route) for _ in range(4)} == {"b"}
    before = len(changes)
    member.end()
    assert [one.target.pod for one in route.members] == ["b"]
    assert len(changes) == before + 1


def test_one_that_comes_back_is_the_same() -> None:
    route, _, _ = _route("a")
    member = route.pick((), "c")
    assert member is not None
    member.begin()
    route.update([])
    route.update([Group(1, (_target("a"),))])
    assert route.pick((), "c") is member
    member.end()
    assert list(route.members) == [member]


def test_a_change_is_told_only_if_there_is_one() -> None:
    route, changes, _ = _route("a")
    before = len(changes)
    route.update([Group(1, (_target("a"),))])
    assert len(changes) == before


def test_those_who_failed_are_not_asked_again() -> None:
    route, _, _ = _route("a", "b")
    failed = route.pick((), "c")
    assert failed is not None
    assert {_picked(route, tried=(failed,)) for _ in range(4)} == {"a", "b"} - {failed.target.pod}
    assert _picked(route, tried=tuple(route.members)) is None


def test_the_weight_of_a_group_without_members_goes_to_the_others() -> None:
    route, _, _ = _route()
    route.update([Group(99, ()), Group(1, (_target("b"),)), Group(0, (_target("c"),))])
    assert {_picked(route) for _ in range(10)} == {"b"}


def test_one_whose_weight_goes_to_zero_leaves_and_comes_back_with_it() -> None:
    route, changes, _ = _route()
    route.sticky_seconds = 60
    route.update([Group(100, (_target("a"),)), Group(0, (_target("b"),))])
    member = route.pick((), "client")
    assert member is not None
    member.begin()
    before = len(changes)
    route.update([Group(0, (_target("a"),)), Group(100, (_target("b"),))])
    assert len(changes) == before + 1
    assert {(one.target.pod, one.current) for one in route.members} == {("a", False), ("b", True)}
    assert {_picked(route, "client") for _ in range(3)} == {"b"}
    member.end()
    assert [one.target.pod for one in route.members] == ["b"]
    route.update([Group(1, (_target("a"),)), Group(1, (_target("b"),))])
    assert {one.target.pod for one in route.members if one.current} == {"a", "b"}


def test_a_gap_is_remembered_for_a_moment() -> None:
    route, _, clock = _route("a")
    assert not route.in_gap
    route.update([])
    assert (route.empty, route.in_gap) == (True, True)
    clock.now += 10
    assert not route.in_gap


def test_a_client_with_affinity_is_forgotten_after_its_time() -> None:
    route, _, clock = _route("a", "b")
    route.sticky_seconds = 60
    first = _picked(route, "client")
    assert {_picked(route, "client") for _ in range(5)} == {first}
    clock.now += 61
    assert {_picked(route, "client-2"), _picked(route, "client-3")} == {"a", "b"}


def test_only_so_many_clients_are_remembered() -> None:
    route, _, _ = _route("a", "b")
    route.sticky_seconds = 60
    for number in range(5000):
        route.pick((), str(number))
    assert len(route._stuck) == 4096
