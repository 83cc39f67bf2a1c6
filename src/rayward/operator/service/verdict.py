"""Whether a cluster answers for its release: ready, on its way, or failed for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from rayward.operator.service.member import DEPLOY_FAILED, RUNNING, UNHEALTHY, Member

UNKNOWN: Final = "ServeUnknown"
"""Nobody has asked the cluster's Serve yet, or it did not answer."""

_MESSAGE_LIMIT: Final = 1500


class Stage(Enum):
    """How far a cluster is."""

    WAITING = "Waiting"
    READY = "Ready"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A stage, the reason for it as a condition says it, and what a person should read."""

    stage: Stage
    reason: str
    message: str


def judge(member: Member) -> Verdict:
    """How far the cluster is with the config it is to run, whatever time it has left."""
    if member.suspended:
        return Verdict(
            Stage.WAITING, "ClusterSuspended", f"RayCluster {member.name} is suspended and waits to be released"
        )
    if not member.head_ready:
        return Verdict(
            Stage.WAITING, "ClusterNotReady", member.ailment or f"the head of RayCluster {member.name} is not ready"
        )
    serve = member.serve
    if serve is None and member.unreachable:
        message = f"the dashboard of RayCluster {member.name} does not answer as it should: {member.unreachable}"
        return Verdict(Stage.WAITING, "DashboardUnreachable", message[:_MESSAGE_LIMIT])
    if serve is None:
        return Verdict(Stage.WAITING, UNKNOWN, f"the dashboard of RayCluster {member.name} has not answered")
    if serve.config != member.config:
        return not_sent(member)
    if serve.refusal:
        return Verdict(
            Stage.FAILED, "ServeConfigRefused", f"Ray refuses the serve config: {serve.refusal[-_MESSAGE_LIMIT:]}"
        )
    failed = [app for app in serve.applications if app.status == DEPLOY_FAILED]
    if failed:
        return Verdict(Stage.FAILED, "ServeDeployFailed", _told(failed[0].name, failed[0].status, failed[0].message))
    seen = {app.name: app for app in serve.applications}
    for name in sorted(member.applications):
        app = seen.get(name)
        if app is None or app.status != RUNNING:
            status = app.status if app else "NOT_STARTED"
            reason = "ServeUnhealthy" if status == UNHEALTHY else "ServeDeploying"
            message = (app.message if app else "") or member.ailment
            return Verdict(Stage.WAITING, reason, _told(name, status, message))
    if member.endpoints == 0:
        return Verdict(Stage.WAITING, "NoReadyEndpoints", f"no pod of RayCluster {member.name} takes requests")
    return Verdict(Stage.READY, "ApplicationsRunning", f"all applications of RayCluster {member.name} are RUNNING")


def not_sent(member: Member) -> Verdict:
    """The cluster runs another config than it is to, whatever that one's applications say."""
    why = f": {member.unreachable[:_MESSAGE_LIMIT]}" if member.unreachable else ""
    return Verdict(Stage.WAITING, "ConfigNotSent", f"RayCluster {member.name} has not taken the serve config{why}")


def overdue(member: Member, deadline: timedelta, now: datetime) -> bool:
    """Whether the last progress lies longer back than allowed; a suspended cluster waits for others, not late."""
    since = member.progressed_at or member.created
    return since is not None and not member.suspended and now - since >= deadline


def _told(name: str, status: str, message: str) -> str:
    detail = f": {message[-_MESSAGE_LIMIT:]}" if message else ""
    return f"application {name} is {status}{detail}"
