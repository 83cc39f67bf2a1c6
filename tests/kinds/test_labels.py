"""Names of labels, annotations and finalizers are spelled in one module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from rayward.kinds import labels, managedby

_SOURCE = Path(labels.__file__).parent.parent


def _texts(path: Path) -> Iterator[str]:
    """What a module's code says, docstrings left out."""
    tree = ast.parse(path.read_text())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


@pytest.mark.parametrize(
    ("home", "spelled"),
    [(labels, (labels.PREFIX,)), (managedby, managedby.ACCEPTED)],
    ids=["names of ours", "who acts on an object"],
)
def test_names_are_spelled_in_one_module(home: ModuleType, spelled: tuple[str, ...]) -> None:
    found = {
        f"{path.relative_to(_SOURCE)}: {text}"
        for path in _SOURCE.rglob("*.py")
        if path != Path(str(home.__file__))
        for text in _texts(path)
        if any(name in text for name in spelled)
    }
    assert found == set()


def test_no_name_is_given_twice() -> None:
    spelled = [
        value for name, value in vars(labels).items() if name.isupper() and isinstance(value, str) and "/" in value
    ]
    assert sorted(spelled) == sorted(set(spelled))
