"""Whose an object is: the gate's, Kueue's own, or nobody's."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.admission import Admission, Queueing
from rayward.kinds.kueue import names
from rayward.kube.core.objects import ObjectMeta

_OURS = {labels.QUEUE_NAME: "ours"}
_KUEUES = {names.QUEUE_NAME: "kueues"}
_BOTH = _OURS | _KUEUES
_EMBEDDED = Queueing(Admission.EMBEDDED)
_KUEUE = Queueing(Admission.KUEUE)
_TAKES_ALL = Queueing(Admission.KUEUE, kueue_takes_unlabelled=True)
_NONE = Queueing()


@pytest.mark.parametrize(
    ("queueing", "found", "queue", "kueues", "ignored"),
    [
        (_EMBEDDED, _OURS, "ours", False, False),
        (_EMBEDDED, _KUEUES, "kueues", False, False),
        (_EMBEDDED, _BOTH, "ours", False, False),
        (_EMBEDDED, {}, "", False, False),
        (_KUEUE, _OURS, "ours", False, False),
        (_KUEUE, _KUEUES, "", True, False),
        (_KUEUE, _BOTH, "", True, True),
        (_KUEUE, {}, "", False, False),
        (_TAKES_ALL, _OURS, "", True, True),
        (_TAKES_ALL, {}, "", True, False),
        (_NONE, _OURS, "ours", False, False),
        (_NONE, _KUEUES, "", True, False),
    ],
)
def test_labels_and_settings_say_whose_an_object_is(
    queueing: Queueing, found: dict[str, str], queue: str, kueues: bool, ignored: bool
) -> None:
    metadata = ObjectMeta(labels=found)
    assert queueing.queue_of(metadata) == queue
    assert queueing.is_kueues(metadata) == kueues
    assert bool(queueing.left_to_kueue(metadata)) == ignored
