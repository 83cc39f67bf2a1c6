"""Whether a request may be sent a second time. Pure."""

from __future__ import annotations

from typing import Final

_MOST_ATTEMPTS: Final = 4


def may_ask_again(*, kept: bool, repeatable: bool, unread: bool, attempts: int) -> bool:
    """Whether a request that got no byte of an answer may go to a backend once more.

    It must still be there as a whole (``kept``), and either be harmless twice or certainly not have been read: a
    backend whose kernel reset the connection never handed the request to it.
    """
    return kept and attempts < _MOST_ATTEMPTS and (repeatable or unread)
