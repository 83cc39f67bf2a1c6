"""Waiting until a generation has come true, by one watch.

A server that is away for a while is asked again for as long as somebody waits. What no event tells under KubeRay's
operator is asked for in growing pauses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rayward.changes import following, serving
from rayward.changes.following import Seen
from rayward.changes.judging import DEPLOY_FAILED, OLDER_PODS, PODS_LAG, UNREAD, State, Verdict, judge, patience
from rayward.changes.outcomes import (
    ChangeError,
    Conflict,
    JobFailed,
    NotFound,
    QuotaBlocked,
    RolloutFailed,
    WaitTimeout,
)
from rayward.changes.refs import Ref
from rayward.changes.revisions import OWNER, Revision, read_revisions
from rayward.changes.steps import Now, Operation, Pause, Send
from rayward.kinds import labels
from rayward.kinds.effects.differences import differences, same_meaning
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import errors, verbs
from rayward.kube.core.resource import CONTROLLER_REVISIONS, PODS
from rayward.kube.machinery.jsonvalue import Object, entries, section

Tell = Callable[[Verdict], None]

_LONGEST_WATCH: Final = 300
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 10.0
_STALE_QUOTA: Final = 10.0
"""Who waits may have raised the quota just now: so long the status may still be of the one before."""
_UNWATCHED: Final = frozenset({serving.UNDEPLOYED, OLDER_PODS, PODS_LAG})
"""What no change of the object tells under KubeRay's operator: Ray or the pods are asked again."""


@dataclass(frozen=True, slots=True)
class Waited:
    """How a generation ended.

    Attributes:
        object: The object as it was then.
        verdict: Why it is done.
        seconds: How long it took.
    """

    object: Object
    verdict: Verdict
    seconds: float


def wait(
    ref: Ref,
    generation: int | None = None,
    *,
    timeout: float = 600.0,
    tell: Tell | None = None,
    asked: Object | None = None,
) -> Operation[Waited]:
    """Wait until a generation is true; nothing is changed, whatever happens.

    Args:
        ref: The object.
        generation: Which one; the live one where it is not given.
        timeout: Seconds; 0 waits for ever.
        tell: Called with each new state, never twice with the same.
        asked: The object of that generation; a later one whose spec means the same is waited for in its place.

    Raises:
        RolloutFailed, JobFailed: It will not come true by itself.
        QuotaBlocked: It waits for quota that the queue never has.
        Conflict: Another generation was asked for meanwhile.
        WaitTimeout: It has not come true in time, and goes on.
        NotFound: The object is gone.
    """
    began: float = yield Now()
    until = began + timeout if timeout else None
    told: Verdict | None = None
    lasted: dict[str, tuple[float, float]] = {}
    pause, stale_until = _FIRST_PAUSE, began
    seen = yield from following.read(ref)
    wanted = generation if generation is not None else _generation(seen.live)
    while True:
        live = seen.live
        wanted = _written_back(asked, live, wanted)
        asked = live if _generation(live) == wanted else asked
        verdict = yield from following.patiently(partial(_judged, ref, live, wanted), until)
        if verdict != told and tell is not None:
            tell(verdict)
        now: float = yield Now()
        elapsed = now - began
        if verdict.state is State.APPLIED:
            return Waited(live, verdict, elapsed)
        borne = _borne(verdict, told, lasted, now)
        if told is None and verdict.state is State.BLOCKED:
            stale_until = now + _STALE_QUOTA if until is None else min(now + _STALE_QUOTA, until)
        told = verdict
        if borne <= 0:
            verdict = dataclasses.replace(verdict, state=State.FAILED)
        if verdict.state is State.BLOCKED and now < stale_until:
            borne = stale_until - now
        elif verdict.state is not State.PROGRESSING:
            raise _ended(ref, verdict, wanted, elapsed)
        left = min(float(_LONGEST_WATCH) if until is None else until - now, borne)
        if left <= 0:
            raise _late(ref, verdict, timeout)
        if verdict.reason in _UNWATCHED:
            yield Pause(min(pause, left))
            pause = min(pause * 2, _LONGEST_PAUSE)
            seen = yield from following.patiently(lambda: following.read(ref), until)
        else:
            pause = _FIRST_PAUSE
            seen = yield from _next(ref, seen, min(left, _LONGEST_WATCH), until)


def _generation(obj: Object) -> int:
    return int(section(obj, "metadata").get("generation") or 0)


def _written_back(asked: Object | None, live: Object, generation: int) -> int:
    """The generation of a spec that its operator has written back as it reads it: KubeRay's adds empty fields."""
    if asked is None or _generation(live) <= generation:
        return generation
    changed = differences(section(asked, "spec"), section(live, "spec"))
    return _generation(live) if all(same_meaning(one.old, one.new) for one in changed) else generation


