"""Names of labels, annotations and finalizers are spelled in one module."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from rayward.kinds import labels

_SOURCE = Path(labels.__file__).parent.parent
_NAME = re.compile(r"rayward\.dev/[a-z-]+")
_NO_LABELS = {"rayward.dev/local", "rayward.dev/loopback"}
"""The name of a provisioner and a class of load balancers."""


def test_names_of_ours_are_spelled_in_one_module() -> None:
    found = {
        f"{path.relative_to(_SOURCE)}: {node.value}"
        for path in _SOURCE.rglob("*.py")
        if path != Path(labels.__file__)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if _NAME.fullmatch(node.value) and node.value not in _NO_LABELS
    }
    assert found == set()


def test_no_name_is_given_twice() -> None:
    spelled = [
        value for name, value in vars(labels).items() if name.isupper() and isinstance(value, str) and "/" in value
    ]
    assert sorted(spelled) == sorted(set(spelled))
