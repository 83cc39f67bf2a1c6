"""In whose name a caller speaks: kube-apiserver's ``Impersonate-`` headers. ``rbac.impersonate`` says who may."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from rayward.kube.machinery.gotext import quoted
from rayward.local.apiserver import status
from rayward.local.apiserver.identity import User

_PREFIX: Final = b"impersonate-"
_EXTRA: Final = "extra-"
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})")


def wanted(headers: Iterable[tuple[bytes, bytes]]) -> User | None:
    """The user in whose name a request is meant, with no more groups than are named; None: the caller's own.

    Raises:
        ApiError: The headers name groups or the like of nobody.
    """
    given = [(name[len(_PREFIX) :], value) for name, value in headers if name.startswith(_PREFIX)]
    if not given:
        return None
    pairs = [(name.decode("latin-1"), value.decode(errors="replace")) for name, value in given]
    name = next((value for key, value in pairs if key == "user"), "")
    uid = next((value for key, value in pairs if key == "uid"), "")
    groups = tuple(value for key, value in pairs if key == "group")
    extra: dict[str, list[str]] = {}
    for key, value in pairs:
        if key.startswith(_EXTRA):
            extra.setdefault(_extra_key(key.removeprefix(_EXTRA)), []).append(value)
    if name:
        return User(name, uid, groups, extra)
    if uid or groups or extra:
        shown = f'Name:"", UID:{quoted(uid)}, Groups:{_go_list(groups)}, Extra:{_go_map(extra)}'
        raise status.bad_request(f"requested &user.DefaultInfo{{{shown}}} without impersonating a user name")
    return None


def _extra_key(encoded: str) -> str:
    return encoded if _BROKEN_ESCAPE.search(encoded) else unquote(encoded)


def _go_list(texts: Iterable[str]) -> str:
    shown = ", ".join(map(quoted, texts))
    return f"[]string{{{shown}}}" if shown else "[]string(nil)"


def _go_map(extra: dict[str, list[str]]) -> str:
    if not extra:
        return "map[string][]string(nil)"
    return "map[string][]string{" + ", ".join(f"{quoted(k)}:{_go_list(extra[k])}" for k in sorted(extra)) + "}"
