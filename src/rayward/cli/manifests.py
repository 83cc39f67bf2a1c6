"""Manifests: files, folders or stdin, as objects."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rayward.changes.refs import RESOURCES
from rayward.cli.failure import Code, CommandError
from rayward.cli.output import tell
from rayward.kinds.resources import GROUP
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object, section

_SUFFIXES: Final = (".json", ".yaml", ".yml")
_LARGEST: Final = 32 * 1024 * 1024
_MOST: Final = 10_000
_FIRST: Final = {"Namespace": 0, "CustomResourceDefinition": 1}
_EXAMPLE: Final = "name what there is: -f FILE, -f FOLDER, or -f - to read stdin"
_separator = re.compile(rb"^---(?:[ \t].*)?\r?\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and where it was written."""

    source: str
    value: Object
    file: str = ""
    text: str = ""
    """The document that it is, or is part of."""
    lines_before: int = 0
    """Of the file, before the document."""

    @property
    def kind(self) -> str:
        return str(self.value["kind"])

    @property
    def comes_first(self) -> bool:
        """Whether other objects may need it: a namespace, or the definition of a kind."""
        return self.kind in _FIRST

    @property
    def name(self) -> str:
        """Its name; empty where it has none."""
        return str(section(self.value, "metadata").get("name") or "")


def read(sources: Sequence[str], *, recursive: bool) -> list[Manifest]:
    """Every object in the sources, namespaces and definitions of kinds first, then as they are written.

    Raises:
        CommandError: A source cannot be read, or holds something else.
    """
    found = [manifest for source in sources for manifest in _source(source, recursive=recursive)]
    if not found:
        raise CommandError(Code.USAGE, "there is nothing to read", f"no object in {', '.join(sources)}", _EXAMPLE)
    if len(found) > _MOST:
        raise CommandError(
            Code.INVALID, f"{len(found)} objects are more than {_MOST} at once", "", "apply them in parts"
        )
    return sorted(found, key=lambda one: _FIRST.get(one.kind, len(_FIRST)))


def of_ray(found: list[Manifest], verb: str) -> list[Manifest]:
    """Those that a verb for Ray's kinds is about; the others are named, so that nobody takes them for unchanged."""
    ours = [one for one in found if one.kind in RESOURCES and str(one.value["apiVersion"]).startswith(f"{GROUP}/")]
    for one in found if ours else ():
        if one not in ours:
            tell(f"{one.kind.lower()}/{one.name}: left out: rayward {verb} is for RayCluster, RayService and RayJob")
    return ours or found


def _source(source: str, *, recursive: bool) -> Iterator[Manifest]:
    if source == "-":
        yield from parse(sys.stdin.buffer.read(_LARGEST + 1), "stdin")
        return
    path = Path(source)
    if path.is_dir():
        walk = path.rglob("*") if recursive else path.glob("*")
        for file in sorted(one for one in walk if one.suffix in _SUFFIXES and one.is_file()):
            yield from parse(_bytes(file), str(file))
        return
    yield from parse(_bytes(path), source)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST + 1)
    except OSError as error:
        raise CommandError(Code.USAGE, f"cannot read {path}", str(error.strerror), _EXAMPLE) from error


def parse(data: bytes, source: str) -> Iterator[Manifest]:
    """The objects in JSON or in YAML of one or more documents.

    Raises:
        CommandError: The text holds something else.
    """
    from rayward.kube.machinery.decoding import MalformedError, decode_yaml

    if len(data) > _LARGEST:
        raise CommandError(Code.INVALID, f"{source} is larger than {_LARGEST >> 20} MiB", "", "apply it in parts")
    number = end = 0
    for separator in (*_separator.finditer(data), None):
        number += 1
        begin, end = end, len(data) if separator is None else separator.end()
        document = data[begin : len(data) if separator is None else separator.start()]
        if not document.strip():
            continue
        where = f"{source} (document {number})"
        try:
            decoded = decode_yaml(document, strict=True)
        except MalformedError as error:
            raise CommandError(
                Code.INVALID, f"{where} is neither JSON nor YAML", str(error), "correct the text"
            ) from error
        if decoded.strict:
            why = "\n".join(decoded.strict)
            raise CommandError(Code.INVALID, f"{where} has the same field twice", why, "keep one of them")
        if decoded.value is not None:
            text, before = document.decode(errors="replace"), data.count(b"\n", 0, begin)
            for manifest in _objects(decoded.value, where):
                yield replace(manifest, file=source, text=text, lines_before=before)


def _objects(value: Any, where: str) -> Iterator[Manifest]:
    if not is_object(value) or not isinstance(value.get("kind"), str) or not isinstance(value.get("apiVersion"), str):
        why = "every object needs apiVersion and kind"
        raise CommandError(
            Code.INVALID, f"{where} is not a Kubernetes object", why, "add apiVersion and kind at its top"
        )
    items = value.get("items")
    if value["kind"].endswith("List") and is_list(items):
        for item in items:
            yield from _objects(item, where)
        return
    yield Manifest(where, value)
