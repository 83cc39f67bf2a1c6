"""The attempt that runs, as it is remembered on the RayJob: its ids, the spec in force and Ray's session.

It is written before anything is done for it: whoever comes after a crash finds the same ids and session, so no attempt
has two clusters and no job is submitted to a head that may have run it already.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace

from rayward.kinds import labels
from rayward.kinds.canonical import LATEST, Reading, canonical, canonical_template
from rayward.kinds.packing import packed, unpacked
from rayward.kinds.rayjob import RayJob, RayJobSpec, SubmissionMode
from rayward.kube.machinery.jsonvalue import Object, is_object

_LIVE: Final = (
    "suspend",
    "active_deadline_seconds",
    "pre_running_deadline_seconds",
    "backoff_limit",
    "shutdown_after_job_finishes",
    "ttl_seconds_after_finished",
    "deletion_strategy",
    "managed_by",
)
"""Fields that count at once also while an attempt runs."""
_LIVE_WRITTEN: Final = frozenset(each.encode_name for each in msgspec.structs.fields(RayJobSpec) if each.name in _LIVE)
"""The same as they are written. msgspec looks fields up by evaluating their types: too much for every reconcile."""
_USERS: Final = ("metadata", "clusterSelector", "headServiceAnnotations")
"""Maps whose keys are the user's: an empty value there is a value."""
_SWITCHES: Final = ("gcsFaultToleranceOptions", "networkPolicy")
"""What is there and empty asks for something."""
_TEMPLATES: Final = ("template", "submitterPodTemplate")
_DIGEST: Final = 12


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt. Times are RFC 3339."""

    number: int
    job_id: str = ""
    cluster: str = ""
    since: str = ""
    """When the present phase began."""
    silent_since: str = ""
    """Since when Ray does not answer; empty while it does."""
    session: str = ""
    """The session of Ray that the job is handed to; empty until it is chosen."""
    unstopped: bool = False
    """Whether the head of a selected cluster was silent when the attempt was suspended: its job may run still."""
    spec: str = ""
    """The spec in force but for the cluster, whose own object has it."""
    digests: dict[str, str] = {}
    """Of every field that an attempt keeps to its end, by its path."""


def frozen(spec: RayJobSpec) -> dict[str, Any]:
    """What an attempt started from ``spec`` has to remember: for ``Attempt.spec`` and ``Attempt.digests``."""
    return {"spec": packed(spec), "digests": digests(spec)}


def in_force(attempt: Attempt | None, job: RayJob) -> RayJobSpec:
    """The spec that the attempt runs by: what it was started with, but for the fields that count at once.

    Call it with a valid spec; with an invalid one ``remembered`` says what was in force before.
    """
    if attempt is None or not attempt.spec:
        return job.spec
    return replace(remembered(attempt), **{name: getattr(job.spec, name) for name in _LIVE})


def remembered(attempt: Attempt) -> RayJobSpec:
    """The spec as it was last in force."""
    return unpacked(attempt.spec)


def ignored(attempt: Attempt | None, spec: RayJobSpec) -> tuple[str, ...]:
    """The fields that were edited since the attempt began, and that count from the next one on.

    Digests of an older Rayward are of fields as they were written; those of today are of what they mean.
    """
    if attempt is None or not attempt.digests:
        return ()
    meant = digests(spec)
    found = {path for path in {*meant, *attempt.digests} if attempt.digests.get(path) != meant.get(path)}
    for older in ("v3", None) if found else ():
        read = digests(spec, version=older)
        found = {path for path in found if attempt.digests.get(path) != read.get(path)}
    if spec.submission_mode == SubmissionMode.INTERACTIVE and attempt.job_id not in ("", spec.job_id):
        found.add("spec.jobId")
    return tuple(sorted(found))


def digests(spec: RayJobSpec, *, version: Reading | None = LATEST) -> dict[str, str]:
    """A digest for every field that an attempt keeps; those of the cluster one by one.

    How a field is written does not count: typed clients write empty structures and other spellings of quantities back.
    Only without a ``version`` it does, as it did at first.
    """
    given = msgspec.to_builtins(spec)
    found: dict[str, str] = {}
    for name, value in given.items():
        if name == "rayClusterSpec":
            parts = {f"spec.{name}.{part}": (part, below) for part, below in value.items()}
        elif name not in _LIVE_WRITTEN:
            parts = {f"spec.{name}": (name, value)}
        else:
            continue
        for path, (part, below) in parts.items():
            meaning = below if version is None or part in _USERS else _meaning(below, part, version)
            if version is None or meaning or part in _SWITCHES:
                found[path] = _digest(meaning)
    if spec.submission_mode == SubmissionMode.INTERACTIVE:
        # There it names the job to follow, and is given while the attempt waits.
        found.pop("spec.jobId", None)
    return found


def _meaning(value: Any, name: str, version: Reading) -> Any:
    if isinstance(value, list):
        return [_meaning(item, name, version) for item in cast("list[Any]", value)]
    if not is_object(value):
        return value
    if name in _TEMPLATES:
        return canonical_template(value, version=version)
    templates = {part: _meaning(value[part], part, version) for part in _TEMPLATES if is_object(value.get(part))}
    rest: Object = {part: below for part, below in value.items() if part not in _TEMPLATES}
    return {**canonical(rest, name, version=version), **{part: below for part, below in templates.items() if below}}


def read(annotations: Mapping[str, str] | None) -> Attempt | None:
    """The attempt on record; None where there is none, or one that nobody can read."""
    text = (annotations or {}).get(labels.ATTEMPT, "")
    if not text:
        return None
    try:
        attempt = msgspec.json.decode(text, type=Attempt)
        remembered(attempt)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, zlib.error, RecursionError):
        return None
    return attempt


def written(attempt: Attempt) -> str:
    return msgspec.json.encode(attempt, order="deterministic").decode()


def stamp(now: datetime) -> str:
    """A time as Kubernetes writes it."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str | None) -> datetime | None:
    """A time as Kubernetes writes it, read; None where there is none."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _digest(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:_DIGEST]
