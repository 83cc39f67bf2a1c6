"""Whether a cluster is ready to serve its release, and whether it still makes progress towards that."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from rayward.operator.service.diagnosis import cause_of, detail_of, summary
from rayward.operator.service.state import (
    DEPLOY_FAILED,
    NOT_STARTED,
    RUNNING,
    UNHEALTHY,
    Application,
    ChildCluster,
    Readiness,
    Stage,
)

UNKNOWN: Final = "ServeUnknown"
"""The dashboard was not read yet."""
CLUSTER_SUSPENDED: Final = "ClusterSuspended"
WAITING_FOR_QUOTA: Final = "WaitingForQuota"

_MESSAGE_LIMIT: Final = 1500
_SUSPENDED: Final = "suspended"
_PROGRESS: Final = re.compile(r"head=(\d+) pods=(\d+) endpoints=(\d+) (\S*) (.*)")


def readiness_of(cluster: ChildCluster) -> Readiness:
    """How far the cluster is with the config it is to run; deadlines do not count here."""
    if cluster.quota is not None and cluster.quota.status == "False":
        return _waiting(WAITING_FOR_QUOTA, f"RayCluster {cluster.name}: {cluster.quota.message}"[:_MESSAGE_LIMIT])
    if cluster.suspended:
        return _waiting(CLUSTER_SUSPENDED, f"RayCluster {cluster.name} is suspended: waiting for it to be resumed")
    if not cluster.head_ready:
        return _waiting("ClusterNotReady", cluster.problem or f"Head pod of RayCluster {cluster.name} is not ready")
    serve = cluster.serve
    if serve is None and cluster.unreachable:
        message = f"Dashboard of RayCluster {cluster.name} is not reachable: {cluster.unreachable}"
        return _waiting("DashboardUnreachable", message[:_MESSAGE_LIMIT])
    if serve is None:
        return _waiting(UNKNOWN, f"Dashboard of RayCluster {cluster.name} has not answered yet")
    if serve.config != cluster.config:
        return config_not_sent(cluster)
    if serve.refusal:
        message = f"Ray rejected the Serve config: {summary(serve.refusal, cluster.service)}"
        return Readiness(Stage.FAILED, "ServeConfigRefused", message, detail_of(serve.refusal))
    for app in serve.applications:
        if app.status == DEPLOY_FAILED:
            return deploy_failed(app, cluster)
    found = {app.name: app for app in serve.applications}
    for name in sorted(cluster.applications):
        app = found.get(name)
        if app is None or app.status != RUNNING:
            status = app.status if app else NOT_STARTED
            reason = "ServeUnhealthy" if status == UNHEALTHY else "ServeDeploying"
            return _waiting(reason, _not_running(name, app, status, cluster))
    if cluster.endpoints == 0:
        return _waiting("NoReadyEndpoints", f"RayCluster {cluster.name} has no ready Serve endpoint")
    if cluster.unrouted:
        message = f"Serve proxy of pod {cluster.unrouted[0]} has no route to the applications yet"
        return _waiting("NoRoutes", message)
    message = f"All applications of RayCluster {cluster.name} are RUNNING"
    return Readiness(Stage.READY, "ApplicationsRunning", message)


def deploy_failed(app: Application, cluster: ChildCluster) -> Readiness:
    """An application that cannot be deployed, whether Ray has stopped trying or not."""
    message = _application(app.name, app.status, app.message, cluster.service)
    return Readiness(Stage.FAILED, "ServeDeployFailed", message, detail_of(app.message))


def config_not_sent(cluster: ChildCluster) -> Readiness:
    """Serve runs another config than it is to, whatever that one's applications report."""
    why = f": {cluster.unreachable[:_MESSAGE_LIMIT]}" if cluster.unreachable else ""
    return _waiting("ConfigNotSent", f"RayCluster {cluster.name} has not received the Serve config yet{why}")


