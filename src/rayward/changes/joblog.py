"""The log of a RayJob, wherever it is now: with the driver on a live cluster, or as the end that the RayJob keeps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

import orjson

from rayward.changes import writing
from rayward.changes.judging import State, judge_end
from rayward.changes.outcomes import JobFailed, NotFound
from rayward.changes.raydashboard import RayDashboard, dashboard_of
from rayward.changes.refs import Ref
from rayward.changes.steps import NextPart, Operation, Pause, Send
from rayward.changes.waiting import Waited
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import errors, verbs
from rayward.kube.client.errors import ApiError
from rayward.kube.client.paths import object_path
from rayward.kube.client.request import Request
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import NetworkError

Write = Callable[[bytes], None]
Tell = Callable[[str], None]
_Key = tuple[str, str]

_POLL: Final = 1.0
_REMEMBERED: Final = 64 * 1024
_ENDED: Final = frozenset(("SUCCEEDED", "FAILED", "STOPPED"))
_OVER: Final = frozenset(("Complete", "Failed", "ValidationFailed"))
_LOG_PATIENCE: Final = 30
"""How many polls an ended job's log may take to appear: the operator reads it before it deletes the cluster."""


@dataclass(slots=True)
class _Printed:
    """What was written of one attempt's log."""

    count: int = 0
    end: bytes = b""
    whole: bool = False
    """Whether it was written to its very end."""
    skip: int = field(default=0)
    """How many bytes of the present stream were written before it began."""

    def take(self, part: bytes) -> bytes:
        """What of a part is new."""
        new = part[self.skip :]
        self.skip = max(self.skip - len(part), 0)
        self.count += len(new)
        self.end = (self.end + new)[-_REMEMBERED:]
        return new


def follow(ref: Ref, write: Write, tell: Tell | None = None) -> Operation[Waited]:
    """Write the log of every attempt as it grows, until the job has ended.

    Args:
        ref: The RayJob.
        write: Takes the log in parts.
        tell: Called with what the job waits for, never twice in a row with the same.

    Raises:
        JobFailed: It failed, was stopped, or will never start.
        NotFound: It is not there any more.
    """
    printed: dict[_Key, _Printed] = {}
    told, patience, may_read = "", _LOG_PATIENCE, True
    while True:
        live = yield from writing.read(ref)
        status = section(live, "status")
        phase, job_id = str(status.get("jobDeploymentStatus") or ""), str(status.get("jobId") or "")
        for row in rows_of(live):
            _write_kept(row, printed, write)
        over = phase in _OVER
        now = "" if over else (yield from _waits_for(ref, live))
        if now and now != told and tell is not None:
            tell(now)
        told = now or told
        mine = printed.setdefault(_key(status), _Printed())
        if job_id and (status.get("jobStatus") or over) and not mine.whole and may_read:
            try:
                yield from _stream(ref, str(status.get("rayClusterName") or ""), job_id, mine, write)
            except errors.Forbidden as error:
                may_read = False
                if tell is not None:
                    tell(f"the log of {ref} is shown after it ends: {error.message}")
        if over:
            patience -= 1
            if mine.whole or not job_id or patience <= 0 or not (yield from _has_cluster(ref, live)):
                # what the operator kept meanwhile
                live = yield from writing.read(ref)
                for row in rows_of(live):
                    _write_kept(row, printed, write)
                return _end(ref, live)
        yield Pause(_POLL)


def show(ref: Ref, write: Write) -> Operation[None]:
    """Write what there is of the latest attempt's log: on its cluster, with the RayJob, or of its submitter.

    Raises:
        NotFound: There is none.
    """
    live = yield from writing.read(ref)
    status = section(live, "status")
    job_id, cluster = str(status.get("jobId") or ""), str(status.get("rayClusterName") or "")
    mine = _Printed()
    if job_id and cluster:
        yield from _stream(ref, cluster, job_id, mine, write, once=True)
    if mine.count:
        return
    rows = [row for row in rows_of(live) if row.get("logTail")]
    if not rows and (yield from _submitters(ref, write)):
        return
    if not rows:
        phase = str(status.get("jobDeploymentStatus") or "New")
        following = f"rayward logs {ref} -f   # waits for it"
        raise NotFound(f"{ref} has no log", f"it is {phase}, and nothing was kept", following, object=str(ref))
    write(_line(str(rows[-1]["logTail"]).encode()))


def _submitters(ref: Ref, write: Write) -> Operation[bool]:
    """Write what the pods of the submitter say, the latest last; whether they say anything."""
    said = False
    try:
        found: Object = yield Send(verbs.list_(PODS, ref.namespace, label_selector=f"job-name={ref.name}"))
    except (ApiError, NetworkError):
        return said
    for pod in sorted(entries(found, "items"), key=lambda pod: str(pod["metadata"].get("creationTimestamp"))):
        target = object_path(PODS, ref.namespace, pod["metadata"]["name"], "log")
        query = urlencode({"container": pod["spec"]["containers"][0]["name"]})
        request = Request("GET", f"{target}?{query}", accept="*/*", seconds=60.0)
        # one that is gone, or never began, says nothing
        with suppress(ApiError, NetworkError):
            while (part := (yield NextPart(request, _POLL))) is not None:
                said = said or bool(part)
                write(part)
    return said


def rows_of(job: Object) -> list[Object]:
    """The attempts of a RayJob that ended, the oldest first; where KubeRay's definition is installed, an annotation."""
    rows = _kept(job, "attempts", labels.ATTEMPTS)
    return sorted(rows, key=lambda row: int(row.get("number") or 0))


def conditions_of(job: Object) -> list[Object]:
    """The conditions of a RayJob; where KubeRay's definition is installed, an annotation."""
    return _kept(job, "conditions", labels.CONDITIONS)


