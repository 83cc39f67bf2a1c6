"""What is wrong with a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid, not_supported, required, too_long
from rayward.kube.machinery.names import check_dns1123_label, check_dns1123_subdomain
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors, fits, label_selector, not_negative
from rayward.local.apiserver.builtin.empty import NOTHING
from rayward.local.apiserver.builtin.formats import http_path
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.job.policy import check_failure_policy, check_success_policy
from rayward.local.apiserver.builtin.job.status import is_true
from rayward.local.apiserver.builtin.kind import meta_of, name_of
from rayward.local.apiserver.builtin.matching import is_sound, matches
from rayward.local.apiserver.builtin.podspec.spec import check_template

Spec = Mapping[str, Any]

_HIGH, _FEW = 100_000, 10_000
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_OLD_LABELS = ("controller-uid", "job-name")
_LABELS = ("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
_REPLACEMENTS = ["Failed", "TerminatingOrFailed"]


def validate(obj: Object) -> list[FieldError]:
    out: Errors = []
    _check(obj, out, prefixed=True)
    return out


def _check(obj: Object, out: Errors, *, prefixed: bool) -> None:
    _check_generated(obj, out, prefixed=prefixed)
    spec = obj["spec"]
    check_spec(spec, out)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        host = f"{name_of(obj)}-{completions - 1}"
        if check_dns1123_label(host):
            text = f"will not able to create pod with invalid DNS label: {host}"
            out.append(invalid("metadata.name", name_of(obj), text))


def _check_generated(obj: Object, out: Errors, *, prefixed: bool) -> None:
    spec, meta = obj["spec"], meta_of(obj)
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    uid, name = meta.get("uid") or "", meta.get("name") or ""
    if not uid:
        out.append(required("metadata.uid"))
    labels: Mapping[str, str] = (spec["template"].get("metadata") or NOTHING).get("labels") or NOTHING
    expected: dict[str, str] = dict(zip(_OLD_LABELS, (uid, name), strict=True))
    if prefixed:
        expected |= dict(zip(_LABELS, (uid, name), strict=True))
    for key, value in expected.items():
        at = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            out.append(required(at, f"must be '{value}'"))
        elif labels[key] != value:
            out.append(invalid(at, labels, f"must be '{value}'"))
    if is_sound(spec["selector"]) and not matches(spec["selector"], expected):
        out.append(shown("*LabelSelector", spec["selector"], "spec.selector", "`selector` not auto-generated"))


def check_spec(spec: Spec, out: Errors) -> None:
    for field in _COUNTS:
        if spec.get(field) is not None:
            not_negative(spec[field], f"spec.{field}", out)
        if field == "maxFailedIndexes" and spec.get(field) is not None and spec.get("backoffLimitPerIndex") is None:
            out.append(required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    _check_managed_by(spec.get("managedBy"), out)
    _check_mode(spec, out)
    if spec.get("podFailurePolicy") is not None:
        check_failure_policy(spec, "spec.podFailurePolicy", out)
    if spec.get("successPolicy") is not None:
        if spec.get("completionMode") != "Indexed":
            text = "requires indexed completion mode"
            out.append(shown("SuccessPolicy", spec["successPolicy"], "spec.successPolicy", text))
        else:
            check_success_policy(spec, "spec.successPolicy", out)
    _check_replacement(spec, out)
    check_template(spec["template"], "spec.template", out)
    _check_restart_policy(spec, out)
    selector = spec.get("selector")
    if selector is None:
        out.append(required("spec.selector"))
    else:
        label_selector(selector, "spec.selector", out)
    labels = (spec["template"].get("metadata") or NOTHING).get("labels")
    if is_sound(selector) and not matches(selector, labels or NOTHING):
        text = "`selector` does not match template `labels`"
        out.append(invalid("spec.template.metadata.labels", labels, text))


def _check_managed_by(name: str | None, out: Errors) -> None:
    at = "spec.managedBy"
    if name is None:
        return
    domain, slash, path = name.partition("/")
    if not name:
        out.append(required(at))
    elif not slash or not domain or not path:
        out.append(invalid(at, name, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    else:
        fits(check_dns1123_subdomain, domain, at, out)
        fits(http_path, path, at, out)
    if len(name.encode()) > 63:
        out.append(too_long(at, 63))


def _check_mode(spec: Spec, out: Errors) -> None:
    mode, completions, parallelism = (spec.get(f) for f in ("completionMode", "completions", "parallelism"))
    failed, per_index = spec.get("maxFailedIndexes"), spec.get("backoffLimitPerIndex")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        out.append(not_supported("spec.completionMode", mode, ["NonIndexed", "Indexed"]))
    if mode == "Indexed":
        if completions is None:
            out.append(required("spec.completions", "when completion mode is Indexed"))
        if parallelism is not None and parallelism > _HIGH:
            text = f"must be less than or equal to {_HIGH} when completion mode is Indexed"
            out.append(invalid("spec.parallelism", parallelism, text))
        if completions is not None and failed is not None and failed > completions:
            out.append(invalid("spec.maxFailedIndexes", failed, "must be less than or equal to completions"))
        if failed is not None and failed > _HIGH:
            out.append(invalid("spec.maxFailedIndexes", failed, f"must be less than or equal to {_HIGH}"))
        if completions is not None and completions > _HIGH and per_index is not None:
            _check_many_completions(parallelism, failed, out)
    elif mode in (None, "NonIndexed"):
        for field, value in (("backoffLimitPerIndex", per_index), ("maxFailedIndexes", failed)):
            if value is not None:
                out.append(invalid(f"spec.{field}", value, "requires indexed completion mode"))


def _check_many_completions(parallelism: int | None, failed: int | None, out: Errors) -> None:
    tail = (
        f"must be less than or equal to {_FEW} when completions are above {_HIGH} and used with backoff limit per index"
    )
    if failed is None:
        out.append(required("spec.maxFailedIndexes", f"must be specified when completions is above {_HIGH}"))
    if parallelism is not None and parallelism > _FEW:
        out.append(invalid("spec.parallelism", parallelism, tail))
    if failed is not None and failed > _FEW:
        out.append(invalid("spec.maxFailedIndexes", failed, tail))


def _check_replacement(spec: Spec, out: Errors) -> None:
    policy = spec.get("podReplacementPolicy")
    allowed = ["Failed"] if spec.get("podFailurePolicy") is not None else _REPLACEMENTS
    if policy is not None and policy not in allowed:
        out.append(not_supported("spec.podReplacementPolicy", policy, allowed))


def _check_restart_policy(spec: Spec, out: Errors) -> None:
    at, policy = (
        "spec.template.spec.restartPolicy",
        (spec["template"].get("spec") or NOTHING).get("restartPolicy") or "",
    )
    if policy in ("Always", ""):
        out.append(required(at, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        out.append(not_supported(at, policy, ["OnFailure", "Never"]))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        out.append(invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified'))


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """A changed job: most of it stands once made."""
    out: Errors = []
    spec, before = new["spec"], old["spec"]
    labels = (before["template"].get("metadata") or NOTHING).get("labels") or NOTHING
    _check(new, out, prefixed=all(key in labels for key in _LABELS))
    check_spec(spec, out)
    _check_completions_change(spec, before, out)
    _same(spec, before, "selector", "*LabelSelector", out)
    _check_template_change(new, old, out)
    for field, kind in (
        ("completionMode", "*string"),
        ("podFailurePolicy", "*PodFailurePolicy"),
        ("backoffLimitPerIndex", "*int"),
        ("managedBy", "*string"),
        ("successPolicy", "*SuccessPolicy"),
    ):
        _same(spec, before, field, kind, out)
    return out


def _same(spec: Spec, before: Spec, field: str, kind: str, out: Errors) -> None:
    if spec.get(field) != before.get(field):
        out.append(shown(kind, spec.get(field), f"spec.{field}", IMMUTABLE))


def _check_completions_change(spec: Spec, before: Spec, out: Errors) -> None:
    now = spec.get("completions")
    if now == before.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        out.append(invalid("spec.completions", now, IMMUTABLE))
    elif now is not None and now != spec.get("parallelism"):
        out.append(invalid("spec.completions", now, "can only be modified in tandem with spec.parallelism"))


def _check_template_change(new: Object, old: Object, out: Errors) -> None:
    template, before = new["spec"]["template"], old["spec"]["template"]
    if template == before:
        return
    status, suspended = old.get("status") or NOTHING, bool(old["spec"].get("suspend"))
    idle = not status.get("startTime") or is_true(status, "Suspended")
    if not (suspended and idle and not status.get("active")):
        out.append(shown("PodTemplateSpec", template, "spec.template", IMMUTABLE))
        return
    then = _with_directives_of(before, template)
    spec, then_spec = template.get("spec") or NOTHING, dict(then.get("spec") or NOTHING)
    for field in ("containers", "initContainers"):
        then_spec[field] = _with_resources_of(then_spec.get(field) or [], spec.get(field) or [])
        if not then_spec[field]:
            del then_spec[field]
    if spec != then_spec:
        out.append(shown("PodSpec", spec, "spec.template.spec", IMMUTABLE))


def _with_directives_of(before: Spec, template: Spec) -> dict[str, Any]:
    """The old template with what says where pods run taken from the new one."""
    now, then = template.get("spec") or NOTHING, dict(before.get("spec") or NOTHING)
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        then.pop(field, None)
        if field in now:
            then[field] = now[field]
    others = {k: v for k, v in (then.get("affinity") or NOTHING).items() if k != "nodeAffinity"}
    affinity = now.get("affinity")
    if affinity is not None and affinity.get("nodeAffinity") is not None:
        others["nodeAffinity"] = affinity["nodeAffinity"]
    if others or (affinity is not None):
        then["affinity"] = others
    else:
        then.pop("affinity", None)
    return {**before, "spec": then}


def _with_resources_of(before: Sequence[Spec], now: Sequence[Spec]) -> list[Spec]:
    if len(before) != len(now):
        return list(before)
    return [
        {**then, "resources": new.get("resources") or NOTHING} if then.get("name") == new.get("name") else then
        for then, new in zip(before, now, strict=True)
    ]
