"""The tokens with which dashboards let the operator in."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Final

from rayward.kinds import names
from rayward.kinds.raycluster import RayCluster
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.core.resource import SECRETS
from rayward.kube.machinery.jsonvalue import section
from rayward.operator.ray.errors import Unauthorized
from rayward.operator.ray.observation import Observation

RETRY_SECONDS: Final = 10.0

_TOKEN: Final = "auth_token"  # noqa: S105


class Tokens:
    """What is known of them, by the uid of the cluster; read once, and again when a head refuses one."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    async def learn(self, client: Client, clusters: Iterable[tuple[RayCluster, Observation]]) -> bool:
        """Read what is not known of these clusters and forget all others; whether one of them is still refused."""
        asking = [(cluster, _is_refused(observation)) for cluster, observation in clusters if _asks(cluster)]
        self.known = {
            uid: self.known[uid]
            for cluster, refused in asking
            if (uid := cluster.metadata.uid) in self.known and not refused
        }
        for cluster, _ in asking:
            uid = cluster.metadata.uid
            if uid not in self.known and (token := await _read(client, cluster)):
                self.known[uid] = token
        return any(refused for _, refused in asking)


def _asks(cluster: RayCluster) -> bool:
    auth = cluster.spec.auth_options
    return auth is not None and auth.mode == "token" and not cluster.deleting


def _is_refused(observation: Observation) -> bool:
    failure = observation.failure
    return failure is not None and failure.reason == Unauthorized.__name__


async def _read(client: Client, cluster: RayCluster) -> str:
    auth, metadata = cluster.spec.auth_options, cluster.metadata
    name = (auth.secret_name if auth else "") or names.auth_secret(metadata.name)
    try:
        secret = await client.get(SECRETS, name, metadata.namespace)
        return base64.b64decode(section(secret, "data").get(_TOKEN, "")).decode()
    except (NotFound, binascii.Error, UnicodeDecodeError):
        return ""
