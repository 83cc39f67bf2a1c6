"""``rayward get token``: what a Ray cluster asks its clients for."""

from __future__ import annotations

import base64

from rayward.cli.failure import Code, CommandError
from rayward.cli.target import Session
from rayward.kinds import names
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import NotFound
from rayward.kube.core.resource import SECRETS
from rayward.kube.machinery.jsonvalue import Object, section

WORD = "token"
_KEY = "auth_token"


def token(session: Session, cluster: str) -> str:
    """The token of a RayCluster, or of the cluster of the RayService of that name that serves.

    Raises:
        ApiError: There is no such cluster, or its secret is not there yet.
        CommandError: The cluster asks for none.
    """
    try:
        found = session.client.get(RAY_CLUSTERS, cluster, session.namespace)
    except NotFound as missing:
        found = session.client.get(RAY_CLUSTERS, _serving(session, cluster, missing), session.namespace)
    secret = session.client.get(SECRETS, secret_name(found), session.namespace)
    return base64.b64decode(section(secret, "data")[_KEY]).decode()


def _serving(session: Session, service: str, missing: NotFound) -> str:
    try:
        found = session.client.get(RAY_SERVICES, service, session.namespace)
    except NotFound:
        raise missing from None
    name = section(section(found, "status"), "activeServiceStatus").get("rayClusterName")
    if not name:
        raise CommandError(
            Code.NO, f"rayservice {service} has no cluster yet", "", f"rayward describe rayservice {service}"
        )
    return str(name)


def secret_name(cluster: Object) -> str:
    """Which secret holds the token of a cluster.

    Raises:
        CommandError: None does.
    """
    name = str(cluster["metadata"]["name"])
    options = section(section(cluster, "spec"), "authOptions")
    if options.get("mode") != "token":
        why = "its authOptions.mode is not token: everyone who can reach it may use it"
        following = "set spec.authOptions.mode to token and apply it again"
        raise CommandError(Code.NO, f"raycluster {name} does not use a token", why, following)
    return str(options.get("secretName") or names.auth_secret(name))
