"""Paths inside volumes and containers, and walking over a pod's containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayward.kube.machinery.fielderror import invalid
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS

Spec = Mapping[str, Any]

MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"


def containers_of(spec: Spec, at: str) -> Iterator[tuple[str, Spec]]:
    """Every container with its path: init containers first, ephemeral ones last."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or NO_ITEMS):
            yield f"{at}.{field}[{index}]", container


def no_backsteps(path: str, at: str, out: Errors) -> None:
    """No element of the path is ``..``."""
    if ".." in path.split("/"):
        out.append(invalid(at, path, "must not contain '..'"))


def descending(path: str, at: str, out: Errors) -> None:
    """A relative path that stays below where it starts."""
    if path.startswith("/"):
        out.append(invalid(at, path, "must be a relative path"))
    no_backsteps(path, at, out)


def descending_not_reserved(path: str, at: str, out: Errors) -> None:
    """A relative path below where it starts whose name does not begin with ``..``."""
    descending(path, at, out)
    if path.startswith("..") and not path.startswith("../"):
        out.append(invalid(at, path, "must not start with '..'"))


def file_mode(mode: int | None, at: str, out: Errors) -> None:
    """Permission bits of a file."""
    if mode is not None and not 0 <= mode <= 0o777:
        out.append(invalid(at, mode, MODE_TEXT))
