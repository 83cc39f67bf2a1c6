"""The tokens with which dashboards let the operator in."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Final

from rayward.kinds import names
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.core.resource import SECRETS
from rayward.kube.machinery.jsonvalue import section
from rayward.operator.ray.errors import Unauthorized
from rayward.operator.service.observe import ClusterSeen

RETRY_SECONDS: Final = 10.0

_TOKEN: Final = "auth_token"  # noqa: S105


class Tokens:
    """What is known of them, by the uid of the cluster; read once, and again when a head refuses one."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    async def learn(self, client: Client, clusters: Iterable[ClusterSeen]) -> bool:
        """Read what is not known of these clusters and forget all others; whether one of them is still refused."""
        clusters = [seen for seen in clusters if _asks(seen)]
        refused = [seen for seen in clusters if _refused(seen)]
        self.known = {
            uid: self.known[uid]
            for seen in clusters
            if (uid := seen.cluster.metadata.uid) in self.known and not _refused(seen)
        }
        for seen in clusters:
            uid = seen.cluster.metadata.uid
            if uid not in self.known and (token := await _read(client, seen)):
                self.known[uid] = token
        return bool(refused)


def _asks(seen: ClusterSeen) -> bool:
    auth = seen.cluster.spec.auth_options
    return auth is not None and auth.mode == "token" and not seen.cluster.deleting


def _refused(seen: ClusterSeen) -> bool:
    failure = seen.observation.failure
    return failure is not None and failure.reason == Unauthorized.__name__


async def _read(client: Client, seen: ClusterSeen) -> str:
    auth, metadata = seen.cluster.spec.auth_options, seen.cluster.metadata
    name = (auth.secret_name if auth else "") or names.auth_secret(metadata.name)
    try:
        secret = await client.get(SECRETS, name, metadata.namespace)
        return base64.b64decode(section(secret, "data").get(_TOKEN, "")).decode()
    except (NotFound, binascii.Error, UnicodeDecodeError):
        return ""
