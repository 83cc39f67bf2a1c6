"""A cluster on its way to serve: send it its config, wait for it, give it the traffic or give it up."""

from __future__ import annotations

from datetime import datetime

from rayward.operator.service.member import Member
from rayward.operator.service.progress import progress_of
from rayward.operator.service.situation import Decision, Failure, Note, Release, Rules
from rayward.operator.service.verdict import Stage, Verdict, judge, not_sent, overdue


def decide(target: Member, active: Member | None, goal: Release, rules: Rules, now: datetime) -> Decision:
    """The next step of ``target``, which does not serve yet."""
    if target.config != goal.config:
        note = Note(target.name, config=goal.config, keep=target.delete_at is not None)
        return Decision(active=active, pending=target, notes=(note,), verdict=not_sent(target))
    verdict = judge(target)
    # One that is taken back begins anew.
    moved = progress_of(target) != target.progress or target.delete_at is not None
    if verdict.stage is Stage.READY and not _held(target, rules):
        note = Note(target.name, promoted=True, good_config=target.config, keep=target.delete_at is not None)
        return Decision(active=active, pending=target, notes=(note,), switch_to=target.name, verdict=verdict)
    failure = _failure(target, active, verdict, rules, now, moved=moved)
    if failure is not None and (active is not None or failure.reason == "InitializingTimeout"):
        return _given_up(target, active, failure, rules, verdict, now)
    if verdict.stage is Stage.READY:
        verdict = Verdict(Stage.WAITING, "Paused", f"{verdict.message}; the switch is paused by rayward.dev/pause")
    keep = target.delete_at is not None
    notes = (Note(target.name, progress=progress_of(target), keep=keep),) if moved or keep else ()
    return Decision(
        active=active,
        pending=target,
        notes=notes,
        failure=failure,
        verdict=verdict,
        next_look=_next_look(target, active, rules),
    )


def _held(target: Member, rules: Rules) -> bool:
    return rules.paused and rules.promote not in {"true", target.name}


def _failure(
    target: Member, active: Member | None, verdict: Verdict, rules: Rules, now: datetime, *, moved: bool
) -> Failure | None:
    if verdict.stage is Stage.FAILED:
        return Failure(verdict.reason, verdict.message)
    timeout = rules.initializing_timeout if active is None else None
    if timeout and target.released and now - target.released >= timeout:
        return Failure("InitializingTimeout", f"not ready within {int(timeout.total_seconds())} s: {verdict.message}")
    if not moved and verdict.stage is Stage.WAITING and overdue(target, rules.progress_deadline, now):
        since = target.progressed_at or target.created
        return Failure("ProgressDeadlineExceeded", f"no progress since {since}: {verdict.message}")
    return None


def _given_up(
    target: Member, active: Member | None, failure: Failure, rules: Rules, verdict: Verdict, now: datetime
) -> Decision:
    if target.promoted:
        note = Note(target.name, delete_at=now + rules.deletion_delay)
        return Decision(active=active, notes=(note,), failure=failure, verdict=verdict)
    return Decision(active=active, delete=(target.name,), failure=failure, verdict=verdict)


def _next_look(target: Member, active: Member | None, rules: Rules) -> datetime | None:
    looks: list[datetime] = []
    since = target.progressed_at or target.created
    if since is not None and not target.suspended:
        looks.append(since + rules.progress_deadline)
    if active is None and rules.initializing_timeout and target.released:
        looks.append(target.released + rules.initializing_timeout)
    return min(looks, default=None)
