"""The parts of a running server that the verbs work with."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.hub import Hub
from rayward.local.apiserver.objects import Objects
from rayward.local.apiserver.rbac.authorizer import Authorizer
from rayward.local.apiserver.registry import Registry
from rayward.local.apiserver.resource import Resource

_NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def random_suffix() -> str:
    """Five letters that spell no word, as generateName appends them."""
    return "".join([_NAME_LETTERS[byte % len(_NAME_LETTERS)] for byte in secrets.token_bytes(5)])


Release = Callable[[], None]
"""To be called once the object is stored or refused: only then may what was given be given again."""


class Admission(Protocol):
    """What must hold, and what is filled in, before an object is stored."""

    async def mutate(self, core: Core, attributes: Attributes, warnings: list[str]) -> Object:
        """Complete the object; the result may be another one."""
        ...

    async def validate(self, core: Core, attributes: Attributes, warnings: list[str]) -> None:
        """Refuse what must not be stored or deleted."""
        ...

    def allocate(self, core: Core, resource: Resource, obj: Object, old: Object | None, *, dry_run: bool) -> Release:
        """Give the object what only the server can give, such as a cluster IP."""
        ...


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
