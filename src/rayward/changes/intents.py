"""What a user wants changed, as values: ``Scale("gpu", 5)``, ``SetImage("rayproject/ray:2.61.0")``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rayward.changes.outcomes import UsageError

HEAD: Final = "head"
"""The name by which the head's group is chosen."""
WORKERS: Final = "workers"
"""All groups but the head's, for ``AnnotatePods``."""
_ANNOTATION: Final = "annotation."


@dataclass(frozen=True, slots=True)
class Scale:
    """A group's size, or its bounds; None leaves one as it is."""

    group: str
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None


@dataclass(frozen=True, slots=True)
class SetImage:
    """The image of the Ray container, which is the first, of a group; of all groups where none is named."""

    image: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class SetEnv:
    """An environment variable of the Ray container; None removes it."""

    name: str
    value: str | None
    group: str = ""


@dataclass(frozen=True, slots=True)
class SetResources:
    """Requests and limits of the Ray container; those not named stay."""

    group: str = ""
    requests: Mapping[str, str] = field(default_factory=dict[str, str])
    limits: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class SetField:
    """A field below ``spec`` by its path as a plan writes it: ``rayVersion``, ``workerGroupSpecs[gpu].maxReplicas``.

    None removes it.
    """

    path: str
    value: Any


@dataclass(frozen=True, slots=True)
class Suspend:
    """``spec.suspend``."""

    suspend: bool = True


@dataclass(frozen=True, slots=True)
class Annotate:
    """An annotation; None removes it."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class AnnotatePods:
    """An annotation in the pod template of a group, of ``head`` or of all ``workers``; of every group without one."""

    name: str
    value: str
    group: str = ""


Intent = Scale | SetImage | SetEnv | SetResources | SetField | Suspend | Annotate | AnnotatePods


def parse_setting(text: str) -> Intent:
    """An intent from one word of the command line.

    ``image=I``, ``GROUP.image=I``, ``GROUP.replicas=5``, ``GROUP.min=1``, ``GROUP.max=8``, ``env.NAME=V``,
    ``GROUP.env.NAME=V`` (``GROUP.env.NAME-`` removes it), ``GROUP.requests.cpu=2``, ``GROUP.limits.memory=4Gi``,
    ``suspend=true``, ``rayVersion=2.61.0``, ``entrypoint=COMMAND``, ``annotation.NAME=V`` (``annotation.NAME-`` removes
    it), and ``spec.PATH=VALUE`` for any other field of the spec, whose value is read as YAML; ``null`` removes it, and
    items of lists are found by name: ``spec.workerGroupSpecs[gpu].numOfHosts=2``.

    Raises:
        UsageError: It is none of these.
    """
    left, equals, value = text.partition("=")
    if left.startswith(_ANNOTATION) and (equals or left.endswith("-")):
        name = left.removeprefix(_ANNOTATION)
        return Annotate(name, value) if equals else Annotate(name[:-1], None)
    if not equals and left.endswith("-") and "env." in left:
        group, _, name = left[:-1].rpartition("env.")
        return SetEnv(name, None, group.rstrip("."))
    parts = left.split(".")
    if not equals or not all(parts):
        raise UsageError(f"cannot read {text!r}", "a setting is WHAT=VALUE", "rayward set raycluster/x gpu.replicas=5")
    return _setting(parts, value, text)


def _setting(parts: list[str], value: str, text: str) -> Intent:
    if not value and parts[-2:-1] != ["env"]:
        what = f"{parts[-1]} would be empty"
        raise UsageError(what, f"there is nothing after {text!r}", f"write a value: {text}VALUE")
    match parts:
        case ["image"]:
            return SetImage(value)
        case [group, "image"]:
            return SetImage(value, group)
        case ["env", name]:
            return SetEnv(name, value)
        case [group, "env", name]:
            return SetEnv(name, value, group)
        case [group, ("requests" | "limits") as which, *resource] if resource:
            amounts = {".".join(resource): value}
            return SetResources(group, **{which: amounts})
        case [group, "replicas"]:
            return Scale(group, replicas=_number(value, text))
        case [group, "min" | "minReplicas"]:
            return Scale(group, min_replicas=_number(value, text))
        case [group, "max" | "maxReplicas"]:
            return Scale(group, max_replicas=_number(value, text))
        case ["suspend"] if value in ("true", "false"):
            return Suspend(value == "true")
        case ["suspend"]:
            raise UsageError(f"cannot read {text!r}", f"{value!r} is neither true nor false", "write suspend=true")
        case ["rayVersion" | "entrypoint" as name]:
            return SetField(name, value)
        case ["spec", *path] if path:
            return SetField(".".join(path), _yaml(value, text))
        case _:
            known = "image, GROUP.image, GROUP.replicas, GROUP.min, GROUP.max, env.NAME, GROUP.requests.cpu, suspend"
            why = f"it is none of {known}, rayVersion, entrypoint, annotation.NAME, spec.PATH"
            following = f"for any other field of the spec: spec.{text}"
            raise UsageError(f"cannot set {text.partition('=')[0]!r}", why, following)


def _number(value: str, text: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise UsageError(
            f"cannot read {text!r}",
            f"{value!r} is not a whole number of 0 or more",
            f"write {text.partition('=')[0]}=5",
        )
    return int(value)


def _yaml(value: str, text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        following = "put quotes around it, for this shell and for YAML: 'spec.PATH=\"VALUE\"'"
        raise UsageError(f"cannot read {text!r}", f"the value is not YAML: {error}", following) from error