def _borne(verdict: Verdict, before: Verdict | None, lasted: dict[str, tuple[float, float]], now: float) -> float:
    """How long a cause is borne with from now on; ``lasted`` keeps from when until when each one did.

    It is one pod's or application's: another that has the same later has its own time. One that comes back soon has
    lasted, as a container that crashes runs in between; an application that Ray has begun anew begins anew.
    """
    if before is not None and (known := lasted.get(_cause(before))):
        lasted[_cause(before)] = (known[0], now)
    seconds = patience(verdict)
    if seconds is None:
        return float(_LONGEST_WATCH)
    since, until = lasted.get(_cause(verdict), (now, now))
    if now - until > (0.0 if verdict.reason == DEPLOY_FAILED else seconds):
        since = now
    lasted[_cause(verdict)] = (since, now)
    return since + seconds - now


def _cause(verdict: Verdict) -> str:
    return f"{verdict.reason} {verdict.message.partition(':')[0]}"


def _next(ref: Ref, seen: Seen, seconds: float, until: float | None) -> Operation[Seen]:
    found = yield from following.after(ref, seen, seconds, until)
    if found is None:
        raise NotFound(f"{ref} was deleted during the wait", "", f"rayward get {ref}", object=str(ref))
    return found


def _judged(ref: Ref, live: Object, generation: int) -> Operation[Verdict]:
    """The verdict; where KubeRay's operator acts, with what its status does not say."""
    verdict = judge(ref.kind, live, generation)
    if verdict.reason != UNREAD:
        return verdict
    if ref.kind == "RayCluster":
        try:
            pods: Object = yield Send(verbs.list_(PODS, ref.namespace, label_selector=f"{labels.CLUSTER}={ref.name}"))
        except errors.Forbidden as error:
            return _unread(live, generation, verdict, error)
        verdict = judge(ref.kind, live, generation, pods=entries(pods, "items"))
        if verdict.reason != OLDER_PODS:
            return verdict
        known = yield from _revisions(live, ref.namespace)
        return judge(ref.kind, live, generation, pods=entries(pods, "items"), revisions=known)
    running = yield from _running(ref, live)
    verdict = judge(ref.kind, live, generation, running)
    if verdict.state is State.APPLIED:
        verdict = yield from serving.confirm(ref, live, verdict)
    return verdict


def _revisions(live: Object, namespace: str) -> Operation[tuple[Revision, ...]]:
    """What was asked for before; who may not read it does without."""
    selector = f"{OWNER}={section(live, 'metadata').get('uid')}"
    try:
        found: Object = yield Send(verbs.list_(CONTROLLER_REVISIONS, namespace, label_selector=selector))
    except errors.Forbidden:
        return ()
    return read_revisions(entries(found, "items"))


def _unread(live: Object, generation: int, verdict: Verdict, error: errors.Forbidden) -> Verdict:
    """Who may not see the pods gets what the status says, if it is of this generation, and is told so."""
    seen = int(section(live, "status").get("observedGeneration") or 0) >= generation
    message = f"{verdict.message} (pods were not read: {error})"
    return Verdict(State.APPLIED, "Ready", message) if seen else Verdict(State.PROGRESSING, UNREAD, message)


def _running(ref: Ref, live: Object) -> Operation[Object | None]:
    """The spec of the cluster that serves."""
    active: Any = section(section(live, "status"), "activeServiceStatus").get("rayClusterName")
    if not active:
        return None
    try:
        cluster: Object = yield Send(verbs.get(RAY_CLUSTERS, str(active), ref.namespace))
    except errors.NotFound:
        return None
    return section(cluster, "spec")


def _ended(ref: Ref, verdict: Verdict, generation: int, seconds: float) -> ChangeError:
    if verdict.state is State.SUPERSEDED:
        what = f"generation {generation} of {ref} was superseded"
        return Conflict(what, verdict.message, f"rayward history {ref}", object=str(ref))
    if verdict.state is State.BLOCKED:
        what = f"generation {generation} of {ref} is blocked by quota; the previous revision keeps running"
        return QuotaBlocked(
            what, verdict.message, f"rayward quota   # or give the change up: rayward undo {ref}", object=str(ref)
        )
    kind = JobFailed if ref.kind == "RayJob" else RolloutFailed
    what = f"generation {generation} of {ref} failed: {verdict.reason}"
    then = f"rayward describe {ref}" if ref.kind == "RayJob" else f"rayward undo {ref}   # or correct it and apply"
    if verdict.reason == OLDER_PODS:
        then = f"rayward apply -f FILE --strategy recreate   # replaces every pod; or: rayward undo {ref}"
    failed = kind(what, verdict.message, then, object=str(ref))
    failed.verdict, failed.seconds, failed.generation = verdict.reason, seconds, generation
    return failed


def _late(ref: Ref, verdict: Verdict, timeout: float) -> WaitTimeout:
    what = f"{ref} does not match its spec yet after {timeout:g} s; the change goes on, and nothing was rolled back"
    return WaitTimeout(what, str(verdict), f"rayward wait {ref}", object=str(ref))
