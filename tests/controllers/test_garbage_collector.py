"""Whatever the order of events, requests and interference: what must go goes, what must stay stays, nothing hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayward.kube.core.objects import OwnerReference
from rayward.kube.core.resource import Resource
from rayward.local.controllers.garbage.graph import Node
from tests.controllers.graphs import NODES, PODS, SETS, node, owner
from tests.controllers.world import World, settle

_OTHER = "example.com/other"


def _run(
    nodes: Iterable[Node], deeds: list[tuple[str, str]], *, seed: int = 0, prompt: bool = False
) -> tuple[World, dict[str, tuple[str, ...]]]:
    """The names of what is left, and the owners that each still names."""
    random = Random(seed)
    world = World(prompt=prompt, random=random)
    for each in nodes:
        world.create(each)
    asyncio.run(settle(world, random, [(deed, f"uid-{name}") for deed, name in deeds]))
    assert world.wrongs == []
    return world, {n.name: tuple(r.name for r in n.owners) for n in world.objects.values()}


_FAMILY = [node("s"), node("p", owner("s", block=True)), node("q", owner("p", block=True)), node("alone")]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    ("nodes", "deeds", "left"),
    [
        pytest.param(_FAMILY, [], {"s": (), "p": ("s",), "q": ("p",), "alone": ()}, id="nothing is asked"),
        pytest.param(_FAMILY, [("Background", "s")], {"alone": ()}, id="background"),
        pytest.param(_FAMILY, [("Foreground", "s")], {"alone": ()}, id="foreground"),
        pytest.param([node("p", owner("never"))], [], {}, id="an owner that never was"),
        pytest.param(
            [node("s"), node("p", owner("s", uid="uid-older namesake"))], [], {"s": ()}, id="a namesake is no owner"
        ),
        pytest.param(
            [node("s"), node("p", owner("s"), namespace="y")], [], {"s": ()}, id="an owner in another namespace is none"
        ),
        pytest.param(
            [node("n", resource=NODES), node("p", owner("n", NODES)), node("v", owner("n", NODES), resource=NODES)],
            [("Background", "n")],
            {},
            id="a cluster-wide owner",
        ),
        pytest.param(
            [node("s"), node("t"), node("p", owner("s"), owner("t"))],
            [("Background", "s")],
            {"t": (), "p": ("t",)},
            id="one of two owners goes",
        ),
        pytest.param(
            [node("s"), node("t"), node("p", owner("s", block=True), owner("t"))],
            [("Foreground", "s")],
            {"t": (), "p": ("t",)},
            id="one of two owners waits, and need not",
        ),
        pytest.param(
            [node("s"), node("t"), node("p", owner("s"), owner("t"))],
            [("Foreground", "s"), ("Background", "t")],
            {},
            id="both owners go",
        ),
        pytest.param(
            [node("a", owner("b", block=True)), node("b", owner("a", block=True))],
            [("Foreground", "a")],
            {},
            id="a circle of two",
        ),
        pytest.param(
            [node("a", owner("b", block=True)), node("b", owner("a", block=True))],
            [("Foreground", "a"), ("Foreground", "b")],
            {},
            id="a circle, both ends at once",
        ),
        pytest.param([node("a", owner("a", block=True))], [("Foreground", "a")], {}, id="its own owner"),
        pytest.param(
            [
                node("a", owner("c", PODS, block=True)),
                node("b", owner("a", block=True)),
                node("c", owner("b", block=True), resource=PODS),
            ],
            [("Foreground", "b"), ("Foreground", "a"), ("Foreground", "c")],
            {},
            id="a circle of three, everywhere at once",
        ),
    ],
)
def test_the_outcome_of(
    nodes: list[Node], deeds: list[tuple[str, str]], left: dict[str, tuple[str, ...]], seed: int
) -> None:
    assert _run(nodes, deeds, seed=seed)[1] == left


@pytest.mark.parametrize("seed", range(10))
def test_what_is_left_behind_names_its_owner_no_more(seed: int) -> None:
    assert _run(_FAMILY, [("Orphan", "s")], seed=seed)[1] == {"p": (), "q": ("p",), "alone": ()}


@pytest.mark.parametrize("seed", range(10))
def test_an_object_that_changes_all_the_time_does_not_escape(seed: int) -> None:
    deeds = [("Background", "s"), *[("touch", "p")] * 30]
    assert _run([node("s"), node("p", owner("s"))], deeds, seed=seed)[1] == {}


@pytest.mark.parametrize("seed", range(10))
def test_a_finalizer_of_others_holds_up_the_whole_family(seed: int) -> None:
    family = [node("s"), node("p", owner("s", block=True), finalizers=(_OTHER,))]
    world, left = _run(family, [("Foreground", "s")], seed=seed)
    assert left == {"s": (), "p": ("s",)}
    assert all(n.deleting for n in world.objects.values())
    assert _run(family, [("Foreground", "s"), (_OTHER, "p")], seed=seed)[1] == {}


@pytest.mark.parametrize("seed", range(40))
def test_references_are_not_dropped_one_after_another_until_none_is_left(seed: int) -> None:
    """Each owner looked alive while the other one was found gone."""
    family = [node("a"), node("b"), node("p", owner("a", block=True), owner("b", block=True), resource=PODS)]
    assert _run(family, [("Foreground", "a"), ("Background", "b")], seed=seed)[1] == {}


_names = st.integers(0, 6).map(lambda number: f"o{number}")
_resources: list[Resource] = [SETS, PODS, SETS, PODS, SETS, PODS, NODES]


@st.composite
def _graphs(draw: st.DrawFn) -> list[Node]:
    """Up to seven objects in three collections that own each other in any way, some named wrongly, some absent."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, 7))):
        resource = _resources[number]
        owners: list[OwnerReference] = []
        for target in sorted(draw(st.sets(st.integers(0, 7), max_size=3))):
            kind = _resources[target] if target < 7 else SETS
            if not resource.namespaced and kind.namespaced:
                continue
            owners.append(owner(f"o{target}", kind, block=draw(st.sampled_from([True, False, None]))))
        finalizers = draw(st.sampled_from([(), (), (), (_OTHER,)]))
        nodes.append(node(f"o{number}", *owners, resource=resource, finalizers=finalizers))
    return nodes


