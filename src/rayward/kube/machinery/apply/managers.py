"""Names of field managers."""

from __future__ import annotations

from typing import Final

_MAX_BYTES: Final = 128


def manager_of(field_manager: str | None, user_agent: str) -> str:
    """Who writes: the manager that the request names, else the program that its User-Agent begins with."""
    if field_manager:
        return field_manager
    size = 0
    kept: list[str] = []
    for char in user_agent.partition("/")[0]:
        if not char.isprintable():
            continue
        size += len(char.encode(errors="replace"))
        if size > _MAX_BYTES:
            break
        kept.append(char)
    return "".join(kept)
