"""Waiting for a write to come true, and going back where it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rayward.changes import following, history, waiting, writing
from rayward.changes.outcomes import ChangeError, Conflict, NotFound, RolledBack, RolloutFailed
from rayward.changes.refs import Ref, ref_of
from rayward.changes.revisions import Undo
from rayward.changes.steps import Now, Operation
from rayward.changes.waiting import Tell, Waited
from rayward.changes.writing import Written
from rayward.kube.machinery.jsonvalue import Object

OnFailure = Literal["rollback", "hold"]


@dataclass(frozen=True, slots=True)
class Settling:
    """How long a write is waited for, and what is done where it fails; as whom."""

    timeout: float = 600.0
    on_failure: OnFailure | None = None
    manager: str = writing.MANAGER
    user: str = ""


def wait_recorded(
    ref: Ref, generation: int | None, timeout: float, tell: Tell | None, asked: Object | None = None
) -> Operation[Waited]:
    """``waiting.wait``, and a note on the revision of how it ended."""
    waited = yield from waiting.wait(ref, generation, timeout=timeout, tell=tell, asked=asked)
    yield from history.record_outcome(ref, waited.object, waited.verdict.reason, waited.seconds)
    return waited


def settle(written: Written, how: Settling, namespace: str, tell: Tell | None = None) -> Operation[Waited]:
    """Wait for a write; where it fails and that is asked for, go back and wait until that is true.

    Raises:
        RolledBack: It failed, and the object is again what an earlier revision asks for.
        RolloutFailed: It failed, and was left so, or going back did not come true either.
        JobFailed, QuotaBlocked, WaitTimeout, Conflict, NotFound: As of ``waiting.wait``.
    """
    ref = ref_of(written.object, namespace)
    goes_back = (how.on_failure or ("rollback" if ref.kind == "RayService" else "hold")) == "rollback"
    try:
        waited = yield from _wait_after_write(ref, written.object, how, tell)
    except RolloutFailed as error:
        yield from history.record_outcome(ref, written.object, error.verdict, error.seconds, failed=True)
        if not goes_back or written.before is None:
            raise
        back = yield from _go_back(ref, written.before, error.generation, how, tell, error)
        raise RolledBack(f"{error.what}; {back}", error.why, f"rayward history {ref}", object=str(ref)) from error
    return waited


def _wait_after_write(ref: Ref, asked: Object, how: Settling, tell: Tell | None) -> Operation[Waited]:
    """Wait on a server that took the write a moment ago: one that does not answer at first is away for a while."""
    until = yield from _until(how)
    generation = int(asked["metadata"]["generation"])
    return (yield from following.patiently(lambda: wait_recorded(ref, generation, how.timeout, tell, asked), until))


def _until(how: Settling) -> Operation[float | None]:
    now: float = yield Now()
    return now + how.timeout if how.timeout else None


def _go_back(
    ref: Ref, before: Object, generation: int, how: Settling, tell: Tell | None, error: RolloutFailed
) -> Operation[str]:
    """Undo a generation that failed, and wait for what is there then; what was done, in words."""

    def undoing() -> Operation[tuple[Undo, Written]]:
        return history.undo(ref, manager=how.manager, user=how.user, override_gitops=True, generation=generation)

    until = yield from _until(how)
    yield from following.patiently(lambda: history.record(ref, before), until)
    try:
        undo, written = yield from following.patiently(undoing, until)
    except Conflict as newer:
        newer.why = f"{error.what}\n{newer.why}"
        raise
    except NotFound as none:
        # what was there before had failed too: there is nothing that it could go back to
        error.why = "\n".join(part for part in (error.why, f"not rolled back: {none.what}") if part)
        raise error from none
    done = f"rolled back to revision {undo.to.revision}"
    try:
        yield from _wait_after_write(ref, written.object, how, tell)
    except Conflict as newer:
        newer.why = f"{error.what}; {done}\n{newer.why}"
        raise
    except ChangeError as worse:
        error.what = f"{error.what}; {done}, which is not ready either"
        error.why = "\n".join(part for part in (error.why, worse.what, worse.why) if part)
        error.following = worse.following
        raise error from worse
    return done
