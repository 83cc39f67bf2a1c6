"""What can go wrong below HTTP, by what the caller may do next.

NetworkError
├── ConnectFailed    nothing was sent: sending again is always safe
├── ConnectionLost   the peer may have acted on the request
├── TimedOut         the peer may have acted on the request
└── ProtocolError    the peer does not speak what we expect; trying again rarely helps
"""

# ruff: noqa: N818 - the names say what happened; that they are errors the tree says
from __future__ import annotations


class NetworkError(Exception):
    """No whole answer came back."""

    sent = True
    """Whether the peer may have seen the request."""


class ConnectFailed(NetworkError):
    """No connection, so the peer never saw the request."""

    sent = False


class ConnectionLost(NetworkError):
    """The connection ended before the answer was complete."""


class TimedOut(NetworkError):
    """The answer, or the next part of it, did not come in time."""


class ProtocolError(NetworkError):
    """The answer is not what the protocol allows, or is larger than we accept."""