def _kept(job: Object, name: str, annotation: str) -> list[Object]:
    found = entries(section(job, "status"), name)
    text = section(section(job, "metadata"), "annotations").get(annotation)
    if not found and isinstance(text, str):
        try:
            return entries({"kept": orjson.loads(text)}, "kept")
        except orjson.JSONDecodeError:
            return []
    return found


def remainder(written: bytes, tail: bytes) -> bytes:
    """What of the end of a log is not written yet; all of it where the two do not meet."""
    if tail in written:
        return b""
    for size in range(min(len(tail), len(written)), 0, -1):
        if written.endswith(tail[:size]):
            return tail[size:]
    return tail


def _key(attempt: Object) -> _Key:
    """What tells attempts apart: each has a cluster of its own, or an id that its cluster never had."""
    return str(attempt.get("rayClusterName") or ""), str(attempt.get("jobId") or "")


def _write_kept(row: Object, printed: dict[_Key, _Printed], write: Write) -> None:
    tail = str(row.get("logTail") or "").encode()
    mine = printed.setdefault(_key(row), _Printed())
    if mine.whole or not tail:
        return
    rest = remainder(mine.end, tail)
    if rest:
        write(_line(rest))
    mine.whole = True


def _stream(
    ref: Ref, cluster: str, job_id: str, mine: _Printed, write: Write, *, once: bool = False
) -> Operation[None]:
    """Write what the driver says until it has ended, or its cluster does not answer."""
    try:
        dashboard = (yield from dashboard_of(ref.namespace, cluster)) if cluster else None
        if dashboard is None:
            return
        info: Object = yield Send(dashboard.job(job_id))
        node = str(info.get("driver_node_id") or "")
        if not node:
            return
        if not once and str(info.get("status")) not in _ENDED:
            ended = yield from _grow(dashboard, job_id, node, mine, write)
            if not ended:
                # the stream ended before its driver: whoever called opens another one
                return
        # read anew to the end that it has now: nothing is added to the log of a driver that has ended
        yield from _rest(dashboard, job_id, node, mine, write)
        mine.whole = not once
    except errors.Forbidden:
        raise
    except (ApiError, NetworkError, orjson.JSONDecodeError):
        # the head is not there yet or not any more: whoever called looks at the RayJob again
        return


def _grow(dashboard: RayDashboard, job_id: str, node: str, mine: _Printed, write: Write) -> Operation[bool]:
    """Write the log as it grows; whether the driver has ended, and not just the stream."""
    mine.skip = mine.count
    request = dashboard.log(job_id, node, follow=True)
    while True:
        part: bytes | None = yield NextPart(request, _POLL)
        if part:
            write(mine.take(part))
            continue
        info: Object = yield Send(dashboard.job(job_id))
        ended = str(info.get("status")) in _ENDED
        if part is None or ended:
            return ended


def _rest(dashboard: RayDashboard, job_id: str, node: str, mine: _Printed, write: Write) -> Operation[None]:
    mine.skip = mine.count
    request = dashboard.log(job_id, node, follow=False)
    while (part := (yield NextPart(request, _POLL))) is not None:
        new = mine.take(part)
        if new:
            write(new)


def _has_cluster(ref: Ref, live: Object) -> Operation[bool]:
    name = str(section(live, "status").get("rayClusterName") or "")
    if not name:
        return False
    try:
        yield Send(verbs.get(RAY_CLUSTERS, name, ref.namespace))
    except errors.NotFound:
        return False
    return True


def _waits_for(ref: Ref, live: Object) -> Operation[str]:
    """What a job does now, in one line; of a cluster that starts, why it is not ready."""
    status = section(live, "status")
    phase = str(status.get("jobDeploymentStatus") or "")
    if not phase:
        return "New: no operator has acted on it yet"
    if phase == "Running":
        return f"Running: job {status.get('jobId')} on RayCluster {status.get('rayClusterName')}"
    name = str(status.get("rayClusterName") or "")
    if phase in ("Initializing", "Waiting") and name:
        try:
            cluster: Object = yield Send(verbs.get(RAY_CLUSTERS, name, ref.namespace))
        except errors.NotFound:
            return f"{phase}: RayCluster {name} is not there yet"
        found = {str(one.get("type")): one for one in entries(section(cluster, "status"), "conditions")}
        for kind in ("Ready", "RayClusterProvisioned", "HeadPodReady"):
            one: Object = found.get(kind, {})
            if one.get("status") == "False":
                return f"{phase}: RayCluster {name}: {one.get('message') or one.get('reason')}"
        return f"{phase}: RayCluster {name} is ready" if found else f"{phase}: RayCluster {name} was created"
    found = {str(one.get("type")): one for one in entries(status, "conditions")}
    for kind in ("Stalled", "Reconciling", "Suspended"):
        one = found.get(kind, {})
        if one.get("status") == "True" and one.get("message"):
            return f"{phase}: {one['message']}"
    return f"{phase}: {status.get('message')}" if status.get("message") else phase


def _end(ref: Ref, live: Object) -> Waited:
    verdict = judge_end(live)
    status = section(live, "status")
    if verdict.state is State.APPLIED:
        return Waited(live, verdict, 0.0)
    cause = verdict.reason if verdict.reason != "STOPPED" else "it was stopped"
    # Ray adds the end of the log, which was shown already
    message = (verdict.message or str(status.get("message") or "")).partition(", last available logs")[0]
    following = f"rayward logs {ref}   # or again: rayward rerun {ref.name}"
    raise JobFailed(f"{ref} failed: {cause}", message, following, object=str(ref))


def _line(text: bytes) -> bytes:
    return text if text.endswith(b"\n") else text + b"\n"
