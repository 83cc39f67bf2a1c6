"""The one error of this room: a patch that cannot be read or does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

_KINDS: Final[dict[type[Any], str]] = {
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
}


class PatchError(Exception):
    """A refused patch, with the code, reason and message that kube-apiserver answers.

    ``detail`` says what exactly went wrong where the message, by Kubernetes' custom, does not.
    """

    def __init__(self, code: int, reason: str, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.detail = detail or message

    @classmethod
    def bad_request(cls, message: str) -> PatchError:
        """The patch itself is malformed."""
        return cls(400, "BadRequest", message)

    @classmethod
    def misfit(cls, message: str) -> PatchError:
        """The patch contradicts itself or the type it is for.

        kube-apiserver answers these with 500, but they are the client's mistakes.
        """
        return cls(400, "BadRequest", message)

    @classmethod
    def too_large(cls, message: str) -> PatchError:
        """The patch has too many parts."""
        return cls(413, "RequestEntityTooLarge", f"Request entity too large: {message}")

    @classmethod
    def unsupported(cls, accepted: Sequence[str]) -> PatchError:
        """This kind of patch is not served for the resource."""
        listed = ", ".join(accepted)
        text = f"the body of the request was in an unknown format - accepted media types include: {listed}"
        return cls(415, "UnsupportedMediaType", text)

    @classmethod
    def unprocessable(cls, detail: str) -> PatchError:
        """The patch is well formed but does not apply to this document."""
        return cls(422, "Invalid", "the server rejected our request due to an error in our request", detail)


def json_kind(value: Any) -> str:
    """What Go's JSON decoder calls the kind of a value."""
    return _KINDS.get(type(value), "null")  # pyright: ignore[reportUnknownArgumentType]


def too_deep() -> PatchError:
    """The document or the patch is nested deeper than can be walked."""
    return PatchError.bad_request("exceeded max depth")
