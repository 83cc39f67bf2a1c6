"""Every cell of the state machine."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.operator.job.facts import GONE, KNOWN, Cluster, Deadline, Facts, Hand, Intent, Ray, Submitter
from rayward.operator.job.table import TABLE, Row, Step, choose, rendered

ENDS = frozenset((Step.SUCCEED, Step.END_STOPPED, Step.FAIL_APP))
FAILURES = frozenset(
    (Step.FAIL_APP, Step.FAIL_SUBMISSION, Step.FAIL_UNKNOWN, Step.FAIL_DEADLINE, Step.FAIL_START, Step.END_STOPPED)
)
RUNNING = (Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING)
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rayjob-states.md"


def _all() -> Iterator[Facts]:
    for phase, intent, hand, cluster, ray, deadline, selected, armed, patient in product(
        Phase, Intent, Hand, Cluster, Ray, Deadline, (False, True), (False, True), (False, True)
    ):
        for submitter in Submitter if hand in (Hand.JOB, Hand.SIDECAR) else (Submitter.NONE,):
            for unstopped in (False, True) if phase is Phase.SUSPENDED else (False,):
                yield Facts(phase, intent, cluster, submitter, ray, deadline, hand, selected, armed, unstopped, patient)


@cache
def _cells() -> list[tuple[Facts, Row]]:
    # Deadlines only count in the phases that have them; leaving them out elsewhere halves the work.
    return [(facts, choose(facts)) for facts in _all() if facts.phase in RUNNING or facts.deadline is Deadline.NONE]


def test_every_situation_has_a_row_and_every_row_a_situation() -> None:
    assert {id(row) for _, row in _cells()} == {id(row) for row in TABLE}


def test_a_job_is_submitted_only_to_the_session_on_record_that_never_knew_it() -> None:
    for facts, row in _cells():
        if row.step in (Step.SUBMIT, Step.SEND):
            assert facts.phase is Phase.RUNNING, facts
            assert facts.armed, facts
            assert facts.ray is Ray.UNKNOWN, facts
            assert facts.submitter is Submitter.NONE, facts
            assert facts.cluster not in GONE, facts


def test_what_ray_said_counts_before_suspension_and_deadlines() -> None:
    said = {Ray.SUCCEEDED: Step.SUCCEED, Ray.FAILED: Step.FAIL_APP, Ray.STOPPED: Step.END_STOPPED}
    for facts, row in _cells():
        if facts.phase is Phase.RUNNING and facts.ray in said:
            assert row.step is said[facts.ray], facts


def test_nothing_that_succeeded_is_called_failed() -> None:
    for facts, row in _cells():
        succeeded = facts.ray is Ray.SUCCEEDED or (
            facts.submitter is Submitter.SAID_SUCCEEDED and facts.ray not in KNOWN
        )
        if succeeded and facts.phase is Phase.RUNNING:
            assert row.step is Step.SUCCEED, facts
        if facts.ray is Ray.SUCCEEDED and facts.phase is Phase.SUSPENDING:
            assert row.step is Step.SUCCEED, facts


def test_an_end_is_never_made_up() -> None:
    truth = {
        Step.SUCCEED: (Ray.SUCCEEDED, Submitter.SAID_SUCCEEDED),
        Step.FAIL_APP: (Ray.FAILED, Submitter.SAID_FAILED),
        Step.END_STOPPED: (Ray.STOPPED, Submitter.SAID_STOPPED),
    }
    for facts, row in _cells():
        if row.step in truth:
            ray, submitter = truth[row.step]
            assert facts.ray is ray or facts.submitter is submitter, facts


def test_a_running_attempt_is_never_touched_by_an_invalid_spec() -> None:
    for facts, row in _cells():
        if facts.phase in (Phase.INITIALIZING, Phase.WAITING) and facts.cluster is Cluster.ABSENT:
            continue
        if facts.intent is Intent.INVALID and facts.phase in (*RUNNING, Phase.SUSPENDING):
            assert choose(dataclasses.replace(facts, intent=Intent.RUN)) is row, facts


def test_nothing_is_made_from_an_invalid_spec() -> None:
    makes = {Step.START, Step.RETRY, Step.CREATE_CLUSTER}
    assert not [facts for facts, row in _cells() if facts.intent is Intent.INVALID and row.step in makes]


def test_a_phase_that_ended_is_left_alone() -> None:
    assert {row.step for facts, row in _cells() if facts.phase.ended} == {Step.CLEAN_UP}


def test_a_job_in_ray_waits_for_nothing_but_an_answer_that_may_still_come() -> None:
    """Running for ever is impossible: whoever waits has a live submitter, a log to read or a silence that ends."""
    for facts, row in _cells():
        if facts.phase is Phase.RUNNING and row.step is Step.WAIT:
            assert (
                facts.ray is Ray.NO_ANSWER
                or facts.submitter is Submitter.ACTIVE
                or (facts.hand is Hand.SIDECAR and facts.submitter is Submitter.NONE)
            ), facts


def test_a_submitters_log_is_read_for_a_while_only() -> None:
    for facts, row in _cells():
        if row.step is Step.READ_SUBMITTER:
            assert facts.submitter is Submitter.UNREAD or (facts.submitter is Submitter.ACTIVE and facts.patient), facts


def test_a_log_is_read_before_the_cluster_goes_and_not_while_the_job_still_writes_it() -> None:
    for facts, row in _cells():
        if row.step is Step.READ_LOG:
            assert facts.patient, facts
            assert facts.phase is Phase.RETRYING or facts.ray not in (Ray.PENDING, Ray.RUNNING, Ray.NO_ANSWER), facts


def test_a_cluster_of_somebody_else_is_never_created_or_waited_away() -> None:
    for facts, row in _cells():
        if facts.selected:
            assert row.step is not Step.CREATE_CLUSTER, facts
            if facts.phase is Phase.SUSPENDING and facts.hand is not Hand.JOB:
                assert row.step is not Step.TEAR_DOWN, facts


def test_suspension_reaches_every_phase_that_can_still_be_suspended() -> None:
    for facts, row in _cells():
        if facts.intent is Intent.SUSPEND and facts.phase in (Phase.INITIALIZING, Phase.WAITING):
            assert row.step is Step.SUSPEND, facts
        if facts.intent is Intent.SUSPEND and facts.phase is Phase.RUNNING and row.step is not Step.SUSPEND:
            assert row.step in (*ENDS, Step.READ_SUBMITTER), facts


_R: Final[dict[str, Any]] = {"phase": Phase.RUNNING, "armed": True}
_S: Final[dict[str, Any]] = {"phase": Phase.SUSPENDING, "intent": Intent.SUSPEND}
CASES: Final[tuple[tuple[Facts, Step], ...]] = (
    (Facts(), Step.START),
    (Facts(intent=Intent.INVALID), Step.REJECT),
    (Facts(intent=Intent.SUSPEND), Step.HOLD),
    (Facts(Phase.VALIDATION_FAILED), Step.START),
    (Facts(Phase.VALIDATION_FAILED, Intent.INVALID), Step.REJECT),
    (Facts(Phase.INITIALIZING), Step.CREATE_CLUSTER),
    (Facts(Phase.INITIALIZING, selected=True), Step.AWAIT_CLUSTER),
    (Facts(Phase.INITIALIZING, Intent.INVALID, selected=True), Step.WAIT),
    (Facts(Phase.WAITING, hand=Hand.USER, selected=True), Step.AWAIT_CLUSTER),
    # An operator died between its record and the status, and the head began anew: the user may not submit again.
    (Facts(Phase.WAITING, cluster=Cluster.READY, ray=Ray.LOST, hand=Hand.USER, armed=True), Step.ARM),
    (Facts(Phase.INITIALIZING, cluster=Cluster.STARTING), Step.WAIT),
    (Facts(Phase.INITIALIZING, cluster=Cluster.READY), Step.WAIT),
    (Facts(Phase.INITIALIZING, cluster=Cluster.READY, ray=Ray.UNKNOWN), Step.ARM),
    (Facts(Phase.INITIALIZING, cluster=Cluster.READY, ray=Ray.SILENT), Step.FAIL_SUBMISSION),
    (Facts(Phase.INITIALIZING, cluster=Cluster.READY, ray=Ray.RUNNING, selected=True), Step.FAIL_SUBMISSION),
    (Facts(Phase.INITIALIZING, cluster=Cluster.READY, ray=Ray.RUNNING, hand=Hand.SIDECAR), Step.ARM),
    (Facts(Phase.INITIALIZING, cluster=Cluster.READY, hand=Hand.USER), Step.AWAIT_USER),
    (Facts(Phase.INITIALIZING, deadline=Deadline.START), Step.FAIL_START),
    (Facts(Phase.WAITING, cluster=Cluster.READY, ray=Ray.UNKNOWN, hand=Hand.USER), Step.WAIT),
    (Facts(Phase.WAITING, cluster=Cluster.READY, ray=Ray.RUNNING, hand=Hand.USER), Step.ARM),
    (Facts(Phase.WAITING, deadline=Deadline.ACTIVE, hand=Hand.USER), Step.FAIL_DEADLINE),
    (Facts(Phase.RUNNING, cluster=Cluster.READY, ray=Ray.UNKNOWN, armed=True), Step.SUBMIT),
    (Facts(Phase.RUNNING, cluster=Cluster.READY, ray=Ray.UNKNOWN, armed=True, hand=Hand.JOB), Step.SEND),
    (Facts(Phase.RUNNING, cluster=Cluster.READY, ray=Ray.RUNNING, armed=True), Step.FOLLOW),
    (Facts(Phase.RUNNING, cluster=Cluster.READY, ray=Ray.LOST, armed=True), Step.FAIL_UNKNOWN),
    (Facts(Phase.RUNNING, cluster=Cluster.READY, ray=Ray.SILENT, armed=True), Step.FAIL_UNKNOWN),
    (Facts(Phase.RUNNING, armed=True), Step.FAIL_UNKNOWN),
    (Facts(Phase.RUNNING, cluster=Cluster.READY, ray=Ray.RUNNING, deadline=Deadline.ACTIVE), Step.FAIL_DEADLINE),
    (
        Facts(
            Phase.RUNNING,
            cluster=Cluster.READY,
            submitter=Submitter.FAILED,
            ray=Ray.UNKNOWN,
            hand=Hand.JOB,
            armed=True,
        ),
        Step.FAIL_SUBMISSION,
    ),
    (
        Facts(Phase.RUNNING, submitter=Submitter.SAID_SUCCEEDED, ray=Ray.LOST, hand=Hand.JOB, armed=True),
        Step.SUCCEED,
    ),
    (
        Facts(
            Phase.RUNNING,
            cluster=Cluster.READY,
            submitter=Submitter.FAILED,
            ray=Ray.RUNNING,
            hand=Hand.JOB,
            armed=True,
        ),
        Step.FOLLOW,
    ),
    (Facts(Phase.SUSPENDING, Intent.SUSPEND, Cluster.READY, ray=Ray.RUNNING), Step.STOP),
    (Facts(Phase.SUSPENDING, Intent.SUSPEND, Cluster.READY, ray=Ray.RUNNING, patient=False), Step.TEAR_DOWN),
    (Facts(Phase.SUSPENDING, Intent.SUSPEND, Cluster.READY, ray=Ray.STOPPED), Step.TEAR_DOWN),
    (Facts(**_S, cluster=Cluster.READY, ray=Ray.STOPPED, armed=True), Step.READ_LOG),
    (Facts(**_S, cluster=Cluster.READY, ray=Ray.STOPPED, armed=True, selected=True), Step.READ_LOG),
    (Facts(**_S, cluster=Cluster.READY, ray=Ray.STOPPED, armed=True, patient=False), Step.TEAR_DOWN),
    (Facts(**_S, cluster=Cluster.READY, armed=True), Step.WAIT),
    (Facts(**_S, cluster=Cluster.READY, armed=True, patient=False), Step.TEAR_DOWN),
    (Facts(Phase.SUSPENDING, Intent.SUSPEND, Cluster.READY, ray=Ray.STOPPED, selected=True), Step.SUSPENDED),
    (Facts(Phase.SUSPENDING, Intent.RUN, Cluster.DELETING), Step.TEAR_DOWN),
    (Facts(Phase.SUSPENDING, Intent.RUN), Step.SUSPENDED),
    (Facts(Phase.SUSPENDED, Intent.SUSPEND, Cluster.STARTING), Step.TEAR_DOWN),
    (Facts(Phase.SUSPENDED), Step.START),
    (Facts(Phase.SUSPENDED, Intent.INVALID), Step.WAIT),
    # It was suspended while its head was silent: the next attempt waits until the job is stopped, or its head gone.
    (Facts(Phase.SUSPENDED, cluster=Cluster.READY, ray=Ray.RUNNING, selected=True, unstopped=True), Step.STOP),
    (Facts(Phase.SUSPENDED, cluster=Cluster.READY, selected=True, unstopped=True), Step.WAIT),
    (Facts(Phase.SUSPENDED, selected=True, unstopped=True), Step.START),
    (Facts(**_S, cluster=Cluster.STARTING, ray=Ray.RUNNING, selected=True), Step.STOP),
    (Facts(Phase.RETRYING, cluster=Cluster.READY), Step.READ_LOG),
    (Facts(Phase.RETRYING, cluster=Cluster.READY, patient=False), Step.TEAR_DOWN),
    (Facts(Phase.RETRYING, patient=False), Step.RETRY),
    (Facts(Phase.RETRYING, Intent.SUSPEND, patient=False), Step.SUSPENDED),
    (Facts(Phase.RETRYING, Intent.INVALID, patient=False), Step.WAIT),
    (Facts(Phase.COMPLETE, Intent.SUSPEND), Step.CLEAN_UP),
    (Facts(**_R, ray=Ray.SUCCEEDED), Step.SUCCEED),
    (Facts(**_S, ray=Ray.SUCCEEDED), Step.SUCCEED),
    (Facts(**_R, ray=Ray.FAILED), Step.FAIL_APP),
    (Facts(**_R, ray=Ray.STOPPED), Step.END_STOPPED),
    (Facts(**_R, ray=Ray.LOST, hand=Hand.JOB, submitter=Submitter.SAID_FAILED), Step.FAIL_APP),
    (Facts(**_R, ray=Ray.LOST, hand=Hand.JOB, submitter=Submitter.SAID_STOPPED), Step.END_STOPPED),
    (Facts(**_R, ray=Ray.LOST, hand=Hand.JOB, submitter=Submitter.UNREAD), Step.READ_SUBMITTER),
    (Facts(**_R, hand=Hand.JOB, submitter=Submitter.ACTIVE), Step.READ_SUBMITTER),
    (Facts(**_R, cluster=Cluster.READY, ray=Ray.LOST, hand=Hand.JOB, submitter=Submitter.ACTIVE), Step.READ_SUBMITTER),
    (
        Facts(**_R, cluster=Cluster.READY, ray=Ray.LOST, hand=Hand.JOB, submitter=Submitter.ACTIVE, patient=False),
        Step.FAIL_UNKNOWN,
    ),
    (Facts(**_R, intent=Intent.SUSPEND, cluster=Cluster.READY, ray=Ray.RUNNING), Step.SUSPEND),
    (Facts(Phase.INITIALIZING, cluster=Cluster.READY, armed=True), Step.ARM),
    (Facts(Phase.WAITING, hand=Hand.USER), Step.CREATE_CLUSTER),
    (Facts(Phase.WAITING, hand=Hand.USER, cluster=Cluster.DELETING), Step.WAIT),
    (Facts(Phase.RUNNING, cluster=Cluster.READY, ray=Ray.RUNNING), Step.ARM),
    (Facts(**_R, cluster=Cluster.READY), Step.WAIT),
    (Facts(**_R, cluster=Cluster.READY, ray=Ray.UNKNOWN, hand=Hand.JOB, submitter=Submitter.ACTIVE), Step.WAIT),
    (Facts(**_R, cluster=Cluster.READY, ray=Ray.UNKNOWN, hand=Hand.USER), Step.FAIL_UNKNOWN),
    (Facts(**_S, cluster=Cluster.READY, ray=Ray.RUNNING, selected=True, patient=False), Step.STOP),
    (Facts(**_S, cluster=Cluster.READY, selected=True), Step.WAIT),
    (Facts(**_S, hand=Hand.JOB, submitter=Submitter.ACTIVE), Step.TEAR_DOWN),
    (Facts(Phase.RETRYING, hand=Hand.JOB, submitter=Submitter.FAILED, patient=False), Step.TEAR_DOWN),
)


@pytest.mark.parametrize(("facts", "step"), CASES, ids=str)
def test_the_cells_that_people_ask_about(facts: Facts, step: Step) -> None:
    assert choose(facts).step is step


def test_every_row_is_named_in_a_case() -> None:
    named = {id(choose(facts)) for facts, _ in CASES}
    assert [row for row in TABLE if id(row) not in named] == []


def test_the_page_of_docs_is_the_table_of_the_code() -> None:
    """After a change: python -m tests.operator.job.test_table."""
    assert rendered() in PAGE.read_text()


DIGESTS: Final = {
    "New": "7be58d13ebfd47a2",
    "Initializing": "fa720107717393db",
    "Waiting": "a988ec43144c9f01",
    "Running": "37992bf66a5e66cc",
    "Complete": "479c173bb75d7a10",
    "Failed": "41f33ae8786502bf",
    "ValidationFailed": "7dc88a27a8343d4c",
    "Suspending": "4ee78c9a7d15b0d9",
    "Suspended": "0961205f4066a3df",
    "Retrying": "0d709bbc4414a8d1",
}
"""Of every cell of a phase: a row that moves changes cells that no case names."""


def _digests() -> dict[str, str]:
    found = {phase.value or "New": hashlib.sha256() for phase in Phase}
    for facts, row in _cells():
        found[facts.phase.value or "New"].update(f"{facts}: {row.step}\n".encode())
    return {phase: digest.hexdigest()[:16] for phase, digest in found.items()}


def test_no_cell_changes_unseen() -> None:
    """After a change that is meant: python -m tests.operator.job.test_table."""
    assert _digests() == DIGESTS


if __name__ == "__main__":
    print(_digests())
    head, _, _ = PAGE.read_text().partition("| phase |")
    PAGE.write_text(head + rendered())
