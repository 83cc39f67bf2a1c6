"""Defaults of every type, from what the server fills into probe objects.

A default that a type shows wherever it occurs, whatever its other fields are, is unconditional. Everything else that
the server filled in or changed is kept as an example, for the code that has to know the condition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.kube.record.capture import Capture
from tests.kube.record.server import Object
from tests.kube.record.structure import Field, Structure

_ALL: Final = "*"
"""Stands for all fields of a value that the server dropped as a whole."""
_IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a type occurs: the resource's discovery entry and the fields that lead there."""

    entry: Object
    path: tuple[Field, ...]

    def body(self, value: Any) -> Object:
        for field in reversed(self.path):
            value = {**field.companions, field.name: field.wrap(value)}
        return value

    def find(self, body: Any) -> Any:
        if not self.path:
            return {field: value for field, value in body.items() if field not in _IDENTITY}
        for field in self.path:
            body = field.unwrap(body.get(field.name)) if body is not None else None
        return body

    def __str__(self) -> str:
        marks = {"list": "[]", "map": "{}"}
        return ".".join([self.entry["kind"], *(f.name + "".join(marks[x] for x in f.levels) for f in self.path)])


@dataclass(frozen=True, slots=True)
class _Seen:
    """One probe: what was given to a type at a place, and what of it the server filled in."""

    type: str
    place: _Place
    given: Object
    filled: Object


class Prober:
    """Finds the defaults of all types that the storable kinds lead to."""

    def __init__(self, capture: Capture, structure: Structure, wire: Mapping[str, Object]) -> None:
        self._capture = capture
        self._structure = structure
        self._wire = wire

    def record(self, entries: list[Object]) -> tuple[dict[str, Object], list[Object]]:
        """Unconditional defaults by type, and examples of all others."""
        seen = list(self._probes(entries))
        unconditional = _unconditional(seen)
        found = {name: fields for name, fields in sorted(unconditional.items()) if fields}
        return found, _examples(seen, unconditional)

    def _probes(self, entries: list[Object]) -> Iterator[_Seen]:
        for entry in entries:
            if "list" not in entry["verbs"]:
                continue
            for name, place in self._places(entry):
                yield from self._probe(name, place, {})
                for field in self._structure.fields(name):
                    for value in self._structure.samples(name, field):
                        if place.path or field.name not in _IDENTITY:
                            yield from self._probe(name, place, {field.name: value})

    def _places(self, entry: Object) -> Iterator[tuple[str, _Place]]:
        """Every edge of the type graph below a kind, each once, nearest first."""
        root = self._structure.kind(entry["group"], entry["kind"])
        waiting = [(root, _Place(entry, ()))]
        expanded: set[str] = set()
        while waiting:
            name, place = waiting.pop(0)
            yield name, place
            if name in expanded:
                continue
            expanded.add(name)
            for field in self._structure.fields(name):
                at_root_metadata = not place.path and field.name == "metadata"
                if field.type and self._structure.fields(field.type) and not at_root_metadata:
                    waiting.append((field.type, _Place(entry, (*place.path, field))))

    def _probe(self, name: str, place: _Place, given: Object) -> Iterator[_Seen]:
        answer = self._capture.send(place.entry, place.body(given))
        if answer:
            sent, observed = (place.find(body) for body in answer)
            yield _Seen(name, place, sent, self._filled(name, sent, observed))

    def _filled(self, name: str, given: Object, observed: Object | None) -> Object:
        """What the server added or changed beyond what decoding and encoding alone do."""
        if observed is None:
            return {_ALL: None}
        wire = self._wire[name]
        filled: Object = {}
        for field, value in observed.items():
            before = given[field] if field in given else wire["zero"].get(field)
            nested = isinstance(before, dict | list) and isinstance(value, dict | list)
            if not nested and value != before:
                filled[field] = value
        for field, value in given.items():
            if field not in observed and (value or field in wire["pointers"]):
                filled[field] = None
        return filled


def _unconditional(seen: list[_Seen]) -> dict[str, Object]:
    """Of each type the defaults that no probe contradicts."""
    by_type: defaultdict[str, list[_Seen]] = defaultdict(list)
    for each in seen:
        by_type[each.type].append(each)
    result: dict[str, Object] = {}
    for name, probes in by_type.items():
        candidates = {field: value for field, value in probes[0].filled.items() if field != _ALL}
        for probe in probes:
            for field, value in list(candidates.items()):
                if probe.filled.get(field) != value and not _explicit(probe, field):
                    del candidates[field]
        result[name] = candidates
    return result


def _explicit(probe: _Seen, field: str) -> bool:
    return field in probe.given and field not in probe.filled


def _examples(seen: list[_Seen], unconditional: Mapping[str, Object]) -> list[Object]:
    """Probes that the table alone does not explain: of each place the empty one, and those that differ from it."""
    found: list[Object] = []
    plain: dict[str, Object] = {}
    for probe in seen:
        known = unconditional[probe.type]
        extra = {field: value for field, value in probe.filled.items() if known.get(field, _ALL) != value}
        place = str(probe.place)
        usual = plain.setdefault(place, extra)
        expected = {field: value for field, value in usual.items() if not _explicit(probe, field)}
        if extra != expected or (extra and extra is usual):
            found.append({"type": probe.type, "at": place, "given": probe.given, "filled": extra})
    return found
