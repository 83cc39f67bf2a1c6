"""``$(VAR)`` in commands, arguments and variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by its value; ``$$`` is a dollar sign, unknown names stay as written."""

    def replacement(found: re.Match[str]) -> str:
        name: str | None = found.group(1)
        if name is None:
            return "$"
        return values.get(name, found.group(0))

    return _REFERENCE.sub(replacement, text)
