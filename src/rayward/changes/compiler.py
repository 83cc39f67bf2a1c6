"""From an intent to the smallest guarded JSON patch.

A JSON patch finds list items by index, and an index may move between reading and writing. So every index in a patch is
preceded by a ``test`` of the name that was found there, and a patch that has to make a missing parent by a ``test`` of
the resource version: a moved object rejects the whole patch, and it is compiled again on what is there now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rayward.changes.intents import (
    HEAD,
    WORKERS,
    AnnotatePods,
    Intent,
    Scale,
    SetEnv,
    SetField,
    SetImage,
    SetResources,
    Suspend,
)
from rayward.changes.mergeguard import replaced_paths
from rayward.changes.outcomes import Invalid, NotFound, UsageError
from rayward.changes.pointers import NAMES, Pointer, names_of, place_of, pointer, steps_of
from rayward.changes.refs import cluster_path, cluster_spec
from rayward.kube.machinery.jsonvalue import Object, entries, is_list, is_object, section

_VERSION: Final = "/metadata/resourceVersion"
_GROUPS: Final = "workerGroupSpecs"
_IN_CLUSTER: Final = frozenset({"rayVersion", "enableInTreeAutoscaling"})


@dataclass(frozen=True, slots=True)
class CompiledPatch:
    """A JSON patch; empty where the object is already as wanted.

    Attributes:
        operations: RFC 6902, tests before what they guard.
        notes: What the user should know about it.
    """

    operations: tuple[Object, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def writes(self) -> tuple[Object, ...]:
        """The operations without the tests."""
        return tuple(operation for operation in self.operations if operation["op"] != "test")


def compile_patch(
    kind: str, live: Object, intents: Iterable[Intent], *, override_autoscaler: bool = False
) -> CompiledPatch:
    """The patch that makes ``live`` as the intents say.

    Args:
        kind: RayCluster, RayService or RayJob.
        live: The object as it is, with its resource version.
        intents: What is wanted; of two about one field the later counts.
        override_autoscaler: Write ``replicas`` even where Ray's autoscaler owns them.

    Raises:
        NotFound: A group that is named is not there.
        Invalid: The kind has no such field, or the autoscaler owns it.
        UsageError: A field by its path is part of what another intent sets, so that none of the two is the later.
    """
    writer = _Writer(kind, live)
    sizes: dict[str, Scale] = {}
    variables: dict[tuple[Pointer, str], str | None] = {}
    for intent in intents:
        if isinstance(intent, Scale):
            # bounds that are given together are judged together
            sizes[intent.group] = _merged(sizes.get(intent.group), intent)
        elif isinstance(intent, SetImage):
            for path in writer.containers(intent.group):
                writer.put((*path, "image"), intent.image)
        elif isinstance(intent, SetEnv):
            variables |= dict.fromkeys(((path, intent.name) for path in writer.containers(intent.group)), intent.value)
        elif isinstance(intent, SetResources):
            for path in writer.containers(intent.group):
                for which, amounts in (("requests", intent.requests), ("limits", intent.limits)):
                    for name, amount in amounts.items():
                        writer.put((*path, "resources", which, name), amount)
        elif isinstance(intent, SetField):
            _field(writer, intent)
        elif isinstance(intent, Suspend):
            writer.put(("spec", "suspend"), intent.suspend)
        elif isinstance(intent, AnnotatePods):
            for root in writer.groups(intent.group):
                writer.put((*root, "template", "metadata", "annotations", intent.name), intent.value)
        else:
            writer.put(("metadata", "annotations", intent.name), intent.value)
    for size in sizes.values():
        _scale(writer, size, override_autoscaler=override_autoscaler)
    for (path, name), value in variables.items():
        _env(writer, path, name, value)
    writer.refuse_overlaps()
    return writer.patch()


def _merged(first: Scale | None, later: Scale) -> Scale:
    if first is None:
        return later
    given = {name: getattr(later, name) for name in ("replicas", "min_replicas", "max_replicas")}
    return replace(first, **{name: value for name, value in given.items() if value is not None})


def _field(writer: _Writer, intent: SetField) -> None:
    steps = steps_of(intent.path)
    if not steps:
        why = "fields are separated by dots, and the name of an item or a name with dots is in brackets"
        raise Invalid(f"cannot read the path {intent.path!r}", why, "write it as rayward plan does: a.b[name].c")
    base = cluster_path(writer.kind) if steps[0] in _IN_CLUSTER else ("spec",)
    path = writer.place(base, steps)
    lost = list(replaced_paths(writer.at(path), intent.value, path)) if intent.value is not None else []
    if lost:
        what = f"{intent.path} would lose {len(lost)} item{'s' if len(lost) > 1 else ''} or fields that it has now"
        following = f"name what to remove: spec.{intent.path}[NAME]=null; or write the value with everything to keep"
        raise Invalid(what, "these would be removed:\n" + "\n".join(lost[:20]), following, field=lost[0])
    writer.fields[path] = intent.path
    writer.put(path, intent.value)


def _scale(writer: _Writer, intent: Scale, *, override_autoscaler: bool) -> None:
    path = writer.group(intent.group)
    group = writer.at(path)
    autoscaled = cluster_spec(writer.kind, writer.live).get("enableInTreeAutoscaling") is True
    if intent.replicas is not None and autoscaled and not override_autoscaler:
        what = f"replicas of group {intent.group} belong to Ray's autoscaler"
        why = "enableInTreeAutoscaling is true: it would be overwritten within seconds"
        raise Invalid(what, why, f"set {intent.group}.min and {intent.group}.max, or add --override-autoscaler")
    sizes = {"minReplicas": intent.min_replicas, "maxReplicas": intent.max_replicas, "replicas": intent.replicas}
    merged = {**group, **{name: value for name, value in sizes.items() if value is not None}}
    least, most = merged.get("minReplicas") or 0, merged.get("maxReplicas")
    if most is not None and least > most:
        raise Invalid(
            f"group {intent.group} would have minReplicas {least} above maxReplicas {most}",
            "",
            f"set {intent.group}.max too",
        )
    replicas = intent.replicas
    if replicas is not None and most is not None and replicas > most:
        what = f"group {intent.group} has maxReplicas {most}, so {replicas} replicas would be cut to {most}"
        raise Invalid(what, "", f"set {intent.group}.max={replicas} too")
    if replicas is not None and replicas < least:
        what = f"group {intent.group} has minReplicas {least}, so {replicas} replicas would be raised to {least}"
        raise Invalid(what, "", f"set {intent.group}.min={replicas} too")
    for name, value in sizes.items():
        if value is not None:
            writer.late.add((*path, name))
            writer.put((*path, name), value)


def _env(writer: _Writer, path: Pointer, name: str, value: str | None) -> None:
    variables: list[Any] = writer.at((*path, "env")) or []
    index = next((i for i, one in enumerate(variables) if is_object(one) and one.get("name") == name), None)
    writer.late.add((*path, "env", "-" if index is None else str(index)))
    if index is None:
        if value is not None:
            writer.append((*path, "env"), {"name": name, "value": value})
        return
    here = (*path, "env", str(index))
    writer.guard((*here, "name"), name)
    if value is None:
        writer.remove(here)
    elif variables[index] != {"name": name, "value": value}:
        writer.put(here, {"name": name, "value": value})


@dataclass(slots=True)
class _Writer:
    """Collects operations; reads always go to the live object as it was."""

    kind: str
    live: Object
    fields: dict[Pointer, str] = field(default_factory=dict[Pointer, str])
    """The paths that were set as they are written, by where they lead."""
    late: set[Pointer] = field(default_factory=set[Pointer])
    """What is written after all else, wherever it was said."""
    _set: set[Pointer] = field(default_factory=set[Pointer])
    _guards: dict[str, Object] = field(default_factory=dict[str, Object])
    _writes: dict[str, Object] = field(default_factory=dict[str, Object])
    _appended: list[Object] = field(default_factory=list[Object])
    _made: set[Pointer] = field(default_factory=set[Pointer])

    def at(self, path: Pointer) -> Any:
        found: Any = self.live
        for part in path:
            if is_list(found):
                found = found[int(part)] if part.isdigit() and int(part) < len(found) else None
            else:
                found = found.get(part) if is_object(found) else None
        return found

    def place(self, base: Pointer, steps: Iterable[str]) -> Pointer:
        """The way to a field, with a guard on each item of a list that it leads through."""
        at = base
        for step in steps:
            here = self.at(at)
            if is_list(here):
                index = place_of(here, step)
                if index is None:
                    what, why = f"{'.'.join(at)} has no item {step!r}", f"items: {names_of(here)}"
                    raise NotFound(what, why, "name one of them; rayward get KIND NAME -o yaml shows all")
                at, item = (*at, str(index)), here[index]
                name = next((key for key in NAMES if is_object(item) and item.get(key)), None)
                if name is None:
                    self.guard(at, item)
                else:
                    self.guard((*at, name), item[name])
            elif here is None and step.isdigit():
                what = f"{'.'.join(at)} has no item {step}: it is not there"
                raise NotFound(what, "", "write the list whole: spec.PATH=[...]")
            elif here is not None and not is_object(here):
                what = f"{'.'.join(at)} is a value and has no field {step!r}"
                raise Invalid(what, f"it is {here!r}", "rayward get KIND NAME -o yaml shows the fields")
            else:
                at = (*at, step)
        return at

    def group(self, name: str) -> Pointer:
        """The way to a worker group, guarded by its name."""
        base = cluster_path(self.kind)
        groups = entries(cluster_spec(self.kind, self.live), _GROUPS)
        for index, group in enumerate(groups):
            if group.get("groupName") == name:
                path = (*base, _GROUPS, str(index))
                self.guard((*path, "groupName"), name)
                return path
        known = ", ".join(str(group.get("groupName")) for group in groups) or "none"
        following = "name one of these groups" if groups else "there is only the head group, named head"
        raise NotFound(f"there is no worker group {name!r}", f"groups: {known}", following)

    def groups(self, group: str) -> list[Pointer]:
        """The ways to a group, to the ``workers``, or to all."""
        base = cluster_path(self.kind)
        roots: list[Pointer] = []
        if group in ("", HEAD, "headgroup"):
            roots.append((*base, "headGroupSpec"))
        known = [str(one.get("groupName")) for one in entries(cluster_spec(self.kind, self.live), _GROUPS)]
        if group == "" or (group == WORKERS and group not in known):
            return roots + [self.group(name) for name in known]
        return roots or [self.group(group)]

    def containers(self, group: str) -> Iterator[Pointer]:
        """The Ray containers of a group, or of all."""
        for root in self.groups(group):
            path = (*root, "template", "spec", "containers", "0")
            found: list[Any] = self.at(path[:-1]) or []
            if not found:
                following = "write its pod template in the manifest and apply it"
                raise Invalid(f"{'.'.join(root)} has no container", "the first container runs Ray", following)
            self.guard((*path, "name"), found[0].get("name"))
            yield path

    def guard(self, path: Pointer, value: Any) -> None:
        self._guards[pointer(path)] = {"op": "test", "path": pointer(path), "value": value}

    def refuse_overlaps(self) -> None:
        """Raise where a path leads into what another intent sets, or to what is written late: the later would lose."""
        for path, text in self.fields.items():
            within = (one for one in self._set | self.late if one != path and one[: len(path)] == path[: len(one)])
            other = path if path in self.late else next(within, None)
            if other is not None:
                why = f"another setting is of {'.'.join(other)}, and one would undo what the other says"
                raise UsageError(f"spec.{text} is set by two settings", why, "keep one of them", field=f"spec.{text}")

    def put(self, path: Pointer, value: Any) -> None:
        self._set.add(path)
        if value is None:
            if self.at(path) is not None:
                self.remove(path)
            else:
                self._writes.pop(pointer(path), None)
            return
        if self.at(path) == value and type(self.at(path)) is type(value):
            self._writes.pop(pointer(path), None)
            return
        self._parents(path)
        self._writes[pointer(path)] = {"op": "add", "path": pointer(path), "value": value}
        if isinstance(self.at(path[:-1]), list):
            # in a list "add" would insert
            self._writes[pointer(path)]["op"] = "replace"

    def append(self, path: Pointer, value: Any) -> None:
        if self.at(path) is None and path not in self._made:
            self._parents(path)
            self._made.add(path)
            self._guard_version()
            self._writes[pointer(path)] = {"op": "add", "path": pointer(path), "value": [value]}
        elif path in self._made:
            self._writes[pointer(path)]["value"].append(value)
        else:
            self._appended.append({"op": "add", "path": f"{pointer(path)}/-", "value": value})

    def remove(self, path: Pointer) -> None:
        self._writes[pointer(path)] = {"op": "remove", "path": pointer(path)}

    def patch(self) -> CompiledPatch:
        # removals of list items last and from the end, so that no index moves under another operation
        writes = sorted(self._writes.values(), key=lambda one: (one["op"] == "remove", _descending(one)))
        if not writes and not self._appended:
            return CompiledPatch()
        return CompiledPatch((*self._guards.values(), *writes, *self._appended))

    def _parents(self, path: Pointer) -> None:
        for length in range(1, len(path)):
            parent = path[:length]
            if self.at(parent) is None and parent not in self._made:
                self._made.add(parent)
                self._guard_version()
                self._writes[pointer(parent)] = {"op": "add", "path": pointer(parent), "value": {}}

    def _guard_version(self) -> None:
        version = section(self.live, "metadata").get("resourceVersion")
        if version:
            self._guards[_VERSION] = {"op": "test", "path": _VERSION, "value": version}


def _descending(operation: Object) -> list[int]:
    if operation["op"] != "remove":
        return []
    return [-int(part) if part.isdigit() else 0 for part in operation["path"].split("/")]
