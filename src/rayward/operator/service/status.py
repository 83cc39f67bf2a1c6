"""The status of a service: KubeRay's fields, and those of the interface documents beside them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from rayward.kinds.raycluster import Object
from rayward.kinds.rayservice import RayService, RayServiceStatus
from rayward.kube.core.meta import condition_of, is_true, rfc3339
from rayward.kube.core.objects import Condition
from rayward.operator.cluster import status as cluster_status
from rayward.operator.service.conditions import PROGRESSING, READY, SUSPENDED, Conditions
from rayward.operator.service.member import DEPLOY_FAILED, RUNNING, UNHEALTHY
from rayward.operator.service.observe import ClusterSeen

_LONGEST: Final = 4096


def status_of(
    service: RayService,
    conditions: Conditions,
    *,
    active: ClusterSeen | None,
    pending: ClusterSeen | None,
    endpoints: int,
    accepted: bool,
    now: datetime,
) -> Object:
    """A whole status, as JSON; what is not in it is to be taken away."""
    before = service.status
    serving = is_true(conditions, READY)
    shown = active or pending
    status: Object = {
        "conditions": [_whole(found) for found in conditions],
        "serviceStatus": "Running" if serving else "",
        "numServeEndpoints": endpoints,
        "observedGeneration": service.metadata.generation if accepted else before.observed_generation,
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


def change(before: Mapping[str, Any], after: Object) -> Object:
    """The merge patch from what the server has; empty where only the time of writing would change."""
    return cluster_status.patch({name: value for name, value in before.items() if name != "lastUpdateTime"}, after)


def _word(conditions: Conditions, shown: ClusterSeen | None, *, serving: bool) -> str:
    """One word for it, as the interface documents have it."""
    if is_true(conditions, SUSPENDED):
        return "SUSPENDED"
    states = {app.status for app in shown.member.serve.applications} if shown and shown.member.serve else set[str]()
    if UNHEALTHY in states:
        return UNHEALTHY
    if serving:
        return RUNNING
    progressing = condition_of(conditions, PROGRESSING)
    failed = progressing is not None and progressing.status == "False"
    return "FAILED" if failed or DEPLOY_FAILED in states else "DEPLOYING"


def _part(seen: ClusterSeen, before: RayServiceStatus) -> Object:
    part: Object = {
        "rayClusterName": seen.cluster.metadata.name,
        "rayClusterStatus": cluster_status.body(seen.cluster.status),
    }
    applications = _applications(seen, before)
    if applications:
        part["applicationStatuses"] = applications
    return part


def _applications(seen: ClusterSeen, before: RayServiceStatus) -> dict[str, Object]:
    serve = seen.observation.serve
    if serve is None and seen.member.head_ready:
        # An operator that has just begun knows nothing better than what was told before.
        for part in (before.active_service_status, before.pending_service_status):
            if part is not None and part.ray_cluster_name == seen.cluster.metadata.name:
                return part.application_statuses or {}
    found: dict[str, Object] = {}
    for name, app in sorted(serve.applications.items()) if serve else ():
        deployments = {
            deployment: _without_empty({"status": told.status, "message": told.message[:_LONGEST]})
            for deployment, told in sorted(app.deployments.items())
        }
        entry = _without_empty({"status": app.status, "message": app.message[-_LONGEST:]})
        found[name] = {**entry, "serveDeploymentStatuses": deployments} if deployments else entry
    return found


def _summary(applications: Mapping[str, Object]) -> Object:
    """All applications in one word, and each in its own."""
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
        {"name": deployment, "application": name, **told}
        for name, app in applications.items()
        for deployment, told in app.get("serveDeploymentStatuses", {}).items()
    ]


def _without_empty(entry: Object) -> Object:
    return {name: value for name, value in entry.items() if value}


def _whole(condition: Condition) -> Object:
    """The schema requires these fields, empty or not."""
    return {"status": condition.status, "reason": "", "message": "", **msgspec.to_builtins(condition)}
