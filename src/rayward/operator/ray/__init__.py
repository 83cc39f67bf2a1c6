"""Ray's own HTTP interfaces: the dashboard, Serve behind it, Serve's proxies. Asynchronous, never inside a decision.

``reach`` gets a request to a head, ``dashboard`` and ``proxy`` speak to it, ``poller`` watches all heads at once and
tells when something changed: a reconcile reads what was seen last and never waits for HTTP.
"""

from rayward.operator.ray.dashboard import Dashboard
from rayward.operator.ray.errors import RayError
from rayward.operator.ray.jobs import JobDashboard, JobInfo, Submission
from rayward.operator.ray.observation import Deploy, Observation, Target
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.proxy import ServeProxy
from rayward.operator.ray.reach import DirectReach, PodPort, ProxiedReach, Reach, ServicePort
from rayward.operator.ray.schedule import Pace

__all__ = [
    "Dashboard",
    "Deploy",
    "DirectReach",
    "JobDashboard",
    "JobInfo",
    "Observation",
    "Pace",
    "PodPort",
    "Poller",
    "ProxiedReach",
    "RayError",
    "Reach",
    "ServeProxy",
    "ServicePort",
    "Submission",
    "Target",
]
