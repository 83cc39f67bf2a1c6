"""The parts of a running server that the verbs work with."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from rayward.local.apiserver.admission import Admission
from rayward.local.apiserver.hub import Hub
from rayward.local.apiserver.objects import Objects
from rayward.local.apiserver.rbac.authorizer import Authorizer
from rayward.local.apiserver.registry import Registry

_NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def random_suffix() -> str:
    """Five letters that spell no word, as generateName appends them."""
    return "".join(secrets.choice(_NAME_LETTERS) for _ in range(5))


@dataclass(slots=True)
class Core:
    """What the verbs share."""

    objects: Objects
    registry: Registry
    hub: Hub
    admission: Admission
    authorizer: Authorizer
    clock: Callable[[], float] = time.time
    suffix: Callable[[], str] = random_suffix
