"""What to do for a service now."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import datetime

from rayward.operator.service import healing, inplace, retirement, upgrade
from rayward.operator.service.healing import Healing
from rayward.operator.service.member import Member
from rayward.operator.service.roles import Roles, assign, is_successor
from rayward.operator.service.situation import ABORTED, Decision, Failure, Note, Release, Situation


def decide(situation: Situation, now: datetime) -> Decision:
    """One step towards the goal; the same situation at the same time always gives the same answer."""
    roles = assign(situation)
    if _aborts(situation, roles) and roles.target is not None:
        failure = Failure(ABORTED, f"the upgrade to RayCluster {roles.target.name} was aborted")
        situation = dataclasses.replace(situation, failure=failure)
        roles = assign(situation)
    heal, drifted = healing.NOTHING, roles.drifted
    if roles.active is not None and roles.target is roles.active and not _gets_another_config(situation, roles):
        heal = healing.decide(roles.active, situation.rules, now, underway=_has_successor(roles, roles.active))
        if heal.replace and not _is_aborted(situation):
            # A replacement is of the release that serves, whatever the spec asks for by now.
            own = Release(roles.active.cluster_hash, roles.active.config)
            roles = assign(dataclasses.replace(situation, goal=own), replace_active=True)
    change = _change(situation, roles, heal, now)
    left = retirement.decide(roles.others, situation.rules, now)
    # What was due before now has been acted upon, or waits for something else than time.
    looks = [look for look in (change.next_look, left.next_look, heal.next_look) if look is not None and look >= now]
    return dataclasses.replace(
        change,
        notes=_joined((*change.notes, *([heal.note] if heal.note else ()), *left.notes)),
        delete=(*change.delete, *left.delete),
        drifted=drifted,
        exhausted=heal.exhausted,
        next_look=min(looks, default=None),
    )


def _change(situation: Situation, roles: Roles, heal: Healing, now: datetime) -> Decision:
    if roles.goal is None:
        return Decision(active=roles.active)
    if roles.target is None:
        blocked = situation.failure is not None and not heal.replace
        return Decision(
            active=roles.active,
            create=None if blocked else roles.goal,
            heals=heal.heals if heal.replace else 0,
            failure=situation.failure,
        )
    if roles.target is roles.active:
        return inplace.decide(roles.target, roles.goal, situation.rules, situation.failure, heal, now)
    step = upgrade.decide(roles.target, roles.active, roles.goal, situation.rules, now)
    if heal.replace and roles.active is not None and step.failure is not None:
        # A replacement that does not come up is a remedy that did not help, and no failure of what the spec asks for.
        tried = Note(roles.active.name, heals=heal.heals, unhealthy_since=now)
        return dataclasses.replace(step, notes=(*step.notes, tried), failure=situation.failure)
    if roles.active is not None:
        step = dataclasses.replace(step, notes=(*step.notes, *inplace.settle(roles.active)))
    if step.failure is None and not step.switch_to:
        return dataclasses.replace(step, failure=situation.failure)
    return step


def _aborts(situation: Situation, roles: Roles) -> bool:
    """Whether the user gave up a cluster that is on its way, while another one serves."""
    on_its_way = roles.target is not None and roles.active is not None and roles.target is not roles.active
    return on_its_way and roles.target is not None and situation.rules.abort in {"true", roles.target.name}


def _gets_another_config(situation: Situation, roles: Roles) -> bool:
    """Another config is another patient: what ailed the former one is forgotten."""
    another = roles.goal is not None and roles.active is not None and roles.active.config != roles.goal.config
    return another and situation.failure is None


def _is_aborted(situation: Situation) -> bool:
    return situation.failure is not None and situation.failure.reason == ABORTED


def _has_successor(roles: Roles, active: Member) -> bool:
    return any(is_successor(member, active) and member.cluster_hash == active.cluster_hash for member in roles.others)


def _joined(notes: Iterable[Note]) -> tuple[Note, ...]:
    """One note per member."""
    joined: dict[str, Note] = {}
    for note in notes:
        before = joined.get(note.member)
        if before is None:
            joined[note.member] = note
            continue
        said = {
            f.name: value for f in dataclasses.fields(note) if (value := getattr(note, f.name)) not in (None, False)
        }
        joined[note.member] = dataclasses.replace(before, **said)
    return tuple(joined.values())
