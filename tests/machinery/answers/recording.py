"""The recorded answers: asking for them, keeping them, and giving our own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from rayward.kube.machinery.jsonpath import JSONPathError
from rayward.kube.machinery.patch import PatchError
from rayward.kube.machinery.quantity import QuantityError
from rayward.kube.machinery.selectors import SelectorError
from tests.kube.record import golang
from tests.machinery.answers import amounts, choices, metadata, patches, paths
from tests.machinery.answers.question import Object, Question

_HERE: Final = Path(__file__).parent
_FAMILIES: Final = {
    "amounts": amounts,
    "choices": choices,
    "metadata": metadata,
    "patches": patches,
    "paths": paths,
}
NAMES: Final = tuple(_FAMILIES)
# Go walks its maps in random order; a question whose answer depends on it has no answer.
_TIMES_ASKED: Final = 12
_Ours = Callable[[str, list[Any]], Any]


def file_of(name: str) -> Path:
    """Where the answers of a family are kept."""
    return _HERE / f"{name}.json.gz"


def recorded(name: str) -> list[Object]:
    """The recorded questions of a family, each with what Kubernetes answered."""
    return json.loads(gzip.decompress(file_of(name).read_bytes()))


def keep(name: str, answered: Sequence[Object]) -> None:
    """Write the answers of a family."""
    content = json.dumps(answered, separators=(",", ":"), ensure_ascii=False).encode()
    file_of(name).write_bytes(gzip.compress(content, compresslevel=9, mtime=0))


def ask(name: str) -> list[Object]:
    """Put the questions of a family to Kubernetes' own code; needs Go."""
    asked = _FAMILIES[name].questions(Random(name))
    lines = "".join(json.dumps({"about": each.about, "with": each.given}) + "\n" for each in asked)
    said = golang.run(str(_HERE / "main.go"), text=lines * _TIMES_ASKED).splitlines()
    rounds = [said[start : start + len(asked)] for start in range(0, len(said), len(asked))]
    return [
        {"about": question.about, "given": question.given, **json.loads(answers[0])}
        for question, *answers in zip(asked, *rounds, strict=True)
        if len(set(answers)) == 1 and not answers[0].startswith('{"panic"')
    ]


def our_answer(name: str, question: Question) -> Object:
    """What the machinery says, in the form of a recorded answer."""
    answer: _Ours = _FAMILIES[name].ours
    try:
        return {"result": answer(question.about, question.given)}
    except (JSONPathError, QuantityError, SelectorError) as error:
        return {"error": str(error)}
    except PatchError as error:
        return {"error": error.detail}