def rolling(cluster: ChildCluster) -> Readiness:
    """Its workers are replaced one by one; why one of them does not come up is the cluster's problem."""
    why = f": {cluster.problem}"[:_MESSAGE_LIMIT] if cluster.problem else ""
    return _waiting("RollingWorkers", f"RayCluster {cluster.name} replaces its workers one by one{why}")


def resizing(cluster: ChildCluster) -> Readiness:
    """An edit of sizes alone: requests are answered all the while, and it is done when the workers are there."""
    what = cluster.missing or cluster.problem or "workers above the new sizes are being deleted"
    return _waiting("ScalingWorkers", f"RayCluster {cluster.name} scales its worker groups: {what}"[:_MESSAGE_LIMIT])


def overdue(cluster: ChildCluster, deadline: timedelta, now: datetime) -> bool:
    """Whether the last progress is older than ``deadline``; a suspended cluster waits for others and is never late."""
    since = cluster.progressed_at or cluster.created
    return since is not None and not cluster.suspended and now - since >= deadline


def progress_of(cluster: ChildCluster) -> str:
    """The furthest the cluster has been, as text to remember; equal to ``cluster.progress`` where it is no further.

    A pod that comes and goes, or an application that recovers and fails again, is progress once: else what fails in a
    circle would never be late.
    """
    return _further(cluster.progress, _current(cluster))


def first_progress(*, suspended: bool) -> str:
    """The progress of a cluster that was just created."""
    return _current(ChildCluster("", "", "", suspended=suspended))


def _waiting(reason: str, message: str) -> Readiness:
    return Readiness(Stage.WAITING, reason, message)


def _not_running(name: str, app: Application | None, status: str, cluster: ChildCluster) -> str:
    """The cause first: replicas find no room because a pod fails, and no pod fails because they find none."""
    text = (app.unscheduled or app.message if app else "") or cluster.problem
    failing = cluster.failing.partition("\n")[0]
    if failing and failing not in text and not cause_of(text) and status != UNHEALTHY:
        rest = f"; {summary(text, cluster.service)}" if text != cluster.problem else ""
        return f"Application {name} is {status}: {failing}{rest}"[:_MESSAGE_LIMIT]
    if app is not None and app.unscheduled and cluster.missing:
        text = f"{text}; {cluster.missing}"
    return _application(name, status, text, cluster.service)


def _application(name: str, status: str, message: str, service: str) -> str:
    detail = f": {summary(message, service)}" if message else ""
    return f"Application {name} is {status}{detail}"


def _current(cluster: ChildCluster) -> str:
    if cluster.suspended:
        return _SUSPENDED
    apps = cluster.serve.applications if cluster.serve else ()
    states = ",".join(f"{app.name}={app.status}" for app in sorted(apps, key=lambda app: app.name))
    config = cluster.serve.config if cluster.serve else ""
    return f"head={int(cluster.head_ready)} pods={cluster.ready_pods} endpoints={cluster.endpoints} {config} {states}"


def _further(before: str, now: str) -> str:
    was, found = _PROGRESS.fullmatch(before), _PROGRESS.fullmatch(now)
    if was is None or found is None:
        return now
    if was[4] and found[4] and was[4] != found[4]:
        # Another config starts from zero.
        return now
    head, pods, endpoints = (max(int(was[place]), int(found[place])) for place in (1, 2, 3))
    states = _states(found[5])
    for name, state in _states(was[5]).items():
        states[name] = max((state, states.get(name, state)), key=_rank)
    text = ",".join(f"{name}={state}" for name, state in sorted(states.items()))
    return f"head={head} pods={pods} endpoints={endpoints} {found[4] or was[4]} {text}"


def _rank(state: str) -> int:
    """Of two states of one rank the remembered one stays."""
    return {NOT_STARTED: 0, RUNNING: 2}.get(state, 1)


def _states(text: str) -> dict[str, str]:
    return dict(part.rsplit("=", 1) for part in text.split(",") if "=" in part)
