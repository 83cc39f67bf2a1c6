"""What can go wrong with a head, by what the caller may do next.

RayError
├── Unreachable     no answer from Ray: look again, more and more seldom
├── Failed          Ray broke down over it: the same may work later
├── Unauthorized    Ray wants another token: read the Secret again
├── WrongSession    somebody else's head answered: send nothing
├── Refused         Ray will never take this: change what is sent
└── Unintelligible  not an answer of Ray that we understand
"""

# ruff: noqa: N818 - the names say what happened; that they are errors the tree says
from __future__ import annotations


class RayError(Exception):
    """A request to a head did not end well."""


class Unreachable(RayError):
    """No answer came from Ray."""


class Failed(RayError):
    """Ray answered that it failed."""


class Unauthorized(RayError):
    """Ray does not accept the token."""


class WrongSession(RayError):
    """The answer comes from another Ray cluster than the one that was meant."""


class Refused(RayError):
    """Ray read what was sent and says what is wrong with it."""


class Unintelligible(RayError):
    """The answer is too large, or not what Ray is known to answer."""
