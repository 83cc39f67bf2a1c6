"""The headers of a request."""

from __future__ import annotations

from typing import Final

from rayward.kube.client.access import Access
from rayward.kube.client.credentials import Credential
from rayward.kube.client.request import Request

USER_AGENT: Final = "rayward"


def request_headers(request: Request, access: Access, credential: Credential, agent: str) -> list[tuple[str, str]]:
    """All headers that a transport sends. Nothing is compressed: we are mostly near, and time is dearer than bytes."""
    headers = [("Accept", request.accept), ("Accept-Encoding", "identity"), ("User-Agent", agent)]
    if request.body is not None:
        headers.append(("Content-Type", request.content_type))
    if credential.token:
        headers.append(("Authorization", f"Bearer {credential.token}"))
    headers.extend(access.headers)
    headers.extend(request.headers)
    return headers
