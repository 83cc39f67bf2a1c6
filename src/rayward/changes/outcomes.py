"""How a change can end other than well: one exception for each outcome, with the exit code of the command line."""

# ruff: noqa: N818 - an outcome is not always an error
from __future__ import annotations

from typing import Any, ClassVar, Final

from rayward.kube.client import errors
from rayward.kube.client.access import ConfigError
from rayward.kube.client.errors import ApiError
from rayward.net.errors import NetworkError

_OWNED: Final = "FieldManagerConflict"
_UNTYPED: Final = "failed to create typed patch object"


class ChangeError(Exception):
    """What happened, why, and what to run next.

    Attributes:
        what: What happened, to which object.
        why: The evidence; may have several lines.
        following: What to run next.
        object: ``kind/name`` of the object, where there is one.
        field: The path of the field that is the cause, where there is one.
    """

    code: ClassVar[int] = 3

    def __init__(self, what: str, why: str = "", following: str = "", *, object: str = "", field: str = "") -> None:  # noqa: A002
        super().__init__(what)
        self.what, self.why, self.following = what, why, following
        self.object, self.field = object, field

    @property
    def reason(self) -> str:
        return type(self).__name__

    def document(self) -> dict[str, Any]:
        """The outcome for programs."""
        return {
            "apiVersion": "cli.rayward/v1",
            "kind": "Failure",
            "code": self.code,
            "reason": self.reason,
            "object": self.object,
            "field": self.field,
            "message": self.what,
            "why": self.why,
            "next": self.following,
        }


class UsageError(ChangeError):
    """The call contradicts itself, or lacks something."""

    code = 2


class Invalid(ChangeError):
    """Rejected before or by admission: lint, schema, an immutable field."""

    code = 3


class NotFound(ChangeError):
    """The object, its kind or a part of it is not there."""

    code = 4


class Conflict(ChangeError):
    """Another writer was there each time, or another manager owns a field."""

    code = 5


class Forbidden(ChangeError):
    """Not authenticated, or without the right."""

    code = 6


class QuotaBlocked(ChangeError):
    """Quota does not allow it; the previous revision keeps running."""

    code = 7


class RolloutFailed(ChangeError):
    """The change failed for good and was left as it is."""

    code = 8


class JobFailed(RolloutFailed):
    """The job failed."""


class RolledBack(ChangeError):
    """The change failed and was taken back: the previous revision keeps running."""

    code = 9


class Unavailable(ChangeError):
    """The API server does not answer."""

    code = 10


class WaitTimeout(ChangeError):
    """It did not end in time and still goes on; nothing was taken back."""

    code = 124


def outcome_of(error: Exception, about: str = "") -> ChangeError | None:
    """The outcome that an error of the client is; None for a mistake of ours."""
    if isinstance(error, ChangeError):
        return error
    if isinstance(error, ConfigError):
        return Unavailable("no API server to talk to", str(error), "rayward up   # or name one: --kubeconfig FILE")
    if isinstance(error, NetworkError):
        return Unavailable("the API server did not answer", str(error), "rayward status", object=about)
    return _refused(error, about) if isinstance(error, ApiError) else None


def _refused(error: ApiError, about: str) -> ChangeError:
    why = "\n".join(f"{cause.field}: {cause.message}" for cause in error.causes if cause.field)
    field = next((cause.field for cause in error.causes if cause.field), "")
    kind: type[ChangeError] = Invalid
    following = ""
    if isinstance(error, errors.NotFound | errors.Gone):
        kind, following = NotFound, f"rayward get {error.details.get('kind') or 'crds'}"
    elif isinstance(error, errors.Conflict | errors.AlreadyExists):
        kind, following = Conflict, "read it again and repeat the change"
    elif isinstance(error, errors.Forbidden) and "exceeded quota" in error.message:
        kind, following = QuotaBlocked, "rayward describe resourcequota"
    elif isinstance(error, errors.Forbidden | errors.Unauthorized):
        kind, following = Forbidden, "ask for the right, or act as somebody else: --context NAME"
    elif error.retryable and _UNTYPED not in error.message:
        kind, following = Unavailable, "try again in a moment"
    return kind(error.message, why, following, object=about, field=field)
