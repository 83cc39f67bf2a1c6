"""How far a cluster has come: what must grow to count as progress."""

from __future__ import annotations

import re
from typing import Final

from rayward.operator.service.member import NOT_STARTED, RUNNING, Member

SUSPENDED: Final = "suspended"
_FORM: Final = re.compile(r"head=(\d+) pods=(\d+) endpoints=(\d+) (\S*) (.*)")


def progress_of(member: Member) -> str:
    """How far the cluster is beyond what it remembers; the same text where it is no further.

    A pod that comes and goes, or an application that recovers and falls ill again, is progress once and not each time:
    else what fails in a circle would never be late.
    """
    return _further(member.progress, _now(member))


def first_progress(*, suspended: bool) -> str:
    """The progress of a cluster that was just made."""
    return _now(Member("", "", "", suspended=suspended))


def _now(member: Member) -> str:
    if member.suspended:
        return SUSPENDED
    apps = member.serve.applications if member.serve else ()
    states = ",".join(f"{app.name}={app.status}" for app in sorted(apps, key=lambda app: app.name))
    config = member.serve.config if member.serve else ""
    return f"head={int(member.head_ready)} pods={member.ready_pods} endpoints={member.endpoints} {config} {states}"


def _further(before: str, now: str) -> str:
    was, found = _FORM.fullmatch(before), _FORM.fullmatch(now)
    if was is None or found is None:
        return now
    if was[4] and found[4] and was[4] != found[4]:
        # Another config begins anew.
        return now
    head, pods, endpoints = (max(int(was[place]), int(found[place])) for place in (1, 2, 3))
    states = _states(found[5])
    for name, state in _states(was[5]).items():
        states[name] = max((state, states.get(name, state)), key=_rank)
    told = ",".join(f"{name}={state}" for name, state in sorted(states.items()))
    return f"head={head} pods={pods} endpoints={endpoints} {found[4] or was[4]} {told}"


def _rank(state: str) -> int:
    """Of states of one rank the one that is remembered stays."""
    return {NOT_STARTED: 0, RUNNING: 2}.get(state, 1)


def _states(text: str) -> dict[str, str]:
    return dict(part.rsplit("=", 1) for part in text.split(",") if "=" in part)
