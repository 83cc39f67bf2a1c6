"""``runtimeEnvYAML`` of a RayJob: Ray's runtime environment, read with line and column of each mistake."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from rayward.kinds.serveconfig.archives import no_archives
from rayward.kinds.serveconfig.finding import Finding, Path, ServeConfigError, written
from rayward.kinds.serveconfig.reading import Reading, read
from rayward.kube.machinery.jsonvalue import Object

_EXAMPLE: Final = "write a mapping such as env_vars: {KEY: value}"
_KNOWN: Final = frozenset(
    (
        "working_dir",
        "py_modules",
        "py_executable",
        "java_jars",
        "excludes",
        "pip",
        "uv",
        "conda",
        "container",
        "image_uri",
        "env_vars",
        "config",
        "worker_process_setup_hook",
        "mpi",
        "nsight",
        "rocprof_sys",
    )
)
"""The keys of Ray 2.60; Ray passes over others with a warning in its own log."""
_ONE_OF: Final = ("pip", "uv", "conda")


@dataclass(frozen=True, slots=True)
class RuntimeEnv:
    """A runtime environment that Ray can be given; shared by all who ask for it, so never change its value."""

    value: Object
    warnings: tuple[Finding, ...] = ()


@lru_cache(maxsize=256)
def parse(text: str) -> RuntimeEnv:
    """Read the text; an empty one is an empty environment.

    Raises:
        ServeConfigError: Ray would refuse it; every reason, in the order of the text.
    """
    reading = read(text, may_be_program=False) if text.strip() else Reading({})
    root: Any = cast("Object", {}) if reading.value is None else reading.value
    if not isinstance(root, dict):
        line, column = reading.place(())
        raise ServeConfigError([Finding(f"it is not a mapping: {_EXAMPLE}", line=line, column=column)])
    environment = cast("Object", root)
    errors = [_at(reading, path, message) for path, message in mistakes(environment)]
    errors += [
        Finding(f"{written(path)} is there twice: keep one", line=line, column=column)
        for path, (line, column) in reading.repeated
    ]
    if errors:
        raise ServeConfigError(sorted(errors, key=lambda finding: (finding.line, finding.column)))
    unknown = (name for name in environment if name not in _KNOWN and not name.startswith("_"))
    warnings = [_at(reading, (name,), _unknown(name)) for name in unknown]
    warnings += [_at(reading, path, message) for message, path in no_archives(environment)]
    return RuntimeEnv(environment, tuple(warnings))


def mistakes(environment: Object) -> Iterator[tuple[Path, str]]:
    """Why Ray refuses a runtime environment, wherever it is written: the path within it, and the reason."""
    variables = environment.get("env_vars")
    if variables is not None and not isinstance(variables, dict):
        yield ("env_vars",), "env_vars is not a mapping: write names and values, such as {KEY: value}"
    elif variables is not None:
        for name, value in cast("Object", variables).items():
            if not isinstance(value, str):
                message = f"the value of {name} is not text, and Ray takes only text: put it in quotes"
                yield ("env_vars", name), message
    given = [name for name in _ONE_OF if environment.get(name)]
    for name in given[1:]:
        yield (name,), f"Ray takes one of {given[0]} and {name}: keep one"


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, _KNOWN, 1)
    return f"Ray 2.60 knows no {name!r} and ignores it" + (f": did you mean {near[0]}?" if near else "")


def _at(reading: Reading, path: Path, message: str) -> Finding:
    line, column = reading.place(path)
    return Finding(message, written(path), line, column)
