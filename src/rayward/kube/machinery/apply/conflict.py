"""Conflicts of an apply, in kube-apiserver's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rayward.kube.machinery.apply import element
from rayward.kube.machinery.apply.fieldset import paths
from rayward.kube.machinery.apply.owners import UPDATE
from rayward.kube.machinery.gotext import json_text, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rayward.kube.machinery.apply.fieldset import FieldSet
    from rayward.kube.machinery.apply.owners import OwnerKey


class Cause(NamedTuple):
    """One field that another manager owns: a Status cause of type ``FieldManagerConflict``."""

    message: str
    field: str


class ApplyConflict(Exception):  # noqa: N818
    """Others own fields that the applied configuration would change: a Status 409 with these causes."""

    def __init__(self, fields: Mapping[OwnerKey, FieldSet]) -> None:
        groups = [
            (_manager_text(owner), [_path_text(path) for path in paths(fields[owner], element.order)])
            for owner in sorted(fields, key=identifier)
        ]
        self.causes: tuple[Cause, ...] = tuple(
            Cause(f"conflict with {manager}", field) for manager, found in groups for field in found
        )
        self.message = self._summary(groups)
        super().__init__(self.message)

    def _summary(self, groups: list[tuple[str, list[str]]]) -> str:
        if len(self.causes) == 1:
            cause = self.causes[0]
            return f"Apply failed with 1 conflict: {cause.message}: {cause.field}"
        lines: list[str] = []
        for manager, found in groups:
            lines += [f"conflicts with {manager}:", *(f"- {field}" for field in found)]
        return f"Apply failed with {len(self.causes)} conflicts: " + "\n".join(lines)


def identifier(owner: OwnerKey) -> str:
    """The text by which Kubernetes tells owners apart and orders them."""
    manager, operation, api_version, subresource = owner
    parts = {"manager": manager, "operation": operation, "apiVersion": api_version, "subresource": subresource}
    return "{" + ",".join(f'"{name}":{json_text(value)}' for name, value in parts.items() if value) + "}"


def _manager_text(owner: OwnerKey) -> str:
    manager, operation, api_version, subresource = owner
    text = quoted(manager)
    if subresource:
        text += f" with subresource {quoted(subresource)}"
    return f"{text} using {api_version}" if operation == UPDATE else text


def _path_text(path: tuple[str, ...]) -> str:
    return "".join(map(element.text_of, path))
