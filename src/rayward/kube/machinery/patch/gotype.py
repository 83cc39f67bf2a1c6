"""The Go types of JSON values, as complaints about a patch name them."""

from __future__ import annotations

from typing import Any, Final

from rayward.kube.machinery.patch.error import PatchError

_NAMES: Final[dict[type[Any], str]] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def wrong_type(expected: Any, actual: Any) -> PatchError:
    """A value is of another type than ``expected``."""
    return PatchError.misfit(f"expected a {_name(expected)}, but received a {_name(actual)}")


def item_type(value: Any) -> type[Any]:
    """The type of a JSON value; Go tells them apart as Python does, ``true`` from ``1`` and ``1`` from ``1.0``."""
    return type(value)  # pyright: ignore[reportUnknownVariableType]


def _name(value: Any) -> str:
    return _NAMES.get(item_type(value), "%!s(<nil>)")
