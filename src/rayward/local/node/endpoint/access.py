"""Who may ask: clients whose certificate or token the API server knows, and who may use nodes' inner interface."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import NetworkError

Who = tuple[str, tuple[str, ...]]

_TOKEN_REVIEWS: Final = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
_ACCESS_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
_log = logging.getLogger(__name__)
_MASTERS: Final = "system:masters"
_REMEMBERED_SECONDS: Final = 60.0
_REMEMBERED: Final = 256


class Gate:
    """Lets callers in, or says with which status they are refused."""

    def __init__(self, client: Client, node: str, now: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._node = node
        self._now = now
        self._known: dict[object, tuple[float, int]] = {}

    async def check(self, certificate: Who | None, token: str) -> int:
        """200, 401 or 403; 500 where the API server could not be asked, which is asked again the next time."""
        key = certificate or token
        if not key:
            return 401
        known = self._known.get(key)
        if known is not None and known[0] > self._now():
            return known[1]
        try:
            answer = await self._ask(certificate, token)
        except (ApiError, NetworkError) as error:
            _log.warning("who may use the node's endpoint cannot be asked: %s", error)
            return 500
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[key] = (self._now() + _REMEMBERED_SECONDS, answer)
        return answer

    async def _ask(self, certificate: Who | None, token: str) -> int:
        who = certificate or await self._review(token)
        if who is None:
            return 401
        return 200 if _MASTERS in who[1] or await self._may(who) else 403

    async def _review(self, token: str) -> Who | None:
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "metadata": {},
            "spec": {"token": token},
        }
        status = section(await self._client.create(_TOKEN_REVIEWS, review), "status")
        user = section(status, "user")
        return (user.get("username", ""), tuple(entries(user, "groups"))) if status.get("authenticated") else None

    async def _may(self, who: Who) -> bool:
        attributes = {"verb": "get", "resource": "nodes", "subresource": "proxy", "name": self._node, "version": "v1"}
        review: Object = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {},
            "spec": {"user": who[0], "groups": list(who[1]), "resourceAttributes": attributes},
        }
        status = section(await self._client.create(_ACCESS_REVIEWS, review), "status")
        return bool(status.get("allowed"))
