"""Addresses of webhooks, split as Go splits them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rayward.kube.machinery.gotext import quoted

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PORT = re.compile(r"(:[0-9]*)?")
_NOT_IN_HOST = re.compile(r"[\x00-\x20\\^`{|}\x7f%]")


class UrlError(ValueError):
    """The text is no address; says so in Go's words."""


@dataclass(frozen=True, slots=True)
class Url:
    """An address in parts; ``user`` is None where the address names none."""

    scheme: str
    user: str | None
    host: str
    query: str
    fragment: str


def parse(text: str) -> Url:
    """The parts of an address.

    Raises:
        UrlError: It is none.
    """
    shown, mark, fragment = text.partition("#")
    try:
        url = _parse(shown, fragment)
        shown += mark + fragment
        _check_escapes(fragment)
    except _Problem as problem:
        raise UrlError(f"parse {quoted(shown)}: {problem}") from None
    return url


class _Problem(Exception):  # noqa: N818
    pass


def _parse(text: str, fragment: str) -> Url:
    if _CONTROL.search(text):
        raise _Problem("net/url: invalid control character in URL")
    if text.startswith(":"):
        raise _Problem("missing protocol scheme")
    match = _SCHEME.fullmatch(text)
    scheme, rest = (match[1].lower(), match[2]) if match else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, None, "", query, fragment)
        if ":" in rest.partition("/")[0]:
            raise _Problem("first path segment in URL cannot contain colon")
    user, host = None, ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        name, at, host = authority.rpartition("@")
        user = name if at else None
        _check_escapes(name)
        _check_host(host)
    _check_escapes(rest)
    return Url(scheme, user, host, query, fragment)


def _check_host(host: str) -> None:
    if host.startswith("["):
        name, bracket, port = host.rpartition("]")
        if not bracket:
            raise _Problem("missing ']' in host")
    else:
        name, colon, port = host.partition(":")
        port = colon + port
    if not _PORT.fullmatch(port):
        raise _Problem(f"invalid port {quoted(port)} after host")
    _check_escapes(name)
    wrong = _NOT_IN_HOST.search(name)
    if wrong and wrong[0] == "%":
        raise _Problem(f"invalid URL escape {quoted(name[wrong.start() : wrong.start() + 3])}")
    if wrong:
        raise _Problem(f"invalid character {quoted(wrong[0])} in host name")


def _check_escapes(text: str) -> None:
    wrong = _ESCAPE.search(text)
    if wrong:
        raise _Problem(f"invalid URL escape {quoted(text[wrong.start() : wrong.start() + 3])}")
