"""What happened to an object, in order: a record that outlives it, and never state that a decision reads.

``transitions`` turns two states of an object into entries, ``recorder`` feeds a ``store`` with them from the operator's
shared watches, ``serving`` and ``asking`` bring it to readers through the API server, ``reading`` asks the API server
for what it still knows where nobody recorded. ``page`` and ``stats`` are made from entries and revisions.
"""

from rayward.changes.timeline.entry import Entry
from rayward.changes.timeline.reading import read_timeline
from rayward.changes.timeline.serving import Recorded
from rayward.changes.timeline.store import Store

__all__ = ["Entry", "Recorded", "Store", "read_timeline"]
