"""The status that a controller reports for a job: finished stays finished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayward.kube.machinery.fielderror import OMIT, FieldError, duplicate, invalid, required
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors, not_negative
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.job.indexes import IndexesError, count_indexes, overlap

Spec = Mapping[str, Any]

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_CONDITIONS = "status.conditions"


def is_true(status: Spec, kind: str) -> bool:
    """Whether a condition holds."""
    return any(c.get("type") == kind and c.get("status") == "True" for c in status.get("conditions") or NO_ITEMS)


def _is_false(status: Spec, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "False" for c in status.get("conditions") or NO_ITEMS)


def _is_finished(status: Spec) -> bool:
    return is_true(status, "Complete") or is_true(status, "Failed")


def validate_status(new: Object, old: Object) -> list[FieldError]:
    """A change through the status endpoint; rules apply to what the change touches."""
    out: Errors = []
    spec, status, before = new["spec"], new.get("status") or NOTHING, old.get("status") or NOTHING
    for field in _COUNTS:
        not_negative(status.get(field) or 0, f"status.{field}", out)
    _check_uncounted(status, out)
    out += _check_ends(status, before)
    out += _check_completion_time(status, before)
    out += _check_reasons(status, before)
    out += _check_finished(spec, status, before)
    out += _check_indexes(spec, status, before)
    out += _check_counts(status, before)
    out += _check_criteria(spec, status)
    out += _check_steps(spec, status, before)
    return out


def _changed(status: Spec, before: Spec, *fields: str) -> bool:
    return any(status.get(field) != before.get(field) for field in fields)


def _turned(status: Spec, before: Spec, kind: str) -> bool:
    return is_true(status, kind) != is_true(before, kind)


def _check_uncounted(status: Spec, out: Errors) -> None:
    uncounted, seen = status.get("uncountedTerminatedPods") or NOTHING, set[str]()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(field) or NO_ITEMS):
            at = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                out.append(invalid(at, uid, "must not be empty"))
            elif uid in seen:
                out.append(duplicate(at, uid))
            seen.add(uid)


def _check_ends(status: Spec, before: Spec) -> Iterator[FieldError]:
    for other in ("Failed", "FailureTarget"):
        both = is_true(status, "Complete") and is_true(status, other)
        if both and (_turned(status, before, "Complete") or _turned(status, before, other)):
            yield invalid(_CONDITIONS, OMIT, f"cannot set Complete=True and {other}=true conditions")


def _check_completion_time(status: Spec, before: Spec) -> Iterator[FieldError]:
    start, end, complete = status.get("startTime"), status.get("completionTime"), is_true(status, "Complete")
    if _turned(status, before, "Complete") or _changed(status, before, "completionTime"):
        if end and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            yield invalid("status.completionTime", end, text)
        if complete and not end:
            yield required("status.completionTime", "completionTime is required for Complete jobs")
    if start and end and end < start and _changed(status, before, "startTime", "completionTime"):
        yield invalid("status.completionTime", end, "must be equal to or after `startTime`")


def _check_reasons(status: Spec, before: Spec) -> Iterator[FieldError]:
    failed_turned = _turned(status, before, "Failed") or _changed(status, before, "failedIndexes")
    if is_true(status, "Failed") and not is_true(status, "FailureTarget") and failed_turned:
        yield invalid(_CONDITIONS, OMIT, "cannot set Failed=True condition without the FailureTarget=true condition")
    complete_turned = _turned(status, before, "Complete") or _turned(status, before, "SuccessCriteriaMet")
    if is_true(status, "Complete") and not is_true(status, "SuccessCriteriaMet") and complete_turned:
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        yield invalid(_CONDITIONS, OMIT, text)


def _check_finished(spec: Spec, status: Spec, before: Spec) -> Iterator[FieldError]:
    finished = _is_finished(status)
    turned = finished != _is_finished(before)
    active = status.get("active") or 0
    if finished and active > 0 and (turned or _changed(status, before, "active")):
        yield invalid("status.active", active, "active>0 is invalid for finished job")
    nothing_to_do = spec.get("suspend") is True and spec.get("completions") == 0
    unstarted = not status.get("startTime") and (turned or _changed(status, before, "startTime"))
    if finished and unstarted and not nothing_to_do:
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or NOTHING
    if finished and any(uncounted.values()) and (turned or _changed(status, before, "uncountedTerminatedPods")):
        text = "must be empty for finished job"
        yield shown("*UncountedTerminatedPods", uncounted, "status.uncountedTerminatedPods", text)


def _check_counts(status: Spec, before: Spec) -> Iterator[FieldError]:
    active, terminating, ready = (status.get(field) or 0 for field in ("active", "terminating", "ready"))
    finished = _is_finished(status)
    turned = finished != _is_finished(before) or _changed(status, before, "terminating")
    if finished and terminating > 0 and turned:
        yield invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")
    if ready > active and _changed(status, before, "ready", "active"):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")


def _check_criteria(spec: Spec, status: Spec) -> Iterator[FieldError]:
    met = is_true(status, "SuccessCriteriaMet")
    for other in ("Failed", "FailureTarget"):
        if met and is_true(status, other):
            yield invalid(_CONDITIONS, OMIT, f"cannot set SuccessCriteriaMet=True and {other}=true conditions")
    if spec.get("successPolicy") is not None and is_true(status, "Complete") and not met:
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        yield invalid(_CONDITIONS, OMIT, text)


def _check_indexes(spec: Spec, status: Spec, before: Spec) -> Iterator[FieldError]:
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex")
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    indexed = spec.get("completionMode") == "Indexed"
    for field, text in (("completedIndexes", completed), ("failedIndexes", failed)):
        if not _changed(status, before, field) or completions is None or text is None:
            continue
        if field == "failedIndexes" and per_index is None:
            continue
        try:
            count_indexes(text, completions)
        except IndexesError as error:
            yield invalid(f"status.{field}", text, f"error parsing {field}: {error}")
    if completed and not indexed and _changed(status, before, "completedIndexes"):
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", completed, text)
    if failed is not None and per_index is None and _changed(status, before, "failedIndexes"):
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid("status.failedIndexes", failed, text)
    if failed is not None and completions is not None and _changed(status, before, "completedIndexes", "failedIndexes"):
        shared = overlap(completed, failed, completions)
        if shared is not None:
            yield invalid(
                "status.failedIndexes", failed, f"failedIndexes and completedIndexes overlap at index: {shared}"
            )


def _check_steps(spec: Spec, status: Spec, before: Spec) -> Iterator[FieldError]:
    for kind in ("Failed", "Complete", "FailureTarget"):
        if is_true(before, kind) and not is_true(status, kind):
            yield invalid(_CONDITIONS, OMIT, f"cannot disable the terminal {kind}=True condition")
    failed, succeeded = status.get("failed") or 0, status.get("succeeded") or 0
    if failed < (before.get("failed") or 0):
        yield invalid("status.failed", failed, "cannot decrease the failed counter")
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if succeeded < (before.get("succeeded") or 0) and not elastic:
        yield invalid("status.succeeded", succeeded, "cannot decrease the succeeded counter")
    start, end = status.get("startTime"), status.get("completionTime")
    if end and before.get("completionTime") and end != before["completionTime"]:
        yield invalid("status.completionTime", end, IMMUTABLE)
    resumed = is_true(before, "Suspended") and _is_false(status, "Suspended")
    was = before.get("startTime")
    if was and start != was and not resumed and not spec.get("suspend"):
        yield invalid("status.startTime", start, "field is immutable for unsuspended job once set")
    met, was_met = is_true(status, "SuccessCriteriaMet"), is_true(before, "SuccessCriteriaMet")
    if was_met and not met:
        yield invalid(_CONDITIONS, OMIT, "cannot disable the SuccessCriteriaMet=True condition")
    if is_true(before, "Complete") and not was_met and met:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield invalid(_CONDITIONS, OMIT, text)
