"""Ray's own HTTP interfaces: the dashboard and Serve behind it. Asynchronous, never inside a decision.

``reach`` gets a request to a head, ``dashboard`` speaks to it, ``poller`` asks all heads what its
probe asks (Serve's state: ``serve``) and wakes who waits: a reconcile reads what was seen last, and waits for no HTTP.
"""

from rayward.operator.ray.dashboard import Dashboard
from rayward.operator.ray.errors import RayError
from rayward.operator.ray.jobs import JobDashboard, JobInfo, Submission
from rayward.operator.ray.observation import Deploy, Observation, Target
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.reach import DirectReach, PodPort, ProxiedReach, Reach, ServicePort
from rayward.operator.ray.schedule import Pace
from rayward.operator.ray.serve import ServeProbe

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
    "ServeProbe",
    "ServicePort",
    "Submission",
    "Target",
]
