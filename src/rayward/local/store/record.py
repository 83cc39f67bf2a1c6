"""What the store holds and what it tells.

Both types are leaves, so the garbage collector need not track them: a hundred thousand of them cost no pause.
"""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, gc=False):
    """The version of one key that the write with this revision left."""

    key: str
    revision: int
    value: bytes


class Event(msgspec.Struct, frozen=True, gc=False):
    """One write: ``record`` is what it left (None: deleted), ``previous`` what it replaced.

    ``value`` is the new value or, for a delete, the final bytes that the deleter gave.
    """

    revision: int
    key: str
    record: Record | None
    previous: Record | None
    value: bytes

    @property
    def superseded_bytes(self) -> int:
        """How many bytes are in memory only because this event is."""
        replaced = len(self.previous.value) if self.previous is not None else 0
        return replaced + len(self.value) if self.record is None else replaced
