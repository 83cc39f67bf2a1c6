"""The durable ordered log behind the embedded API server.

Every write gets the next revision of one counter. It is acknowledged, readable and sent to watchers only once it is on
disk, so nothing anyone has seen is lost by a killed process or by power loss. The latest version of every key and the
recent events are held in memory as bytes; the file is read only when the store is opened.

All methods are called from one event loop. Only this room knows SQLite.
"""

from rayward.local.store.errors import (
    Compacted,
    Conflict,
    DamagedError,
    FormatError,
    LockedError,
    Overloaded,
    StoreClosed,
    StoreError,
    StoreFailed,
)
from rayward.local.store.record import Event, Record
from rayward.local.store.settings import Retention, Tuning
from rayward.local.store.store import Store

__all__ = [
    "Compacted",
    "Conflict",
    "DamagedError",
    "Event",
    "FormatError",
    "LockedError",
    "Overloaded",
    "Record",
    "Retention",
    "Store",
    "StoreClosed",
    "StoreError",
    "StoreFailed",
    "Tuning",
]
