"""Objects as users name them: ``KIND NAME...``, ``KIND/NAME...`` or ``KIND,KIND``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rayward.cli.catalogue import Catalogue, Kind
from rayward.cli.failure import Code, CommandError


@dataclass(frozen=True, slots=True)
class Asked:
    """Objects of one kind; no names mean all."""

    kind: Kind
    names: tuple[str, ...] = ()


def parse(words: Sequence[str], catalogue: Catalogue, *, verb: str) -> list[Asked]:
    """What the words of a command name.

    Raises:
        CommandError: They name nothing, or a kind that is not there.
    """
    if not words:
        raise CommandError(
            Code.USAGE, f"say what to {verb}", "no kind was given", f"rayward {verb} pods   # or KIND/NAME"
        )
    if any("/" in word for word in words):
        return _slashed(words, catalogue, verb)
    kinds = [kind for word in words[0].split(",") if word for kind in catalogue.all_of(word)]
    return [Asked(kind, tuple(words[1:])) for kind in kinds]


def _slashed(words: Sequence[str], catalogue: Catalogue, verb: str) -> list[Asked]:
    asked: list[Asked] = []
    for word in words:
        kind, slash, name = word.partition("/")
        if not (slash and kind and name) or "/" in name:
            why = f"{word!r} is not of the form KIND/NAME, and the two forms do not mix"
            raise CommandError(Code.USAGE, f"cannot tell what to {verb}", why, f"rayward {verb} KIND/NAME...")
        asked.append(Asked(catalogue.find(kind), (name,)))
    return asked


def title(kind: Kind, name: str) -> str:
    """An object as answers name it: ``pod/web``, ``raycluster.ray.io/x``."""
    return f"{kind.title}/{name}"
