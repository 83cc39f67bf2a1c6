from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds import labels
from rayward.kinds.canonical import Reading
from rayward.kinds.rayjob import RayJob
from rayward.operator.job import annotations as memory
from rayward.operator.job.annotations import Attempt
from tests.operator.job.world import job


def _edited(**spec: object) -> RayJob:
    made = job()
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, **spec))


def test_an_attempt_is_read_as_it_was_written() -> None:
    attempt = Attempt(2, "j", "c", session="s", **memory.frozen(job().spec))
    assert memory.read({labels.ATTEMPT: memory.written(attempt)}) == attempt


def test_a_large_spec_is_packed() -> None:
    large = _edited(entrypoint="x" * 100_000)
    attempt = Attempt(1, **memory.frozen(large.spec))
    assert len(memory.written(attempt)) < 4096
    assert memory.remembered(attempt).entrypoint == large.spec.entrypoint


@pytest.mark.parametrize("text", ["", "{", "[]", '{"number": "x"}', '{"number": 1, "spec": "z:!!"}'])
def test_what_nobody_can_read_is_no_attempt(text: str) -> None:
    assert memory.read({labels.ATTEMPT: text}) is None


def test_what_an_edit_changes_at_once_and_what_waits() -> None:
    attempt = Attempt(1, **memory.frozen(job().spec))
    edited = _edited(entrypoint="other", active_deadline_seconds=5, backoff_limit=3)
    assert memory.ignored(attempt, edited.spec) == ("spec.entrypoint",)
    force = memory.in_force(attempt, edited)
    assert (force.entrypoint, force.active_deadline_seconds, force.backoff_limit) == ("run", 5, 3)


@pytest.mark.parametrize("version", ["v3", None])
def test_an_attempt_that_an_older_rayward_began_is_of_the_same_spec(version: Reading | None) -> None:
    accounts = {"serviceAccountName": "a", "serviceAccount": "a", "containers": []}
    spec = _edited(submitter_pod_template={"spec": accounts}).spec
    attempt = Attempt(1, spec=memory.frozen(spec)["spec"], digests=memory.digests(spec, version=version))
    assert attempt.digests != memory.digests(spec)
    assert memory.ignored(attempt, spec) == ()
    other = msgspec.structs.replace(spec, entrypoint="other")
    assert memory.ignored(attempt, other) == ("spec.entrypoint",)


def test_the_job_of_a_user_is_named_while_the_attempt_waits() -> None:
    waiting = _edited(submission_mode="InteractiveMode")
    attempt = Attempt(1, **memory.frozen(waiting.spec))
    named = msgspec.structs.replace(waiting.spec, job_id="mine")
    assert memory.ignored(attempt, named) == ()


@given(st.text(max_size=200))
def test_any_annotation_is_read_or_passed_over(text: str) -> None:
    memory.read({labels.ATTEMPT: text})
