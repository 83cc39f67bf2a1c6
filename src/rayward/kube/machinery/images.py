"""References to container images."""

from __future__ import annotations

import re
from functools import lru_cache

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(
    rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*(?::(\w[\w.-]{{0,127}}))?(?:@({_DIGEST}))?", re.ASCII
)
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")


@lru_cache(maxsize=1024)
def pull_policy_of(image: str) -> str:
    """When an image is pulled if nothing was said: always if its tag is ``latest``, written or implied."""
    match = None if _IDENTIFIER.fullmatch(image) else _REFERENCE.fullmatch(image)
    if match is None:
        return "IfNotPresent"
    tag, digest = match.groups()
    latest = tag == "latest" or (tag is None and digest is None)
    return "Always" if latest else "IfNotPresent"
