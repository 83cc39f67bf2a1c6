"""One thing that happened."""

from __future__ import annotations

from typing import Literal

import msgspec

What = Literal["spec", "condition", "traffic", "pod", "event", "outcome", "deleted", "created"]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened to an object or to what belongs to it.

    Attributes:
        at: When, as RFC 3339 in UTC.
        namespace: Of the object.
        kind: Of the object that it happened to: RayService, RayCluster, RayJob or Pod.
        name: Its name.
        what: What sort of thing.
        text: In one line.
        by: Who did it, where that is known.
        owner: ``kind/name`` of the object of Ray's that it belongs to, where it is not that object itself.
        detail: More lines, such as the end of a log, or the fields of an edit with their values before and after.
    """

    at: str
    namespace: str
    kind: str
    name: str
    what: What
    text: str
    by: str = ""
    owner: str = ""
    detail: str = ""

    def concerns(self, ref: str) -> bool:
        """Whether it is about the object ``kind/name``, in lower case, or about what belongs to it."""
        return ref in (f"{self.kind.lower()}/{self.name}", self.owner.lower())
