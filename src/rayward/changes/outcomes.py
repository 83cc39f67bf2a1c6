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
_REJECTED: Final = " is invalid: "
_STRICT: Final = "strict decoding error: "
_WHOLE: Final = "<nil>"
_LONGEST: Final = 1200
CORRECT: Final = "correct what is named and try again: nothing was changed"
"""What to do about an object that the server rejects."""


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
    verdict: str = "Failed"
    """The reason in one word, as the operator gives it."""
    seconds: float = 0.0
    """How long it took to fail."""
    generation: int = 0
    """Which one failed: the one that was asked for, or the same as its operator wrote it back."""


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
        return Unavailable("no API server was found", str(error), "rayward up   # or name one: --kubeconfig FILE")
    if isinstance(error, NetworkError):
        return Unavailable("the API server did not answer", str(error), "rayward status", object=about)
    return _refused(error, about) if isinstance(error, ApiError) else None


def reasons_of(error: ApiError) -> tuple[str, ...]:
    """What a server has against an object, each once and without the object itself."""
    found = (f"{cause.field}: {_cut(cause.message)}" for cause in error.causes if cause.field not in ("", _WHOLE))
    return tuple(dict.fromkeys(found))


def headline_of(error: ApiError, about: str = "") -> str:
    """What a server says, in one line that does not repeat its reasons."""
    if not isinstance(error, errors.Invalid) or not reasons_of(error):
        return _cut(error.message)
    named, found, _ = error.message.partition(_REJECTED)
    if not found:
        return _cut(error.message)
    return f"{about or 'the object'} is invalid" if named.strip() in ("", '""') else f"{named.strip()} is invalid"


def _cut(text: str) -> str:
    # a patch of an unknown field is answered with the whole object before what matters
    text = text.rpartition(_STRICT)[2] if _STRICT in text else text
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"


def _refused(error: ApiError, about: str) -> ChangeError:
    if isinstance(error, errors.NotFound) and not error.details.get("kind"):
        # an object that is not there is named; a path that is not served is not
        named = f" {about.partition('/')[0]}" if "/" in about else ""
        install = "rayward crds | rayward apply -f -   # Ray's; --context NAME asks another server"
        return NotFound(f"the server has no kind{named}", "its definition is not installed", install, object=about)
    why = "\n".join(reasons_of(error))
    field = next((cause.field for cause in error.causes if cause.field), "")
    kind: type[ChangeError] = Invalid
    following = CORRECT
    if isinstance(error, errors.NotFound | errors.Gone):
        kind, following = NotFound, f"rayward get {error.details.get('kind') or 'crds'}"
    elif isinstance(error, errors.Conflict | errors.AlreadyExists):
        kind, following = Conflict, "read it again and repeat the change"
    elif isinstance(error, errors.Forbidden) and "exceeded quota" in error.message:
        kind, following = QuotaBlocked, "rayward describe resourcequota"
    elif isinstance(error, errors.Forbidden | errors.Unauthorized):
        kind, following = Forbidden, "ask for the permission, or use another identity: --context NAME"
    elif error.retryable and _UNTYPED not in error.message:
        kind, following = Unavailable, "try again in a moment"
    return kind(headline_of(error, about), why, following, object=about, field=field)
