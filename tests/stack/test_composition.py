"""Settings of the operator that cannot work are refused with what to run instead."""

from __future__ import annotations

import pytest

from rayward.kinds.admission import Admission, Queueing
from rayward.operator.errors import OperatorError
from rayward.operator.process import Settings
from rayward.stack.composition import check_settings


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        (Settings(queueing=Queueing(Admission.KUEUE), namespaces=("team",)), "--watch-namespace"),
        (Settings(queueing=Queueing(Admission.KUEUE, default_queue="q")), "--default-queue"),
        (Settings(queueing=Queueing(Admission.EMBEDDED, kueue_takes_unlabelled=True)), "--kueue-takes-unlabelled"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: Settings, what: str) -> None:
    with pytest.raises(OperatorError) as error:
        check_settings(settings)
    assert what in error.value.what
    assert error.value.following.startswith("rayward operator run")


def test_kueue_may_take_objects_without_its_label() -> None:
    check_settings(Settings(queueing=Queueing(Admission.KUEUE, kueue_takes_unlabelled=True)))
