"""Whether a request may be sent a second time. Pure."""

from __future__ import annotations

import errno
from typing import Final

from rayward.local.traffic.http.message import Request

MOST_KEPT: Final = 64 * 1024
"""So much of a request is kept to ask again."""
_MOST_ATTEMPTS: Final = 4


def may_ask_again(*, kept: bool, repeatable: bool, unread: bool, attempts: int) -> bool:
    """Whether a request that got no byte of an answer may go to a backend once more.

    It must still be there as a whole (``kept``), and either be harmless twice or not have been read.
    """
    return kept and attempts < _MOST_ATTEMPTS and (repeatable or unread)


def was_unread(error: int | None, *, at_once: bool) -> bool:
    """Whether a backend never read a request on a connection that ended with this error and without an answer.

    A reset says that something was there that nobody had read; of what is sent at once, servers read all or nothing.
    Other errors, such as a network that is gone, say nothing about what was read before.
    """
    return at_once and error in (errno.EPIPE, errno.ECONNRESET)


def is_sent_at_once(request: Request) -> bool:
    """Whether a request whose body is not there yet is kept back until it is.

    What is not harmless twice can then be repeated if it was not read. A client that wants to hear something before
    it sends its body cannot be waited for.
    """
    return not request.repeatable and _fits(request) and not request.asks_first


def may_meet_an_end(request: Request, *, whole: int | None) -> bool:
    """Whether a request can still be repeated if a backend that was asked before closes just when it comes.

    Args:
        request: The request.
        whole: Its size, where all of it is there.
    """
    return whole <= MOST_KEPT if whole is not None else request.repeatable and _fits(request)


def _fits(request: Request) -> bool:
    return 0 <= request.length <= MOST_KEPT - len(request.head)
