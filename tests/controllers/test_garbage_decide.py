from __future__ import annotations

from collections.abc import Sequence

import pytest

from rayward.local.controllers.garbage.decide import (
    NOTHING,
    Action,
    Delete,
    DropReferences,
    OrphanDependents,
    RemoveFinalizer,
    Unblock,
    decide,
)
from rayward.local.controllers.garbage.graph import FOREGROUND, ORPHAN, Node, OwnerState
from tests.controllers.graphs import foreground, node, orphaning, owner

_SOLID, _WAITING, _ABSENT, _UNKNOWN = OwnerState.SOLID, OwnerState.WAITING, OwnerState.ABSENT, OwnerState.UNKNOWN
_A, _B = owner("a"), owner("b")


@pytest.mark.parametrize(
    ("about", "owners", "dependents", "action"),
    [
        pytest.param(node("p"), [], [], NOTHING, id="no owners"),
        pytest.param(node("p", _A), [_SOLID], [], NOTHING, id="its owner is there"),
        pytest.param(node("p", _A), [_UNKNOWN], [], NOTHING, id="nobody knows its owner"),
        pytest.param(node("p", _A, _B), [_ABSENT, _UNKNOWN], [], NOTHING, id="one is gone, nobody knows the other"),
        pytest.param(node("p", _A), [_ABSENT], [], Delete("Background"), id="its owner is gone"),
        pytest.param(node("p", _A, _B), [_ABSENT, _ABSENT], [], Delete("Background"), id="all owners are gone"),
        pytest.param(
            node("p", _A), [_ABSENT], [node("q", owner("p"))], Delete("Background"), id="gone, with dependents"
        ),
        pytest.param(
            node("p", _A, finalizers=(ORPHAN,)), [_ABSENT], [], Delete("Orphan"), id="gone, and it asks to orphan"
        ),
        pytest.param(
            node("p", _A, finalizers=(FOREGROUND,)), [_ABSENT], [], Delete("Foreground"), id="gone, and it asks to wait"
        ),
        pytest.param(
            node("p", _A, _B), [_SOLID, _ABSENT], [], DropReferences(frozenset({"uid-b"})), id="one of two is gone"
        ),
        pytest.param(
            node("p", _A, _B), [_WAITING, _SOLID], [], DropReferences(frozenset({"uid-a"})), id="one of two waits"
        ),
        pytest.param(
            node("p", _A, owner("wrong name", uid="uid-a")),
            [_SOLID, _ABSENT],
            [],
            NOTHING,
            id="named twice, once wrong",
        ),
        pytest.param(node("p", _A), [_WAITING], [], Delete("Background"), id="its owner waits for it"),
        pytest.param(node("p", _A, _B), [_WAITING, _ABSENT], [], Delete("Background"), id="one waits, one is gone"),
        pytest.param(
            node("p", _A),
            [_WAITING],
            [node("q", owner("p"))],
            Delete("Foreground"),
            id="its owner waits, so it waits too",
        ),
        pytest.param(node("p", _A, deleting=True), [], [], NOTHING, id="already being deleted"),
        pytest.param(foreground("p"), [], [], RemoveFinalizer(FOREGROUND), id="waits for nobody"),
        pytest.param(
            foreground("p"), [], [node("q", owner("p", block=True))], NOTHING, id="waits for one that holds it up"
        ),
        pytest.param(
            foreground("p"),
            [],
            [node("q", owner("p", block=False)), node("r", owner("p"))],
            RemoveFinalizer(FOREGROUND),
            id="none of its dependents holds it up",
        ),
        pytest.param(
            foreground("p"),
            [],
            [node("q", owner("p"), owner("z", block=True))],
            RemoveFinalizer(FOREGROUND),
            id="a dependent holds up another owner",
        ),
        pytest.param(
            orphaning("p"), [], [node("q", owner("p", block=True))], OrphanDependents(), id="leaves them behind"
        ),
    ],
)
def test_what_happens_to_an_object(
    about: Node, owners: Sequence[OwnerState], dependents: list[Node], action: Action
) -> None:
    assert decide(about, owners, dependents) == action


_HELD_UP = [foreground("q", owner("p", block=True))]


@pytest.mark.parametrize(
    ("about", "in_circle", "action"),
    [
        pytest.param(foreground("p", owner("q", block=True)), True, Unblock(), id="in a circle"),
        pytest.param(foreground("p", owner("q", block=True)), False, NOTHING, id="in none"),
        pytest.param(foreground("p", owner("q", block=False)), True, NOTHING, id="in a circle that it does not close"),
    ],
)
def test_a_circle_is_opened(about: Node, in_circle: bool, action: Action) -> None:
    assert decide(about, [], _HELD_UP, in_circle=in_circle) == action
