"""How the operator writes: under one name, and as cheaply for the API server as may be."""

from __future__ import annotations

from typing import Final

import msgspec

from rayward.kube.client.options import WriteOptions
from rayward.kube.client.request import METADATA, Request

MANAGER: Final = "rayward-operator"
WORKERS: Final = 8
"""How many objects at once, each with several writes in flight. With more a burst ends later: statuses are told that
the next moment changes."""
# What is written here was made by code, from objects that the server has checked before: to look for unknown fields
# again costs the server a tenth of its time where many clusters are made at once, and nobody would read what it found.
WRITE: Final[WriteOptions] = {"field_manager": MANAGER, "field_validation": "Ignore"}


def repeatable(request: Request) -> Request:
    """A request that may be sent again where its answer was lost: its effect is told by what is there then."""
    return msgspec.structs.replace(request, repeatable=True)


def brief(request: Request) -> Request:
    """A repeatable request of whose answer only the metadata is wanted."""
    return msgspec.structs.replace(request, repeatable=True, accept=METADATA)
