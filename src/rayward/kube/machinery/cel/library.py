"""The one door to the CEL library (cel-cpp): it parses, checks types and carries RE2.

Evaluation is ours (see ``evaluate``): the library gives no control back while it runs, has no notion of cost, and
cannot hold Kubernetes' own types. It nests at most 32 deep (cel-go: 250), and a chain such as ``a + b + c`` nests once
per link.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, struct_pb2, timestamp_pb2

from rayward.kube.machinery.cel import declarations

MAX_EXPRESSION: Final = 100_000
"""Longest expression that is compiled, in characters."""

# The versions that Kubernetes has; later ones would know functions that it does not.
_EXTENSIONS: Final = {"strings": 2, "optional": 2, "sets": 0, "lists": 2, "two-var-comprehensions": 0}
_STATUS: Final = re.compile(r"\A[A-Z_]+: |\s*\[[A-Z_]+\]\Z")
_FINDING: Final = re.compile(r"^ERROR: <input>:(\d+):(\d+): ", re.MULTILINE)


class CompileError(ValueError):
    """The expression does not compile; the text lists the library's findings as Kubernetes prints them."""


def check(expression: str, variables: Mapping[str, str], messages: bytes | None = None) -> bytes:
    """Parses and type-checks an expression.

    Args:
        expression: The CEL source.
        variables: Type signature by variable name (``int``, ``list<string>``, ``dyn``, a message's full name).
        messages: A serialized FileDescriptorProto with the message types that the signatures name.

    Returns:
        The serialized checked expression.

    Raises:
        CompileError: With every finding.
    """
    if len(expression) > MAX_EXPRESSION:
        raise CompileError(f"expression code point size exceeds limit: size: {len(expression)}, limit {MAX_EXPRESSION}")
    try:
        return _environment(variables, messages).compile(expression).serialize()
    except RuntimeError as error:
        raise CompileError(_as_cel_go_says(_STATUS.sub("", str(error)), expression)) from None


def _as_cel_go_says(text: str, expression: str) -> str:
    """The findings in order of place, in the words of cel-go, which Kubernetes uses."""
    starts = [*_FINDING.finditer(text)]
    if not starts:
        return text
    ends = [match.start() for match in starts[1:]] + [len(text)]
    lines = expression.split("\n")
    found: list[tuple[int, int, str]] = []
    for match, end in zip(starts, ends, strict=True):
        line, column = int(match[1]), int(match[2])
        before = lines[line - 1][: column - 1] if line <= len(lines) else ""
        found.append((line, column, _reworded(text[match.start() : end].rstrip("\n"), before)))
    return "\n".join(block for _, _, block in sorted(found, key=lambda each: each[:2]))


_WORDS: Final = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
    "null_type": "null",
    "cannot be the range of a comprehension": "cannot be range of a comprehension",
    "has() argument must be a field selection": "invalid argument to has() macro",
}
_VARIABLE: Final = re.compile(r"\w+\(\) variable name must be a simple identifier")
_SELECTION: Final = re.compile(r"expression of type '([^']*)' cannot be the operand of a select operation")
_OVERLOAD: Final = re.compile(r"(found no matching overload for '(\w+)' applied to )'\((.*)\)'$", re.MULTILINE)


def _reworded(block: str, before: str) -> str:
    head, newline, snippet = block.partition("\n")
    head = re.sub(r"(undefined field '[^']*') not found in struct '[^']*'", r"\1", head)
    head = _SELECTION.sub(r"type '\1' does not support field selection", head)
    head = _VARIABLE.sub("argument must be a simple name", head)
    for ours, theirs in _WORDS.items():
        head = head.replace(ours, theirs)
    match = _OVERLOAD.search(head)
    # A call behind a dot is shown as one.
    if match and re.search(rf"\.\s*{match[2]}\s*\Z", before):
        target, rest = _first_argument(match[3])
        head = f"{head[: match.start()]}{match[1]}'{target}.({rest})'"
    return head + newline + snippet


def _first_argument(arguments: str) -> tuple[str, str]:
    depth = 0
    for place, c in enumerate(arguments):
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            return arguments[:place], arguments[place + 1 :].lstrip()
    return arguments, ""


def _environment(variables: Mapping[str, str], messages: bytes | None) -> cel.Env:
    pool = descriptor_pool.DescriptorPool()
    for known in (struct_pb2, timestamp_pb2, duration_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)  # pyright: ignore[reportUnknownMemberType]
    for file in (*_opaque_types(), *([] if messages is None else [messages])):
        pool.AddSerializedFile(file)  # pyright: ignore[reportUnknownMemberType]
    return cel.NewEnv(
        descriptor_pool=pool,
        config=cel.NewEnvConfigFromYaml(_configuration(variables)),
        extensions=[_functions()],
    )


def _configuration(variables: Mapping[str, str]) -> str:
    """The environment as YAML, the only form in which the library takes optional types."""
    lines = ["extensions:"]
    for name, version in _EXTENSIONS.items():
        lines += [f"  - name: {name}", f"    version: {version}"]
    lines.append("functions:")
    for name, overload in _optional_functions():
        target, args = overload.parameters[: overload.member], overload.parameters[overload.member :]
        lines += [f"  - name: {name}", "    overloads:", f"      - id: {name}"]
        lines += [f"        target: {{type: {parameter}}}" for parameter in target]
        lines += [f"        args: [{', '.join(f'{{type: {parameter}}}' for parameter in args)}]"]
        lines += [f'        return: {{type: "{overload.result}"}}']
    if variables:
        lines.append("variables:")
        for name, signature in variables.items():
            lines += [f"  - name: {name}", f'    type: "{signature}"']
    return "\n".join(lines) + "\n"


def _optional_functions() -> list[tuple[str, declarations.Overload]]:
    return [
        (name, overload)
        for name, overloads in declarations.FUNCTIONS.items()
        for overload in overloads
        if overload.result.startswith("optional_type<")
    ]


@lru_cache(maxsize=1)
def _opaque_types() -> list[bytes]:
    files: dict[str, descriptor_pb2.FileDescriptorProto] = {}
    for full_name in declarations.OPAQUE:
        package, _, name = full_name.rpartition(".")
        file = files.setdefault(package, descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package))
        file.message_type.add(name=name)
    return [file.SerializeToString() for file in files.values()]


@lru_cache(maxsize=1)
def _functions() -> cel.CelExtension:
    return cel.CelExtension(
        "kubernetes",
        [
            cel.FunctionDecl(
                name,
                [
                    cel.Overload(
                        f"{name}({', '.join(overload.parameters)})",
                        return_type=cel.Type(overload.result),
                        parameters=[cel.Type(parameter) for parameter in overload.parameters],
                        is_member=overload.member,
                    )
                    for overload in overloads
                ],
            )
            for name, overloads in declarations.FUNCTIONS.items()
            if not overloads[0].result.startswith("optional_type<")
        ],
    )
