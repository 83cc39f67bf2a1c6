from __future__ import annotations

import pytest

from rayward.kube.core.objects import KubeObject, ObjectMeta, OwnerReference
from rayward.local.controllers.garbage.graph import Graph, Node, OwnerState, node_of, refers_to
from tests.controllers.graphs import NODES, PODS, SETS, foreground, node, orphaning, owner


def _graph(*nodes: Node) -> Graph:
    graph = Graph()
    for each in nodes:
        graph.observe(each)
    return graph


def test_a_node_is_what_the_server_showed() -> None:
    metadata = ObjectMeta(
        name="p",
        namespace="x",
        uid="u",
        resource_version="7",
        owner_references=(owner("s"),),
        finalizers=("foregroundDeletion", "other"),
        deletion_timestamp="2026-01-01T00:00:00Z",
    )
    found = node_of(PODS, KubeObject(metadata))
    assert found == Node(PODS, "x", "p", "u", "7", (owner("s"),), ("foregroundDeletion", "other"), True)
    assert found.waits_for_dependents
    assert not found.orphans_dependents


@pytest.mark.parametrize(
    ("reference", "namespace", "means"),
    [
        pytest.param(owner("s"), "x", True, id="the same"),
        pytest.param(OwnerReference("apps/v1beta1", "Set", "s", "uid-s"), "x", True, id="another version of its group"),
        pytest.param(OwnerReference("other/v1", "Set", "s", "uid-s"), "x", False, id="another group"),
        pytest.param(OwnerReference("apps/v1", "Pod", "s", "uid-s"), "x", False, id="another kind"),
        pytest.param(OwnerReference("apps/v1", "Set", "t", "uid-s"), "x", False, id="another name"),
        pytest.param(OwnerReference("apps/v1", "Set", "s", "uid-t"), "x", False, id="another uid"),
        pytest.param(owner("s"), "y", False, id="another namespace"),
        pytest.param(owner("s"), "", False, id="from a cluster-wide object"),
    ],
)
def test_what_a_reference_means(reference: OwnerReference, namespace: str, means: bool) -> None:
    assert refers_to(reference, namespace, node("s")) is means


@pytest.mark.parametrize("namespace", ["x", ""])
def test_a_cluster_wide_owner_may_be_named_from_anywhere(namespace: str) -> None:
    assert refers_to(owner("n", NODES), namespace, node("n", resource=NODES))


def test_what_is_known_of_an_owner() -> None:
    graph = _graph(node("s"), foreground("f"), orphaning("o"), node("gone"))
    graph.remove("uid-gone")
    assert graph.owner_state(owner("s"), "x") is OwnerState.SOLID
    assert graph.owner_state(owner("o"), "x") is OwnerState.SOLID
    assert graph.owner_state(owner("f"), "x") is OwnerState.WAITING
    assert graph.owner_state(owner("gone"), "x") is OwnerState.ABSENT
    assert graph.owner_state(owner("never seen"), "x") is OwnerState.UNKNOWN
    assert graph.owner_state(owner("s"), "y") is OwnerState.UNKNOWN
    graph.forget("uid-s")
    assert graph.owner_state(owner("s"), "x") is OwnerState.UNKNOWN


def test_nothing_to_look_at_while_all_owners_are_there() -> None:
    graph = _graph(node("s"))
    assert graph.observe(node("p", owner("s"), resource=PODS)) == set()
    assert graph.observe(node("p", owner("s"), resource=PODS, version="2")) == set()


def test_a_dependent_is_looked_at_when_an_owner_was_never_seen() -> None:
    assert Graph().observe(node("p", owner("s"))) == {"uid-p"}


def test_dependents_are_looked_at_when_their_owner_goes() -> None:
    graph = _graph(node("s"), node("p", owner("s")), node("q", owner("s")), node("r"))
    assert graph.remove("uid-s") == {"uid-p", "uid-q"}
    assert graph.remove("uid-s") == set()


def test_dependents_are_looked_at_when_their_owner_is_no_longer_watched() -> None:
    assert _graph(node("s"), node("p", owner("s"))).forget("uid-s") == {"uid-p"}


