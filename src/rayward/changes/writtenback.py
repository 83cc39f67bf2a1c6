"""Fields that a manager owns because it wrote a whole object back, not because it asked for anything.

KubeRay's operator does so when it adds its finalizer: fields that Go cannot leave out are in the worker groups then,
empty, so that the list has another value and another owner. Nothing was meant by it, and whoever asked for the list
before may ask again.
"""

from __future__ import annotations

from typing import Any

from rayward.changes.lint.schema import with_defaults
from rayward.changes.ownership import FieldConflict, value_at
from rayward.changes.refs import Ref
from rayward.changes.revisions import OWNER, read_revisions
from rayward.changes.steps import Operation, Send
from rayward.kinds.effects import differences, same_meaning
from rayward.kube.client import verbs
from rayward.kube.client.errors import ApiError
from rayward.kube.core.resource import CONTROLLER_REVISIONS
from rayward.kube.machinery.jsonvalue import Object, entries, section


def is_written_back(row: FieldConflict, asked: tuple[Object, ...]) -> bool:
    """Whether a field that nobody else applied says what one of these versions of the object says."""
    values = (value_at(one, row.field) for one in asked)
    return row.updated and any(_same(row.theirs, value) for value in values)


def meant(
    ref: Ref, live: Object, body: Object, rows: tuple[FieldConflict, ...], manager: str
) -> Operation[tuple[FieldConflict, ...]]:
    """The conflicts with managers that meant what they wrote.

    Args:
        ref: The object.
        live: It as it is.
        body: It as ``manager`` asks for it now; how it did before is read from its revisions.
        rows: All conflicts with others.
        manager: Who asks.
    """
    if not any(row.updated for row in rows):
        return rows
    asked = (with_defaults(ref.kind, body),)
    selector = f"{OWNER}={section(live, 'metadata').get('uid')}"
    try:
        answer: Object = yield Send(verbs.list_(CONTROLLER_REVISIONS, ref.namespace, label_selector=selector))
    except ApiError:
        answer = {}
    own = [one.spec for one in read_revisions(entries(answer, "items")) if one.manager == manager]
    asked += ({"spec": own[-1]},) if own else ()
    return tuple(row for row in rows if not is_written_back(row, asked))


def _same(theirs: Any, ours: Any) -> bool:
    return all(same_meaning(one.old, one.new) for one in differences(theirs, ours))
