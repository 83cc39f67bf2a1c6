"""Links of a proxied page: what points to its own host is made to point through the proxy, as kube-apiserver does."""

from __future__ import annotations

import gzip
import html
import posixpath
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_LINKS: Final = {
    "a": {"href"},
    "applet": {"codebase"},
    "area": {"href"},
    "audio": {"src"},
    "base": {"href"},
    "blockquote": {"cite"},
    "body": {"background"},
    "button": {"formaction"},
    "command": {"icon"},
    "del": {"cite"},
    "embed": {"src"},
    "form": {"action"},
    "frame": {"longdesc", "src"},
    "head": {"profile"},
    "html": {"manifest"},
    "iframe": {"longdesc", "src"},
    "img": {"longdesc", "src", "usemap"},
    "input": {"src", "usemap", "formaction"},
    "ins": {"cite"},
    "link": {"href"},
    "object": {"classid", "codebase", "data", "usemap"},
    "q": {"cite"},
    "script": {"src"},
    "source": {"src"},
    "video": {"poster", "src"},
}
_LARGEST_PAGE: Final = 16 * 1024 * 1024
_BEGIN: Final = re.compile(rb"<(?:!--|([a-zA-Z][a-zA-Z0-9]*))")
_STOP: Final = re.compile(rb"[>\"']")
_ATTRIBUTE: Final = re.compile(rb"(?<![a-zA-Z-])([a-zA-Z-]{1,20})(\s*=\s*)(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")
# what stands in these is no tag, whatever it looks like
_CLOSES: Final = {
    name: re.compile(f"</{name}".encode(), re.IGNORECASE) for name in ("script", "style", "textarea", "title")
}


@dataclass(frozen=True, slots=True)
class Way:
    """How a page was reached: the path before its own, and the hosts that mean it."""

    prefix: str
    """Path of the proxy, without a slash at the end."""
    host: str
    """Where the proxy found it: address and port."""
    asked_host: str
    """The Host header of the caller."""

    def through(self, link: str) -> str:
        """The link, through the proxy if it names an absolute path on the same host."""
        try:
            parts = urlsplit(link)
        except ValueError:
            return link
        if (parts.netloc and parts.netloc not in (self.host, self.asked_host)) or not parts.path.startswith("/"):
            return link
        kept = (parts.scheme, parts.netloc) if parts.netloc and parts.netloc == self.asked_host else ("", "")
        path = parts.path
        if not path.startswith(self.prefix):
            path = posixpath.normpath(self.prefix + path) + ("/" if path.endswith("/") else "")
        return urlunsplit((*kept, path, parts.query, parts.fragment))


def rewritten(page: bytes, through: Callable[[str], str]) -> bytes:
    """A page whose links go through the proxy; everything else stays as it is."""
    parts: list[bytes] = []
    done = place = 0
    while (found := _BEGIN.search(page, place)) is not None:
        name = (found[1] or b"").decode("ascii").lower()
        place = _tag_end(page, found.end()) if name else page.find(b"-->", found.end())
        if place < 0:
            # what has no end reaches to the end
            break
        if name in _LINKS:
            parts += (page[done : found.start()], _tag(page[found.start() : place], _LINKS[name], through))
            done = place
        if name in _CLOSES:
            close = _CLOSES[name].search(page, place)
            if close is None:
                break
            place = close.start()
    return b"".join((*parts, page[done:]))


def _tag_end(page: bytes, place: int) -> int:
    """The place behind the ``>`` of a tag, which may also stand in quotes; -1 if there is none."""
    while (stop := _STOP.search(page, place)) is not None:
        if stop[0] == b">":
            return stop.end()
        place = page.find(stop[0], stop.end()) + 1
        if not place:
            return -1
    return -1


def _tag(tag: bytes, links: set[str], through: Callable[[str], str]) -> bytes:
    def attribute(found: re.Match[bytes]) -> bytes:
        if found[1].decode("ascii").lower() not in links:
            return found[0]
        text = found[3].decode("utf-8", errors="surrogateescape").strip("\"'")
        plain = html.unescape(text)
        link = through(plain)
        if link == plain:
            return found[0]
        return found[1] + b'="' + html.escape(link).encode("utf-8", errors="surrogateescape") + b'"'

    return _ATTRIBUTE.sub(attribute, tag)


def opened(body: bytes, encoding: str) -> bytes | None:
    """A page as text; None if it is packed in a way that nobody here knows, or too large."""
    try:
        if encoding == "":
            return body
        if encoding == "gzip":
            unpacker = zlib.decompressobj(31)
        elif encoding == "deflate":
            unpacker = zlib.decompressobj(-15)
        else:
            return None
        plain = unpacker.decompress(body, _LARGEST_PAGE)
        return None if unpacker.unconsumed_tail else plain
    except zlib.error:
        return None


def packed(page: bytes, encoding: str) -> bytes:
    """The page as it was packed before."""
    if encoding == "gzip":
        return gzip.compress(page, 6)
    if encoding == "deflate":
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(page) + packer.flush()
    return page
