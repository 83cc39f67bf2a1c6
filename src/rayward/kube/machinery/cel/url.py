"""URLs as Go's ``net/url`` reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from rayward.kube.machinery import gotext
from rayward.kube.machinery.cel.values import EvaluationError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_PORT: Final = re.compile(r":[0-9]*")
_HOST_BAD: Final = re.compile(r"[ \"<>\\^`{|}]")
_USERINFO: Final = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_PATH_SAFE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=@!'()*[]%")


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL that expressions can ask for."""

    text: str
    scheme: str
    host: str
    path: str
    query: str

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        if self.host.startswith("["):
            return self.host[1 : self.host.rfind("]")]
        return self.host.rpartition(":")[0] if ":" in self.host else self.host

    @property
    def port(self) -> str:
        """The port as written, or nothing."""
        tail = self.host[self.host.rfind("]") + 1 :] if self.host.startswith("[") else self.host
        return tail.rpartition(":")[2] if ":" in tail else ""

    def escaped_path(self) -> str:
        """The path with every unsafe character escaped."""
        if all(c in _PATH_SAFE for c in self.path):
            return self.path
        return "".join(c if c in _PATH_SAFE else "".join(f"%{b:02X}" for b in c.encode()) for c in self.path)

    def parameters(self) -> dict[str, list[str]]:
        """Query values by key; what cannot be decoded is left out."""
        found: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            key, _, value = pair.partition("=")
            if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
                continue
            found.setdefault(unquote_plus(key), []).append(unquote_plus(value))
        return found


def parse(text: str) -> Url:
    """An absolute URI or an absolute path.

    Raises:
        EvaluationError: With Go's words.
    """
    problem = _problem(text)
    if problem:
        raise EvaluationError(f"parse {gotext.quoted(text)}: {problem}")
    without_fragment = text.partition("#")[0]
    scheme, rest = _split_scheme(without_fragment)
    rest, _, query = rest.partition("?")
    host = ""
    if (scheme or not rest.startswith("///")) and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        host = authority.rpartition("@")[2]
        rest = slash + path
    return Url(text, scheme.lower(), host, rest, query)


def _split_scheme(text: str) -> tuple[str, str]:
    match = _SCHEME.match(text)
    return (match[1], text[match.end() :]) if match else ("", text)


def _problem(text: str) -> str:
    if _CONTROL.search(text):
        return "net/url: invalid control character in URL"
    if not text:
        return "empty url"
    if text == "*":
        return ""
    scheme, rest = _split_scheme(text)
    if text.startswith(":"):
        return "missing protocol scheme"
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        return "" if scheme else "invalid URI for request"
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, _, path = rest[2:].partition("/")
        if problem := _authority_problem(authority):
            return problem
        rest = path
    if match := _BAD_ESCAPE.search(rest):
        return f"invalid URL escape {gotext.quoted(match[0])}"
    return ""


def _authority_problem(authority: str) -> str:
    userinfo, at, host = authority.rpartition("@")
    if at and not _USERINFO.fullmatch(userinfo):
        return "net/url: invalid userinfo"
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            return "missing ']' in host"
        port = host[end + 1 :]
    else:
        colon = host.find(":")
        port = host[colon:] if colon >= 0 else ""
        if host.count(":") > 1:
            port = host[host.rfind(":") :]
            return f"invalid port {gotext.quoted(host[colon:])} after host" if colon >= 0 else ""
    if port and not _PORT.fullmatch(port):
        return f"invalid port {gotext.quoted(port)} after host"
    if match := _HOST_BAD.search(host):
        return f"invalid character {gotext.quoted(match[0])} in host name"
    if match := _BAD_ESCAPE.search(host):
        return f"invalid URL escape {gotext.quoted(match[0])}"
    return ""
