"""Requests to the dashboard of a Ray cluster, through the API server: nobody needs a route into the cluster."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from rayward.changes.steps import Operation, Send
from rayward.kinds import names
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import errors, verbs
from rayward.kube.client.paths import object_path
from rayward.kube.client.request import Request
from rayward.kube.core.resource import SECRETS, SERVICES
from rayward.kube.machinery.jsonvalue import Object, section

_PORT: Final = "dashboard"
_KEY: Final = "auth_token"
_SILENCE: Final = 60.0
_INTERVAL: Final = "0.5"


@dataclass(frozen=True, slots=True)
class RayDashboard:
    """The dashboard of one cluster."""

    namespace: str
    service: str
    token: str = ""

    def serve(self) -> Request:
        """What Ray Serve tells of its applications."""
        return self._request("GET", "/api/serve/applications/?api_type=declarative")

    def job(self, job_id: str) -> Request:
        """What Ray tells of a job."""
        return self._request("GET", f"/api/jobs/{quote(job_id, safe='')}")

    def stop(self, job_id: str) -> Request:
        """Ask Ray to end a job."""
        return self._request("POST", f"/api/jobs/{quote(job_id, safe='')}/stop", b"{}")

    def log(self, job_id: str, node_id: str, *, follow: bool) -> Request:
        """The whole log of a driver; with ``follow`` the answer goes on until somebody hangs up."""
        query = {"node_id": node_id, "filename": f"job-driver-{job_id}.log", "lines": "-1"}
        query |= {"interval": _INTERVAL} if follow else {}
        return self._request("GET", f"/api/v0/logs/{'stream' if follow else 'file'}?{urlencode(query)}")

    def _request(self, method: str, path: str, body: bytes | None = None) -> Request:
        # Ray's own header: Authorization is the API server's.
        headers = (("x-ray-authorization", f"Bearer {self.token}"),) if self.token else ()
        proxy = object_path(SERVICES, self.namespace, f"{self.service}:{_PORT}", "proxy")
        return Request(method, f"{proxy}{path}", body=body, accept="*/*", seconds=_SILENCE, headers=headers)


def dashboard_of(namespace: str, cluster: str) -> Operation[RayDashboard | None]:
    """The dashboard of a RayCluster; None where the cluster is not there."""
    try:
        found: Object = yield Send(verbs.get(RAY_CLUSTERS, cluster, namespace))
    except errors.NotFound:
        return None
    head = section(section(found, "status"), "head")
    service = str(head.get("serviceName") or names.head_service(cluster))
    options = section(section(found, "spec"), "authOptions")
    if options.get("mode") != "token":
        return RayDashboard(namespace, service)
    secret = str(options.get("secretName") or names.auth_secret(cluster))
    try:
        held: Object = yield Send(verbs.get(SECRETS, secret, namespace))
    except errors.NotFound:
        return None
    token = base64.b64decode(str(section(held, "data").get(_KEY) or "")).decode()
    return RayDashboard(namespace, service, token)
