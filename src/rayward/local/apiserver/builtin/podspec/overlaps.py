"""Files of one volume that would lie on top of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING

Spec = Mapping[str, Any]


class _Place(NamedTuple):
    path: str
    source: str

    def __str__(self) -> str:
        return f'"{self.path}" ({self.source})' if self.source else f'"{self.path}"'


def overlap_warnings(volumes: Sequence[Spec]) -> list[str]:
    """Volumes whose items overwrite each other."""
    found: list[str] = []
    for volume in volumes:
        name = volume.get("name") or ""
        for field, shown in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
            source = volume.get(field)
            if source is None or not source.get("items"):
                continue
            label = "" if field == "downwardAPI" else f' "{source.get("name") or source.get("secretName") or ""}"'
            places = [_Place(item.get("path") or "", "") for item in source["items"]]
            found += [f'volume "{name}" ({shown}{label}): overlapping paths: {pair}' for pair in _overlaps(places)]
        if volume.get("projected") is not None:
            found += _projected(name, volume["projected"].get("sources") or NO_ITEMS)
    return found


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
    before: list[_Place] = []
    for place in places:
        here = place._replace(path=place.path.rstrip("/"))
        for other in before if here.path else ():
            if other.path and _meet(here.path, other.path):
                yield f"{here} with {other}"
        before.append(here)


def _meet(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
