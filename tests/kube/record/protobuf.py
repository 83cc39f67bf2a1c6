"""The protobuf messages of the recorded kinds, and where their fields lie in JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from tests.kube.record import golang
from tests.kube.record.server import Object

_MODULES: Final = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver")
_SCALARS: Final = {
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_MESSAGE: "message",
    FieldDescriptor.TYPE_STRING: "string",
}


def message_name(type_name: str) -> str:
    """The protobuf message of a type of the OpenAPI documents."""
    return type_name.replace("io.k8s.", "k8s.io.", 1).replace("-", "_")


def _type_name(message: str) -> str:
    return message.replace("k8s.io.", "io.k8s.", 1).replace("_", "-")


def record(types: Mapping[str, Any], type_names: Iterable[str]) -> dict[str, Object]:
    """By type its protobuf fields, by number: ``[JSON name, kind, of]``.

    A kind is a protobuf type, perhaps after ``list `` or ``map ``; ``of`` is the type of a message. A field of kind
    ``inline`` has no name, and ``of`` holds the fields that JSON writes in its place.
    """
    pool = _pool({message_name(name).rpartition(".")[0] for name in type_names})
    waiting = sorted(type_names)
    found: dict[str, Object] = {}
    while waiting:
        type_name = waiting.pop(0)
        if type_name not in found:
            message = pool.FindMessageTypeByName(message_name(type_name))
            known: Mapping[str, Object] = types.get(type_name, {}).get("fields", {})
            paths = {tuple(map(int, field["protobuf"])): name for name, field in known.items() if "protobuf" in field}
            found[type_name] = _fields(message, paths, waiting)
    return found


def _fields(message: Descriptor, paths: Mapping[tuple[int, ...], str], waiting: list[str]) -> Object:
    """The fields of a message; without ``paths`` their names are those of the message itself."""
    result: Object = {}
    for field in message.fields:
        inner = {path[1:]: name for path, name in paths.items() if path[0] == field.number and len(path) > 1}
        if inner and field.message_type:
            result[str(field.number)] = ["", "inline", _fields(field.message_type, inner, waiting)]
            continue
        name = paths[field.number,] if paths else field.name
        entry = [name, _kind(field), _of(field)]
        if entry[2]:
            waiting.append(entry[2])
        result[str(field.number)] = entry
    return result


def _kind(field: FieldDescriptor) -> str:
    value = _map_value(field)
    if value is not None:
        return f"map {_SCALARS[value.type]}"
    return f"list {_SCALARS[field.type]}" if field.is_repeated else _SCALARS[field.type]


def _of(field: FieldDescriptor) -> str:
    message = (_map_value(field) or field).message_type
    return _type_name(message.full_name) if message is not None else ""


def _map_value(field: FieldDescriptor) -> FieldDescriptor | None:
    if field.message_type is None or not field.message_type.GetOptions().map_entry:
        return None
    return field.message_type.fields_by_name["value"]


def pairs(kinds: Iterable[str], objects: list[Object]) -> list[Object]:
    """What the Go program ``pairs`` makes of the kinds and objects."""
    return json.loads(golang.run("./pairs", *kinds, text=json.dumps(objects)))


def _pool(packages: set[str]) -> DescriptorPool:
    """The compiled ``generated.proto`` files of packages, from the modules of the real components."""
    modules = golang.modules(_MODULES)
    with tempfile.TemporaryDirectory() as root:
        for module, folder in modules.items():
            Path(root, module).parent.mkdir(parents=True, exist_ok=True)
            Path(root, module).symlink_to(folder)
        output = Path(root, "descriptors")
        files = sorted(name for name in map(_file, packages) if Path(root, name).exists())
        flags = [f"-I{root}", "--include_imports", f"--descriptor_set_out={output}"]
        done = subprocess.run(
            [sys.executable, "-m", "grpc_tools.protoc", *flags, *files], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        compiled = FileDescriptorSet.FromString(output.read_bytes())
    pool = DescriptorPool()
    for file in compiled.file:
        pool.Add(file)
    return pool


def _file(package: str) -> str:
    path = package.removeprefix("k8s.io.").replace(".", "/").replace("_", "-")
    return f"k8s.io/{path}/generated.proto"
