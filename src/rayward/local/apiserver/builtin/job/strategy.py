"""What kube-apiserver fills in, refuses and shows of Jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery import duration
from rayward.kube.machinery.names import check_dns1123_label, check_label_value
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.job.check import validate, validate_update
from rayward.local.apiserver.builtin.job.status import is_true, validate_status
from rayward.local.apiserver.builtin.kind import (
    age,
    age_of,
    behaviour,
    containers_text,
    keep_spec,
    meta_of,
    name_of,
    selector_text,
)
from rayward.local.apiserver.builtin.podspec.defaults import default_template, drop_disabled
from rayward.local.apiserver.builtin.podspec.warnings import spec_warnings
from rayward.local.apiserver.builtin.workload.pods import prepare_update

Spec = Mapping[str, Any]

_CHILDREN_STAY = (
    "child pods are preserved by default when jobs are deleted; "
    "set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
)
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_STATES = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def job_behaviour() -> Behaviour:
    """The rules of ``batch/v1/jobs``."""
    return behaviour(
        "io.k8s.api.batch.v1.Job",
        "batch/v1/jobs",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=validate_update,
        validate_status=validate_status,
        warnings=warnings,
        fields=lambda obj: {"status.successful": str((obj.get("status") or NOTHING).get("succeeded") or 0)},
        selectable=frozenset({"status.successful"}),
        has_status=True,
        counts_generation=True,
        orphans=_CHILDREN_STAY,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a job."""
    spec = obj["spec"]
    fill = spec.setdefault
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    fill("parallelism", 1)
    fill("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
    labels = (spec["template"].get("metadata") or NOTHING).get("labels")
    if labels and not meta_of(obj).get("labels"):
        obj["metadata"]["labels"] = dict(labels)
    fill("completionMode", "NonIndexed")
    fill("suspend", False)
    fill("podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed")
    fill("manualSelector", False)
    for rule in (spec.get("podFailurePolicy") or NOTHING).get("rules") or NO_ITEMS:
        for pattern in rule.get("onPodConditions") or NO_ITEMS:
            if not pattern.get("status"):
                pattern["status"] = "True"
    default_template(spec["template"])


def prepare_create(obj: Object) -> None:
    """A new job selects its pods by its own uid unless told how."""
    spec, meta = obj["spec"], meta_of(obj)
    own = meta.get("labels") or NOTHING
    follows = own == ((spec["template"].get("metadata") or NOTHING).get("labels") or NOTHING)
    if not spec.get("manualSelector"):
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        for key in _NAME_LABELS:
            labels.setdefault(key, meta.get("name") or "")
        for key in _UID_LABELS:
            labels.setdefault(key, meta.get("uid") or "")
        if spec.get("selector") is None:
            spec["selector"] = {}
        spec["selector"].setdefault("matchLabels", {}).setdefault(_UID_LABELS[1], meta.get("uid") or "")
    template_labels = (spec["template"].get("metadata") or NOTHING).get("labels")
    # Labels that the template got are seen on the job too, unless they cannot be labels at all.
    if template_labels and ((own and follows) or not (own or any(map(check_label_value, template_labels.values())))):
        obj["metadata"]["labels"] = dict(template_labels)
    obj["status"] = {}
    drop_disabled(spec["template"]["spec"])


def warnings(new: Object, old: Object | None) -> list[str]:
    """Doubts about a job and its pods."""
    spec, found = new["spec"], list[str]()
    if old is None:
        messages = check_dns1123_label(name_of(new))
        if messages:
            found.append(
                "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a "
                f"DNS label is recommended: [{' '.join(messages)}]"
            )
    elif meta_of(new).get("generation") == meta_of(old).get("generation"):
        return []
    many = (spec.get("completions") or 0) > 100_000 and (spec.get("parallelism") or 0) > 10_000
    if many and spec.get("completionMode") == "Indexed":
        found.append(
            "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
            "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    template = spec["template"]
    return found + spec_warnings("spec.template", template.get("spec") or NOTHING, template.get("metadata") or NOTHING)


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Status, Completions, Duration, Age, Containers, Images, Selector."""
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    names, images = containers_text((spec.get("template") or NOTHING).get("spec") or NOTHING)
    return [
        name_of(obj),
        _state(obj, status),
        _completions(spec, status.get("succeeded") or 0),
        _duration(status, now),
        age_of(obj, now),
        names,
        images,
        selector_text(spec.get("selector")),
    ]


def _state(obj: Spec, status: Spec) -> str:
    for state in ("Complete", "Failed"):
        if is_true(status, state):
            return state
    if meta_of(obj).get("deletionTimestamp"):
        return "Terminating"
    return next((state for state in _STATES if is_true(status, state)), "Running")


def _completions(spec: Spec, succeeded: int) -> str:
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(status: Spec, now: float) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    if not end:
        return age(start, now)
    begin, finish = duration.instant(start), duration.instant(end)
    return duration.human((finish - begin).total_seconds()) if begin and finish else ""
