"""Pod disruption budgets, and whether they let a pod be evicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, not_supported
from rayward.kube.machinery.names import path_segment_name
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors, label_selector, not_negative
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.kind import age_of, behaviour, keep_spec, keep_status, meta_of, name_of
from rayward.local.apiserver.builtin.matching import is_sound, matches
from rayward.local.apiserver.builtin.workload.deployment import at_most_all, count_or_percent

Spec = Mapping[str, Any]

_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_POLICIES = ["AlwaysAllow", "IfHealthyBudget"]


def disruption_behaviour() -> Behaviour:
    """The rules of ``policy/v1/poddisruptionbudgets``."""
    return behaviour(
        "io.k8s.api.policy.v1.PodDisruptionBudget",
        "policy/v1/poddisruptionbudgets",
        cells,
        prepare_create=prepare_create,
        prepare_update=keep_status,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=lambda new, _old: validate(new),
        validate_status=validate_status,
        has_status=True,
        counts_generation=True,
        needs_resource_version=True,
        check_name=path_segment_name,
    )


def prepare_create(obj: Object) -> None:
    """A new budget has counted nothing."""
    obj["status"] = dict.fromkeys(_COUNTS, 0)


def validate(obj: Object) -> list[FieldError]:
    """A budget, new or changed."""
    out: Errors = []
    spec = obj.get("spec") or NOTHING
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        out.append(shown("PodDisruptionBudgetSpec", spec, "spec", text))
    for field in ("minAvailable", "maxUnavailable"):
        if spec.get(field) is not None:
            count_or_percent(spec[field], f"spec.{field}", out)
            at_most_all(spec[field], f"spec.{field}", out)
    label_selector(spec.get("selector"), "spec.selector", out)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        out.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES))
    return out


def validate_status(new: Object, _old: Object) -> list[FieldError]:
    """What a controller counts."""
    out: Errors = []
    for field in _COUNTS:
        not_negative((new.get("status") or NOTHING).get(field) or 0, f"status.{field}", out)
    return out


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Min Available, Max Unavailable, Allowed Disruptions, Age."""
    spec = obj.get("spec") or NOTHING
    return [
        name_of(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        (obj.get("status") or NOTHING).get("disruptionsAllowed") or 0,
        age_of(obj, now),
    ]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a pod may be evicted.

    ``code`` 200: delete it, and store ``budget`` as the new status of the budget it counts against, if any.
    """

    code: int
    message: str = ""
    cause: str = ""
    budget: Object | None = None


def may_evict(pod: Spec, budgets: Sequence[Spec], now: str) -> Verdict:
    """Ask the budgets of the pod's namespace; ``now`` is noted in the budget that pays for it."""
    status = pod.get("status") or NOTHING
    done = status.get("phase") in ("Succeeded", "Failed", "Pending") or meta_of(pod).get("deletionTimestamp")
    if done:
        return Verdict(200)
    labels = meta_of(pod).get("labels") or NOTHING
    selectors = [(budget, (budget.get("spec") or NOTHING).get("selector")) for budget in budgets]
    concerned = [budget for budget, selector in selectors if is_sound(selector) and matches(selector, labels)]
    if not concerned:
        return Verdict(200)
    if len(concerned) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        return Verdict(500, text)
    budget = concerned[0]
    if not _is_ready(status) and _frees_unready(budget):
        return Verdict(200)
    return _pay(name_of(pod), budget, now)


def _is_ready(status: Spec) -> bool:
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in status.get("conditions") or NO_ITEMS)


def _frees_unready(budget: Spec) -> bool:
    if (budget.get("spec") or NOTHING).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or NOTHING
    desired = status.get("desiredHealthy") or 0
    return (status.get("currentHealthy") or 0) >= desired > 0


def _pay(pod: str, budget: Spec, now: str) -> Verdict:
    status, name = dict(budget.get("status") or NOTHING), name_of(budget)
    refused = "Cannot evict pod as it would violate the pod's disruption budget."
    if (status.get("observedGeneration") or 0) < (meta_of(budget).get("generation") or 0):
        return Verdict(429, refused, f"The disruption budget {name} is still being processed by the server.")
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        return Verdict(403, f'poddisruptionbudget.policy "{name}" is forbidden: pdb disruptions allowed is negative')
    if allowed == 0:
        return Verdict(429, refused, _why_not(name, status))
    status["disruptionsAllowed"] = allowed - 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or NOTHING), pod: now}
    return Verdict(200, budget={**budget, "status": status})


def _why_not(name: str, status: Spec) -> str:
    conditions = {c.get("type"): c for c in status.get("conditions") or NO_ITEMS}
    condition = conditions.get("DisruptionAllowed") or NOTHING
    denied = condition.get("status") == "False" and condition.get("message")
    if denied and condition.get("reason") == "SyncFailed":
        return (
            f"The disruption budget {name} does not allow evicting pods currently because it failed sync: "
            f"{condition['message']}"
        )
    current, desired = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    text = f"The disruption budget {name} does not allow evicting pods currently"
    return f"{text} ({condition.get('reason') or ''}): {condition['message']}" if denied else text
