"""Formats that only the built-in kinds know: each function returns the messages against a value."""

from __future__ import annotations

import re
from typing import Final

_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_UNDERSCORE_LABEL: Final = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_SUBDOMAIN: Final = rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*"

MAX_INT32: Final = 2**31 - 1


def range_text(low: int, high: int) -> str:
    """What is said of a number outside an inclusive range."""
    return f"must be between {low} and {high}, inclusive"


def unix_id(value: int) -> list[str]:
    """A user or group id."""
    return [] if 0 <= value <= MAX_INT32 else [range_text(0, MAX_INT32)]


def http_path(value: str) -> list[str]:
    """The path of a domain-prefixed path."""
    if re.fullmatch(_HTTP_PATH, value):
        return []
    return [f"Invalid path (regex used for validation is '{_HTTP_PATH}')"]


def search_domain(value: str) -> list[str]:
    """A DNS search domain; an underscore may lead a label."""
    messages = ["must be no more than 253 characters"] if len(value.encode()) > 253 else []
    if not re.fullmatch(_UNDERSCORE_SUBDOMAIN, value):
        messages.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and "
            "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            f"'{_UNDERSCORE_SUBDOMAIN}')"
        )
    return messages
