"""How the operator writes: under one field manager, and as cheaply for the API server as may be."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels
from rayward.kube.client.errors import BadRequest, Forbidden, Invalid
from rayward.kube.client.options import WriteOptions
from rayward.kube.runtime.applied import AppliedMark

MANAGER: Final = "rayward-operator"
WORKERS: Final = 8
"""How many objects at once, each with several writes in flight. With more a burst ends later: statuses are written that
the next moment changes."""
# What is written here was made by code, from objects that the server has checked before: to look for unknown fields
# again costs the server a tenth of its time where many clusters are made at once, and nobody would read what it found.
WRITE: Final[WriteOptions] = {"field_manager": MANAGER, "field_validation": "Ignore"}
REFUSALS: Final = (Invalid, Forbidden, BadRequest)
"""What a server says to an object that it does not take: by its rules, a quota, a webhook or a policy."""
APPLIED: Final = AppliedMark(labels.APPLIED)
"""On what a RayCluster owns."""
