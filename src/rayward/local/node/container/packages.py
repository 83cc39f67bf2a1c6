"""Where the files of a Python environment lie: its own folder, the Python it was made from, packages outside of it.

Read from files, never by running anything: an environment may hang or print.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_PARTS: Final = ("bin", "lib", "lib64", "libexec", "include", "ssl", "share/terminfo")
"""Of an installation that may share its folder with anything else, as ``~/.local`` does."""
_MAPPING: Final = re.compile(r"^MAPPING\b[^=]*=\s*(\{.*\})\s*$", re.MULTILINE)
_LARGEST: Final = 1 << 20
_MOST_LINKS: Final = 20


def shown_folders(environment: str, home: str) -> list[str]:
    """The folders and files that a program in the environment needs, outer ones only, each at its own path.

    A path that holds ``home`` whole is left out, whoever names it.
    """
    found = [*_installation(Path(environment)), *_bases(Path(environment)), *_packages(Path(environment))]
    everywhere = [place for path in found for place in (str(path), os.path.realpath(path))]
    return _outermost(path for path in everywhere if not _holds(path, home) and Path(path).exists())


def _installation(folder: Path) -> list[Path]:
    if (folder / "pyvenv.cfg").is_file() or (folder / "conda-meta").is_dir():
        return [folder]
    return [folder / part for part in _PARTS]


def _bases(environment: Path) -> Iterator[Path]:
    for program in ("python3", "python"):
        step = environment / "bin" / program
        for _ in range(_MOST_LINKS):
            if not step.is_symlink():
                break
            step = Path(os.path.normpath(step.parent / step.readlink()))
            yield from _installation(step.parent.parent)
    settings = _text(environment / "pyvenv.cfg")
    for line in settings.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "home" and value.strip().startswith("/"):
            yield from _installation(Path(value.strip()).parent)


def _packages(environment: Path) -> Iterator[Path]:
    for library in (environment / "lib").glob("python3*/site-packages"):
        for listed in library.glob("*.pth"):
            for line in _text(listed).splitlines():
                if line.startswith("/"):
                    yield Path(line.strip())
        # What setuptools writes for packages that are edited in place.
        for finder in library.glob("__editable___*_finder.py"):
            for mapping in _MAPPING.findall(_text(finder)):
                yield from _mapped(mapping)


def _mapped(mapping: str) -> list[Path]:
    try:
        found: object = ast.literal_eval(mapping)
    except (ValueError, SyntaxError):
        return []
    if not isinstance(found, dict):
        return []
    places = [place for place in found.values() if isinstance(place, str)]  # pyright: ignore[reportUnknownVariableType]
    # A single module is mapped without its suffix.
    return [Path(place) if Path(place).exists() else Path(f"{place}.py") for place in places]


def _text(path: Path) -> str:
    try:
        with path.open(errors="replace") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""


def _holds(path: str, inner: str) -> bool:
    return os.path.commonpath((path, inner)) == path


def _outermost(paths: Iterable[str]) -> list[str]:
    chosen: list[str] = []
    for path in sorted(set(paths)):
        if not any(_holds(outer, path) for outer in chosen):
            chosen.append(path)
    return chosen
