"""Whether to send a request again, and when."""

from __future__ import annotations

import msgspec

from rayward.kube.client.credentials import ConfigError
from rayward.kube.client.errors import ApiError, Timeout, TooManyRequests
from rayward.kube.client.request import Request
from rayward.net.errors import NetworkError, ProtocolError


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often and how fast."""

    attempts: int = 6
    """Tries in all, the first included."""
    first_seconds: float = 0.1
    longest_seconds: float = 10.0
    longest_asked_seconds: float = 60.0
    """A server that asks for a longer wait gets none: the caller decides."""


SOMETIMES = RetryPolicy()


def wait_before_retry(
    policy: RetryPolicy, attempt: int, request: Request, failure: ApiError | NetworkError, chance: float
) -> float | None:
    """Seconds to wait after the failure of try number ``attempt`` (from 1), or None to give up.

    A request is sent again when the server cannot have acted on it (429, no connection), when it asks for that
    (Retry-After), or when sending twice does no harm. ``chance`` in [0, 1) spreads clients out.
    """
    if attempt >= policy.attempts or not _may_repeat(request, failure):
        return None
    grown = min(policy.first_seconds * 2 ** (attempt - 1), policy.longest_seconds)
    spread = grown * (0.5 + chance)
    asked = failure.retry_after if isinstance(failure, ApiError) else None
    if asked is None:
        return spread
    return None if asked > policy.longest_asked_seconds else max(asked, spread)


def _may_repeat(request: Request, failure: ApiError | NetworkError) -> bool:
    if isinstance(failure, ConfigError):
        return False
    if isinstance(failure, NetworkError):
        return not failure.sent or (request.repeatable and not isinstance(failure, ProtocolError))
    if isinstance(failure, TooManyRequests):
        # An eviction that a disruption budget refuses is a 429 too, with a cause: waiting inside the client hides it.
        return not failure.has_cause("DisruptionBudget")
    if isinstance(failure, Timeout) and failure.version_too_large:
        # The server already waited for that version; who asked for it knows better what to do.
        return False
    return failure.retryable and (request.repeatable or failure.retry_after is not None)
