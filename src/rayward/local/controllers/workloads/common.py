"""What the controllers of workloads share: ownership, readiness over time, hashes of templates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeVar

import msgspec
import orjson

from rayward.kube.core.meta import controller_of, is_controlled_by, parse_time
from rayward.kube.core.objects import KubeObject
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.selectors import labels as selectors
from rayward.local.controllers.pods import SeenPod

T = TypeVar("T", bound=KubeObject)

ORPHANS: Final = "orphans"
"""Index of objects that no controller owns, by their namespace."""
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH: Final = 10


class Event(msgspec.Struct, frozen=True):
    """What to tell the user once it is done."""

    kind: Literal["Normal", "Warning"]
    reason: str
    message: str


def by_orphaned(found: KubeObject) -> Iterable[str]:
    return () if controller_of(found) is not None else (found.metadata.namespace,)


class Claimed(msgspec.Struct, frozen=True):
    """Whose objects are whose: those that are the owner's, those to adopt, and those to let go."""

    owned: tuple[Any, ...]
    adopt: tuple[Any, ...] = ()
    release: tuple[Any, ...] = ()


def claim(owner: KubeObject, selector: Object, own: Iterable[T], orphans: Iterable[T]) -> Claimed:
    """Compare ownership with labels; an owner that is going takes nothing and lets nothing go."""
    chosen = selectors.from_object(selector)
    mine = [found for found in own if is_controlled_by(found, owner)]
    if owner.deleting:
        return Claimed(tuple(mine))
    kept = tuple(found for found in mine if chosen.matches(found.metadata.labels))
    adopt = tuple(found for found in orphans if chosen.matches(found.metadata.labels) and not found.deleting)
    release = tuple(found for found in mine if found not in kept and not found.deleting)
    return Claimed((*kept, *adopt), adopt, release)


def adoption(owner: Object, found: KubeObject) -> Object:
    """The change that makes an orphan the owner's, and of none made anew under its name."""
    return {"metadata": {"ownerReferences": [owner], "uid": found.metadata.uid}}


def release_of(owner: KubeObject, found: KubeObject) -> Object:
    """The change that makes an object nobody's."""
    gone = {"$patch": "delete", "uid": owner.metadata.uid}
    return {"metadata": {"ownerReferences": [gone], "uid": found.metadata.uid}}


def available_in(pod: SeenPod, min_ready_seconds: int, now: datetime) -> float | None:
    """Seconds until a ready pod has been ready for long enough, 0 if it has; None if it is not ready."""
    ready = pod.condition("Ready")
    if ready is None or not pod.ready:
        return None
    if min_ready_seconds == 0:
        return 0.0
    if not ready.last_transition_time:
        return None
    since = parse_time(ready.last_transition_time)
    return max(0.0, (since + timedelta(seconds=min_ready_seconds) - now).total_seconds())


def template_hash(template: Mapping[str, Any], collisions: int) -> str:
    """A name for a template that differs from those of others; ``collisions`` gives another one."""
    text = orjson.dumps([template, collisions], option=orjson.OPT_SORT_KEYS)
    number = int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
    letters = ""
    for _ in range(_HASH_LENGTH):
        number, index = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[index]
    return letters
