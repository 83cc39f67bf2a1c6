"""What a refusal of the server means for who typed the command."""

from __future__ import annotations

from rayward.changes.outcomes import CORRECT, ChangeError, headline_of, reasons_of
from rayward.cli.failure import Code, CommandError
from rayward.kube.client import errors
from rayward.kube.client.access import ConfigError
from rayward.kube.client.errors import ApiError
from rayward.net.errors import NetworkError
from rayward.stack.errors import StackError

_CODES: tuple[tuple[type[ApiError], Code], ...] = (
    (errors.NotFound, Code.NOT_FOUND),
    (errors.Gone, Code.NOT_FOUND),
    (errors.Conflict, Code.CONFLICT),
    (errors.AlreadyExists, Code.CONFLICT),
    (errors.Forbidden, Code.FORBIDDEN),
    (errors.Unauthorized, Code.FORBIDDEN),
)
_UNTYPED = "failed to create typed patch object"
_OWNED = "FieldManagerConflict"
_FORCE = "leave these fields out of the manifest, or take them over: rayward apply --force-conflicts -f ..."


def explained(error: Exception) -> CommandError | None:
    """The failure that an error is; None for a mistake of ours."""
    if isinstance(error, CommandError):
        return error
    if isinstance(error, ChangeError):
        told = CommandError(Code(error.code), error.what, error.why, error.following, reason=error.reason)
        told.object, told.field = error.object, error.field
        return told
    if isinstance(error, ApiError):
        return _refused(error)
    if isinstance(error, StackError):
        return CommandError(Code.UNAVAILABLE, error.what, error.why, error.following, reason="Stack")
    if isinstance(error, ConfigError):
        return CommandError(
            Code.UNAVAILABLE, "no API server was found", str(error), "rayward up   # or name one: --kubeconfig FILE"
        )
    if isinstance(error, NetworkError):
        return CommandError(Code.UNAVAILABLE, "the API server did not answer", str(error), "rayward status")
    return None


def _refused(error: ApiError) -> CommandError:
    code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
    if code is None:
        code = Code.UNAVAILABLE if error.retryable and not _is_mistaken(error) else Code.INVALID
    if isinstance(error, errors.Forbidden) and "exceeded quota" in error.message:
        return CommandError(Code.QUOTA, error.message, "", "rayward describe resourcequota", reason=error.reason)
    if error.has_cause(_OWNED):
        owned = [f"{cause.field}: {cause.message}" for cause in error.causes]
        what = f"another manager owns {len(owned)} of the manifest's fields"
        return CommandError(code, what, "\n".join(owned), _FORCE, reason=error.reason)
    return CommandError(code, headline_of(error), "\n".join(reasons_of(error)), _following(error), reason=error.reason)


def _is_mistaken(error: ApiError) -> bool:
    """kube-apiserver calls a field that the kind does not have a failure of its own."""
    return _UNTYPED in error.message


def _following(error: ApiError) -> str:
    kind = str(error.details.get("kind") or "")
    if isinstance(error, errors.NotFound) and kind:
        return f"rayward get {kind} -A"
    if isinstance(error, errors.Unauthorized):
        return "check the credentials of the kubeconfig, or name another: --kubeconfig FILE, --context NAME"
    if isinstance(error, errors.Forbidden):
        return "ask for the permission, or use another identity: --context NAME"
    if _is_mistaken(error):
        return "take the field out, or write it as the kind has it"
    if error.retryable:
        return "try again in a moment"
    return CORRECT
