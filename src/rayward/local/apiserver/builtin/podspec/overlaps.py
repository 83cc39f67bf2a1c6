"""Files of one volume that would lie on top of each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING

Spec = Mapping[str, Any]
# An answer has room for 4,096 letters of warnings, and one text is told once.
_MOST: Final = 200


class _Place(NamedTuple):
    path: str
    source: str

    def __str__(self) -> str:
        return f'"{self.path}" ({self.source})' if self.source else f'"{self.path}"'


def overlap_warnings(volumes: Sequence[Spec]) -> list[str]:
    """Volumes whose items overwrite each other: at least as many of them as an answer has room for."""
    return list(islice(_warnings(volumes), _MOST))


def _warnings(volumes: Sequence[Spec]) -> Iterator[str]:
    for volume in volumes:
        name = volume.get("name") or ""
        for field, shown in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
            source = volume.get(field)
            if source is None or not source.get("items"):
                continue
            label = "" if field == "downwardAPI" else f' "{source.get("name") or source.get("secretName") or ""}"'
            places = [_Place(item.get("path") or "", "") for item in source["items"]]
            for pair in _overlaps(places):
                yield f'volume "{name}" ({shown}{label}): overlapping paths: {pair}'
        if volume.get("projected") is not None:
            yield from _projected(name, volume["projected"].get("sources") or NO_ITEMS)


def _projected(name: str, sources: Sequence[Spec]) -> Iterator[str]:
    places: list[_Place] = []
    for source in sources:
        if not source:
            yield f'volume "{name}" (Projected) has no sources provided'
            continue
        places += _places(source)
    for pair in _overlaps(places):
        yield f'volume "{name}" (Projected): overlapping paths: {pair}'


def _places(source: Spec) -> list[_Place]:
    for field, shown in (("configMap", "ConfigMap"), ("secret", "Secret")):
        held = source.get(field)
        if held is not None and held.get("items"):
            return [_Place(item.get("path") or "", f'{shown} "{held.get("name") or ""}"') for item in held["items"]]
    if (source.get("downwardAPI") or NOTHING).get("items"):
        return [_Place(item.get("path") or "", "DownwardAPI") for item in source["downwardAPI"]["items"]]
    if source.get("serviceAccountToken") is not None:
        return [_Place(source["serviceAccountToken"].get("path") or "", "ServiceAccountToken")]
    return []


def _overlaps(places: Sequence[_Place]) -> Iterator[str]:
    """Each place with those before it that it lies on, below or above: every text once, in time linear in the input."""
    given = [place._replace(path=path) for place in places if (path := place.path.rstrip("/"))]
    parents = _parents(set(given))
    first: dict[_Place, int] = {}
    last: dict[_Place, int] = {}
    below: defaultdict[_Place, list[_Place]] = defaultdict(list)
    for index, here in enumerate(given):
        before, above = last.get(here, -1), list(_chain(here, parents))
        met = [other for other in above if first.get(other, -1) > before] + below.pop(here, [])
        if before >= 0 and before == first[here]:
            met.append(here)
        for other in sorted(met, key=first.__getitem__):
            yield f"{here} with {other}"
        if first.setdefault(here, index) == index:
            for other in above:
                below[other].append(here)
        last[here] = index


def _chain(place: _Place, parents: Mapping[_Place, _Place]) -> Iterator[_Place]:
    parent = parents.get(place)
    while parent is not None:
        yield parent
        parent = parents.get(parent)


def _parents(places: Iterable[_Place]) -> dict[_Place, _Place]:
    """The nearest place that each lies on or below: sorted with a slash behind them, the latter follow a path."""
    parents: dict[_Place, _Place] = {}
    above: list[tuple[str, _Place]] = []
    for path, place in sorted((f"{place.path}/", place) for place in places):
        while above and not path.startswith(above[-1][0]):
            above.pop()
        if above:
            parents[place] = above[-1][1]
        above.append((path, place))
    return parents
