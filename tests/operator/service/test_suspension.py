"""Suspending is said, done, and then said again; resuming starts anew."""

from __future__ import annotations

from datetime import UTC, datetime

from rayward.kube.core.meta import condition_of, is_true
from rayward.operator.service import suspension
from rayward.operator.service.conditions import (
    PROGRESSING,
    READY,
    ROLLBACK,
    STALLED,
    SUSPENDED,
    SUSPENDING,
    UPGRADE,
    Conditions,
    Facts,
    conditions,
    failure_of,
    served_before,
)
from rayward.operator.service.state import Decision, Failure

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SERVING = conditions(None, Facts(1, endpoints=2, decision=Decision()), NOW)


def _next(before: Conditions, *, asked: bool, left: int) -> Conditions:
    found = suspension.decide(before, asked=asked, left=left, generation=2, now=NOW)
    assert found is not None
    return found.conditions


def test_a_service_that_is_to_run_is_not_suspended() -> None:
    assert suspension.decide(SERVING, asked=False, left=3, generation=2, now=NOW) is None


def test_the_intention_is_written_before_anything_is_deleted() -> None:
    first = suspension.decide(SERVING, asked=True, left=3, generation=2, now=NOW)
    assert first is not None
    assert is_true(first.conditions, SUSPENDING)
    assert not first.delete

    second = suspension.decide(first.conditions, asked=True, left=3, generation=2, now=NOW)
    assert second is not None
    assert second.delete


def test_it_is_suspended_when_nothing_is_left() -> None:
    done = _next(_next(SERVING, asked=True, left=1), asked=True, left=0)

    assert is_true(done, SUSPENDED)
    for kind in (READY, UPGRADE, ROLLBACK, PROGRESSING, SUSPENDING):
        found = condition_of(done, kind)
        assert found is not None, kind
        assert (found.status, found.reason) == ("False", "SuspendComplete"), kind


def test_an_edit_that_is_rejected_while_it_is_suspended_is_stalled_until_it_is_corrected() -> None:
    done = _next(_next(SERVING, asked=True, left=1), asked=True, left=0)
    rejected = Failure("ValidationFailed", "spec.serveConfigV2: line 3")

    for before in (done, _next(SERVING, asked=True, left=1)):
        found = suspension.decide(before, asked=True, left=0, generation=3, now=NOW, rejected=rejected)
        assert found is not None
        assert is_true(found.conditions, SUSPENDED)
        stalled = condition_of(found.conditions, STALLED)
        assert stalled is not None
        assert (stalled.reason, stalled.message) == ("ValidationFailed", "spec.serveConfigV2: line 3")
        assert condition_of(_next(found.conditions, asked=True, left=0), STALLED) is None


def test_while_it_is_being_suspended_nothing_is_in_progress_but_that() -> None:
    middle = _next(SERVING, asked=True, left=1)

    for kind in (READY, UPGRADE, ROLLBACK, PROGRESSING):
        found = condition_of(middle, kind)
        assert found is not None, kind
        assert (found.status, found.reason) == ("False", "SuspendInProgress"), kind


def test_a_resume_in_the_middle_waits_until_the_suspension_is_complete() -> None:
    middle = _next(SERVING, asked=True, left=1)

    found = suspension.decide(middle, asked=False, left=1, generation=3, now=NOW)
    assert found is not None
    assert found.delete
    done = _next(found.conditions, asked=False, left=0)
    assert suspension.decide(done, asked=False, left=0, generation=3, now=NOW) is None


def test_a_resume_in_the_middle_is_no_failure_of_the_spec_that_resumes() -> None:
    middle = _next(SERVING, asked=True, left=1)

    found = suspension.decide(middle, asked=False, left=0, generation=3, now=NOW)

    assert found is not None
    assert failure_of(found.conditions, 3) is None


def test_after_a_resume_the_service_is_as_new() -> None:
    done = _next(_next(SERVING, asked=True, left=1), asked=True, left=0)

    resumed = conditions(done, Facts(3, endpoints=0, decision=Decision()), NOW)

    suspended = condition_of(resumed, SUSPENDED)
    assert suspended is not None
    assert (suspended.status, suspended.reason) == ("False", "RayServiceResumed")
    ready = condition_of(resumed, READY)
    assert ready is not None
    assert ready.reason == "Initializing"
    assert not served_before(done)
    progressing = condition_of(resumed, PROGRESSING)
    assert progressing is not None
    assert progressing.status == "True"
    # As KubeRay leaves them.
    for kind in (SUSPENDING, ROLLBACK):
        found = condition_of(resumed, kind)
        assert found is not None, kind
        assert (found.status, found.reason) == ("False", "SuspendComplete"), kind