_deeds = st.lists(
    st.tuples(st.sampled_from(["Background", "Foreground", "Orphan", "touch"]), _names), min_size=1, max_size=6
)


@settings(max_examples=600)
@given(_graphs(), _deeds, st.integers(0, 10**6), st.booleans())
def test_any_graph_ends_as_specified(nodes: list[Node], deeds: list[tuple[str, str]], seed: int, prompt: bool) -> None:
    released = [(_OTHER, n.name) for n in nodes if n.finalizers]
    world, left = _run(nodes, [*deeds, *released], seed=seed, prompt=prompt)
    gone, perhaps = _specification(nodes, deeds)
    assert left.keys().isdisjoint(gone), "what must go is gone"
    assert {n.name for n in nodes} - perhaps <= left.keys(), "what must stay is there"
    assert _left_behind(nodes, deeds) <= left.keys(), "what is left behind is there, however late its watch"
    assert not any(n.deleting for n in world.objects.values()), "nothing hangs"
    for remaining in world.objects.values():
        assert all(reference.uid in world.objects for reference in remaining.owners), "no reference leads nowhere"


def _specification(nodes: list[Node], deeds: list[tuple[str, str]]) -> tuple[set[str], set[str]]:
    """Which names must be gone in the end, and which may be.

    Whether a dependent of an owner that was deleted as Orphan stays depends on what else happens to it first.
    """
    present = {n.name for n in nodes}
    deleted = {name for deed, name in deeds if deed != "touch"} & present
    leaves_behind = {name for deed, name in deeds if deed == "Orphan"} & present
    gone, perhaps = set(deleted), set(deleted)
    while True:
        more = {
            n.name for n in nodes if n.owners and all(_is_gone(r.name, present, gone - leaves_behind) for r in n.owners)
        }
        maybe = {n.name for n in nodes if n.owners and all(_is_gone(r.name, present, perhaps) for r in n.owners)}
        if more <= gone and maybe <= perhaps:
            return gone, perhaps
        gone |= more
        perhaps |= maybe | more


def _left_behind(nodes: list[Node], deeds: list[tuple[str, str]]) -> set[str]:
    """Those whose owners all have no owners and were deleted as Orphan and in no other way."""
    ways = {n.name: {deed for deed, name in deeds if name == n.name} - {"touch"} for n in nodes}
    leaving = {n.name for n in nodes if not n.owners and ways[n.name] == {"Orphan"}}
    return {n.name for n in nodes if n.owners and not ways[n.name] and {r.name for r in n.owners} <= leaving}


def _is_gone(name: str, present: set[str], gone: set[str]) -> bool:
    return name not in present or name in gone
