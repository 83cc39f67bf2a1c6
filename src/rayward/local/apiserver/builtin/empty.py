"""What a missing part of an object reads as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
"""An object without fields; nobody can write to it."""

NO_ITEMS: Final[Sequence[Any]] = ()
"""A list without items."""