def test_all_are_looked_at_when_foreground_deletion_begins_and_not_again() -> None:
    graph = _graph(node("s"), node("p", owner("s")))
    assert graph.observe(foreground("s")) == {"uid-s", "uid-p"}
    assert graph.observe(foreground("s")) == {"uid-s"}


def test_one_that_leaves_its_dependents_behind_is_looked_at() -> None:
    assert _graph(node("s"), node("p", owner("s"))).observe(orphaning("s")) == {"uid-s"}


def test_one_that_waits_for_other_finalizers_is_not() -> None:
    assert Graph().observe(node("p", owner("s"), deleting=True, finalizers=("other",))) == set()


@pytest.mark.parametrize(
    ("after", "look"),
    [
        pytest.param(node("p", owner("f", block=False), version="2"), {"uid-f", "uid-p"}, id="it blocks no more"),
        pytest.param(node("p", version="2"), {"uid-f"}, id="it is owned no more"),
        pytest.param(node("p", owner("f", block=True), version="2"), {"uid-p"}, id="it still blocks"),
        pytest.param(None, {"uid-f"}, id="it is gone"),
    ],
)
def test_a_waiting_owner_is_looked_at_when_a_dependent_no_longer_holds_it_up(
    after: Node | None, look: set[str]
) -> None:
    graph = _graph(foreground("f"), node("p", owner("f", block=True)))
    assert (graph.remove("uid-p") if after is None else graph.observe(after)) == look


def test_an_owner_that_does_not_wait_is_not_looked_at() -> None:
    assert _graph(node("s"), node("p", owner("s", block=True))).remove("uid-p") == set()


def test_dependents_that_named_it_wrongly_are_looked_at_when_an_owner_is_first_seen() -> None:
    wrong = OwnerReference("apps/v1", "Set", "other", "uid-s")
    graph = _graph(node("p", owner("s")), node("q", wrong), node("r", owner("s"), namespace="y"))
    assert graph.observe(node("s")) == {"uid-q", "uid-r"}


def test_dependents_follow_the_references() -> None:
    graph = _graph(node("p", owner("s"), owner("t")))
    graph.observe(node("p", owner("t"), owner("u")))
    assert {uid: [d.name for d in graph.dependents(uid)] for uid in ("uid-s", "uid-t", "uid-u")} == {
        "uid-s": [],
        "uid-t": ["p"],
        "uid-u": ["p"],
    }
    graph.remove("uid-p")
    assert graph.dependents("uid-t") == []
    assert len(graph) == 0


def _waiting(name: str, *owners: str, block: bool = True) -> Node:
    return foreground(name, *(owner(each, block=block) for each in owners))


@pytest.mark.parametrize(
    ("nodes", "circle"),
    [
        pytest.param([_waiting("a", "b"), _waiting("b", "a")], True, id="two"),
        pytest.param([_waiting("a", "a")], True, id="itself"),
        pytest.param([_waiting("a", "c"), _waiting("b", "a"), _waiting("c", "b")], True, id="three"),
        pytest.param([_waiting("a"), _waiting("b", "a"), _waiting("c", "b", "c")], False, id="a circle below"),
        pytest.param([_waiting("a"), _waiting("b", "a"), _waiting("c", "a", "b")], False, id="a diamond"),
        pytest.param([_waiting("a", "b"), node("b", owner("a", block=True))], False, id="one is not deleted"),
        pytest.param([_waiting("a", "b", block=False), _waiting("b", "a")], False, id="one does not hold up"),
    ],
)
def test_circles_of_objects_that_wait_for_each_other(nodes: list[Node], circle: bool) -> None:
    assert _graph(*nodes).waits_for_itself("uid-a") is circle


def test_what_is_gone_is_not_remembered_without_end() -> None:
    graph = Graph()
    for number in range(12_000):
        graph.observe(node(f"{number}", resource=SETS))
        graph.remove(f"uid-{number}")
    assert graph.owner_state(owner("11999"), "x") is OwnerState.ABSENT
    assert graph.owner_state(owner("0"), "x") is OwnerState.UNKNOWN, "the server will be asked"
