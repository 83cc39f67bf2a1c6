"""Addresses of code in a runtime environment that Ray cannot unpack: it tells an archive by the end of its address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from rayward.kinds.serveconfig.finding import Path
from rayward.kube.machinery.jsonvalue import Object

_ARCHIVES: Final = (".zip", ".whl", ".jar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
"""Those of Ray 2.60; before, only some of the last."""
_IN_PLACE: Final = "local://"
"""A folder of the image, which is not unpacked."""


def no_archives(environment: Any, at: Path = ()) -> Iterator[tuple[str, Path]]:
    """What is wrong with each address, and where; ``at`` is the path of the environment."""
    fields = cast("Object", environment) if isinstance(environment, dict) else {}
    modules = fields.get("py_modules")
    given: list[tuple[Any, Path]] = [(fields.get("working_dir"), ("working_dir",))]
    if isinstance(modules, list):
        given += [(uri, ("py_modules", index)) for index, uri in enumerate(cast("list[Any]", modules))]
    for uri, path in given:
        if isinstance(uri, str) and "://" in uri and not _is_archive(uri):
            message = (
                f"{path[0]} {uri!r} is not an archive: Ray downloads {', '.join(_ARCHIVES[:-1])} and {_ARCHIVES[-1]} "
                "files, and tells them by the end of the address"
            )
            yield message, (*at, *path)


def _is_archive(uri: str) -> bool:
    return uri.lower().startswith(_IN_PLACE) or uri.partition("?")[0].endswith(_ARCHIVES)
