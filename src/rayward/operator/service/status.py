"""The status of a RayService: KubeRay's fields, and those of the interface documents beside them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from rayward.kinds.raycluster import Object
from rayward.kinds.rayservice import RayService, RayServiceStatus
from rayward.kube.core.meta import condition_of, is_true, rfc3339
from rayward.kube.core.status import condition_body, status_body, status_change
from rayward.operator.service.conditions import PROGRESSING, READY, SUSPENDED, Conditions
from rayward.operator.service.observe import Observed, ObservedCluster
from rayward.operator.service.state import DEPLOY_FAILED, RUNNING, UNHEALTHY, Decision

_LONGEST: Final = 4096
_EXTRAS: Final = frozenset(("status", "appStatus", "rayClusterName", "deploymentStatuses", "startTime", "endTime"))
"""Fields that KubeRay's own CRDs do not have, so that a server with those does not keep them."""


def status_of(
    service: RayService,
    observed: Observed,
    decision: Decision,
    conditions: Conditions,
    *,
    generation: int,
    now: datetime,
) -> Object:
    """A whole status, as JSON; what is not in it is to be removed. ``generation`` is the one to call observed."""
    before = service.status
    active = observed.clusters.get(decision.active.name) if decision.active else None
    pending = observed.clusters.get(decision.pending.name) if decision.pending else None
    serving = is_true(conditions, READY)
    shown = active or pending
    status: Object = {
        "conditions": [condition_body(found) for found in conditions],
        "serviceStatus": "Running" if serving else "",
        "numServeEndpoints": observed.endpoints,
        "observedGeneration": generation,
        "status": _word(conditions, shown, serving=serving),
        "startTime": before.start_time or (rfc3339(now) if serving else None),
    }
    if active is not None:
        status["activeServiceStatus"] = _part(active, before)
        status["rayClusterName"] = active.cluster.metadata.name
    if pending is not None:
        status["pendingServiceStatus"] = _part(pending, before)
    if shown is not None and (applications := _applications(shown, before)):
        status["appStatus"] = _summary(applications)
        status["deploymentStatuses"] = _deployments(applications)
    if is_true(conditions, SUSPENDED):
        status["endTime"] = before.end_time or rfc3339(now)
    return {name: value for name, value in status.items() if value is not None}


def patch(before: Object, after: Object, written: Object) -> Object:
    """The merge patch of the status; empty where only the time of writing would change.

    Args:
        before: The status that the server has.
        after: The whole new one.
        written: The one that was last written; of fields that the server's schema drops, it says what was sent.
    """
    kept = {name: value for name, value in written.items() if name in _EXTRAS}
    known = {name: value for name, value in {**kept, **before}.items() if name != "lastUpdateTime"}
    return status_change(known, after)


def _word(conditions: Conditions, shown: ObservedCluster | None, *, serving: bool) -> str:
    """``status.status`` of the interface documents."""
    if is_true(conditions, SUSPENDED):
        return "SUSPENDED"
    states = {app.status for app in shown.child.serve.applications} if shown and shown.child.serve else set[str]()
    if UNHEALTHY in states:
        return UNHEALTHY
    if serving:
        return RUNNING
    progressing = condition_of(conditions, PROGRESSING)
    failed = progressing is not None and progressing.status == "False"
    return "FAILED" if failed or DEPLOY_FAILED in states else "DEPLOYING"


def _part(found: ObservedCluster, before: RayServiceStatus) -> Object:
    part: Object = {
        "rayClusterName": found.cluster.metadata.name,
        "rayClusterStatus": status_body(found.cluster.status),
    }
    applications = _applications(found, before)
    if applications:
        part["applicationStatuses"] = applications
    return part


def _applications(found: ObservedCluster, before: RayServiceStatus) -> dict[str, Object]:
    serve = found.observation.serve
    if serve is None and found.child.head_ready:
        # An operator that has just started knows nothing better than what was reported before.
        for part in (before.active_service_status, before.pending_service_status):
            if part is not None and part.ray_cluster_name == found.cluster.metadata.name:
                return part.application_statuses or {}
    result: dict[str, Object] = {}
    for name, app in sorted(serve.applications.items()) if serve else ():
        deployments = {
            deployment: _without_empty({"status": each.status, "message": each.message[:_LONGEST]})
            for deployment, each in sorted(app.deployments.items())
        }
        entry = _without_empty({"status": app.status, "message": app.message[-_LONGEST:]})
        result[name] = {**entry, "serveDeploymentStatuses": deployments} if deployments else entry
    return result


def _summary(applications: Mapping[str, Object]) -> Object:
    """``status.appStatus`` of the interface documents: all applications in one word, and each."""
    states = {app["status"] for app in applications.values()}
    bad = states & {UNHEALTHY, DEPLOY_FAILED}
    word = UNHEALTHY if bad else "HEALTHY" if states == {RUNNING} else "DEPLOYING"
    message = next((app["message"] for app in applications.values() if app["status"] in bad and "message" in app), "")
    each = {
        name: {part: app[part] for part in ("status", "message") if part in app} for name, app in applications.items()
    }
    return _without_empty({"status": word, "message": message, "applications": each})


def _deployments(applications: Mapping[str, Object]) -> list[Object]:
    return [
        {"name": deployment, "application": name, **each}
        for name, app in applications.items()
        for deployment, each in app.get("serveDeploymentStatuses", {}).items()
    ]


def _without_empty(entry: Object) -> Object:
    return {name: value for name, value in entry.items() if value}
