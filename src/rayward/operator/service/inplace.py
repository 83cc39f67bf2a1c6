"""The cluster that serves: send it its config, and take a bad one back."""

from __future__ import annotations

from datetime import datetime

from rayward.operator.service.healing import Healing
from rayward.operator.service.member import Member
from rayward.operator.service.progress import progress_of
from rayward.operator.service.situation import Decision, Failure, Note, Release, Rules
from rayward.operator.service.verdict import Stage, judge, not_sent, overdue


def decide(
    active: Member, goal: Release, rules: Rules, failure: Failure | None, heal: Healing, now: datetime
) -> Decision:
    """The next step of the active cluster, when the goal asks for no other."""
    if active.config != goal.config and failure is None:
        # Another config is another patient: it has a right to every remedy.
        fresh = 0 if active.heals else None
        well = active.unhealthy_since is not None
        note = Note(active.name, config=goal.config, progress=progress_of(active), heals=fresh, healthy=well)
        return Decision(active=active, notes=(note,), verdict=not_sent(active))
    verdict = judge(active)
    notes: list[Note] = []
    next_look = None
    if active.delete_at is not None:
        notes.append(Note(active.name, keep=True))
    if active.config != active.good_config:
        moved = progress_of(active) != active.progress
        if verdict.stage is Stage.READY:
            notes.append(Note(active.name, good_config=active.config))
        elif failure is not None and active.good_config and active.config == goal.config:
            # Told, and not acted upon: whoever told it is gone.
            notes.append(Note(active.name, config=active.good_config))
        elif (ended := _ended(active, rules, now, moved=moved)) is not None:
            # An earlier edit brought this config, and a later one has failed by now: that failure stays told.
            failure = failure or ended
            if active.good_config:
                notes.append(Note(active.name, config=active.good_config))
        elif moved:
            notes.append(Note(active.name, progress=progress_of(active)))
        if active.progressed_at is not None:
            next_look = active.progressed_at + rules.progress_deadline
    return Decision(
        active=active,
        notes=tuple(notes),
        redeploy=active.name if heal.redeploy else "",
        failure=failure,
        verdict=verdict,
        next_look=next_look,
    )


def settle(active: Member) -> tuple[Note, ...]:
    """What becomes of a config that the active cluster got before another cluster was asked for."""
    if active.config == active.good_config or not active.good_config:
        return ()
    stage = judge(active).stage
    if stage is Stage.READY:
        return (Note(active.name, good_config=active.config),)
    return (Note(active.name, config=active.good_config),) if stage is Stage.FAILED else ()


def _ended(active: Member, rules: Rules, now: datetime, *, moved: bool) -> Failure | None:
    verdict = judge(active)
    message = f"{verdict.message}; the config that ran before is back" if active.good_config else verdict.message
    if verdict.stage is Stage.FAILED:
        return Failure(verdict.reason, message)
    if not moved and overdue(active, rules.progress_deadline, now):
        return Failure("ProgressDeadlineExceeded", message)
    return None
