"""``rayward logs rayservice/NAME``: the logs of Serve's replicas, in the cluster that serves and in one that starts.

Replicas write to files of their own, not to their pod's log. Ray's dashboard reads them, wherever the replica runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

import msgspec

from rayward.cli import raytoken
from rayward.cli.failure import Code, CommandError
from rayward.cli.target import Session
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.errors import ApiError
from rayward.kube.client.paths import object_path
from rayward.kube.client.request import Request
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object, section

_PORT = 8265
_LINES = 1000


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica and where its log is."""

    head: str
    name: str
    node: str
    file: str
    headers: tuple[tuple[str, str], ...] = ()


def replicas(session: Session, service: Object) -> tuple[list[Replica], list[str]]:
    """The replicas of a RayService, those of the cluster that serves first, and why others are not among them.

    Raises:
        CommandError: None has started, or no dashboard answers.
    """
    status = section(service, "status")
    names = [
        str(name)
        for part in ("activeServiceStatus", "pendingServiceStatus")
        if (name := section(status, part).get("rayClusterName"))
    ]
    found: list[Replica] = []
    troubles: list[str] = []
    for name in names:
        try:
            found += _of_cluster(session, name)
        except (ApiError, CommandError) as error:
            troubles.append(f"{name}: {error}")
    if not found:
        what = f"no replica of rayservice {service['metadata']['name']} has a log yet"
        why = "; ".join(troubles) or ("its applications have not started" if names else "it has no RayCluster yet")
        following = f"rayward describe rayservice {service['metadata']['name']}"
        raise CommandError(Code.NO, what, why, following)
    return found, troubles


def text(session: Session, replica: Replica, lines: int | None) -> bytes:
    """The end of a replica's log; all of it for -1 lines."""
    query = urlencode({"node_id": replica.node, "filename": replica.file, "lines": _LINES if lines is None else lines})
    path = f"api/v0/logs/file?{query}&filter_ansi_code=true"
    return session.client.answer(_ask(session, replica.head, path, replica.headers)).body


def _of_cluster(session: Session, cluster: str) -> Iterator[Replica]:
    selector = f"{labels.CLUSTER}={cluster},{labels.NODE_TYPE}={labels.HEAD}"
    heads = session.client.list(PODS, session.namespace, label_selector=selector).items
    if not heads:
        return
    head = str(heads[0]["metadata"]["name"])
    spec = section(session.client.get(RAY_CLUSTERS, cluster, session.namespace), "spec")
    headers: tuple[tuple[str, str], ...] = ()
    if section(spec, "authOptions").get("mode") == "token":
        headers = (("x-ray-authorization", f"Bearer {raytoken.token(session, cluster)}"),)
    answer = session.client.answer(_ask(session, head, "api/serve/applications/", headers))
    applications: Object = section(msgspec.json.decode(answer.body), "applications")
    for name, app in sorted(applications.items()):
        for deployment, found in sorted(section(app, "deployments").items()):
            for replica in found.get("replicas") or ():
                if replica.get("node_id") and replica.get("log_file_path"):
                    title = f"{cluster}/{name}/{deployment}/{replica.get('replica_id', '')}"
                    yield Replica(head, title, replica["node_id"], str(replica["log_file_path"]).lstrip("/"), headers)


def _ask(session: Session, head: str, path: str, headers: tuple[tuple[str, str], ...]) -> Request:
    target = f"{object_path(PODS, session.namespace, f'{head}:{_PORT}', 'proxy')}/{path}"
    return Request("GET", target, accept="*/*", headers=headers)
