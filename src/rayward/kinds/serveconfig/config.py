"""From what a user wrote to what Ray Serve is told."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

import msgspec

from rayward.kinds import rayversion
from rayward.kinds.serveconfig.finding import Finding, Path, ServeConfigError, written
from rayward.kinds.serveconfig.keys import APPLICATION, RAY_VERSION, TOP, Words
from rayward.kinds.serveconfig.naming import Namer
from rayward.kinds.serveconfig.reading import MAX_DEPTH, MAX_VALUES, Reading, python_source, read
from rayward.kinds.serveconfig.rules import EXAMPLE, complaints, oddities
from rayward.kube.machinery import yamltext
from rayward.kube.machinery.jsonvalue import Object

_SINGLE: Final[Words] = {**APPLICATION, **{name: below for name, below in TOP.items() if name != "applications"}}
_OF_THE_PROXY: Final = ("host", "port")


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """A configuration that Ray Serve can be given; shared by all who ask for it, so never change its payload."""

    payload: Object
    """What is put to Ray, in Ray's words."""
    text: str
    """The YAML as it was written; for an object, YAML that means the same."""
    digest: str
    """Equal for configurations that mean the same, however they are written."""
    warnings: tuple[Finding, ...] = ()

    @property
    def applications(self) -> list[Object]:
        return self.payload["applications"]


def parse(value: Any, ray_version: str = "") -> ServeConfig:
    """Read ``serveConfigV2``, as text or object.

    Args:
        value: What stands in the spec.
        ray_version: The cluster's Ray; a word it does not know is an error where our table is of the same version, else
            a warning.

    Raises:
        ServeConfigError: It cannot be deployed.
    """
    return _parse_text(value, ray_version) if isinstance(value, str) else _parse(value, ray_version)


@lru_cache(maxsize=256)
def _parse_text(text: str, ray_version: str) -> ServeConfig:
    """One text is asked about many times, by validation and by whoever acts on it."""
    return _parse(text, ray_version)


def _parse(value: Any, ray_version: str) -> ServeConfig:
    reading = _read(value)
    version = rayversion.parse(ray_version)
    compiler = _Compiler(reading, strict=version is not None and version[:2] == RAY_VERSION)
    payload = compiler.compile(reading.value)
    if "applications" not in payload and isinstance(value, str) and (source := python_source(value)):
        raise ServeConfigError([source])
    if compiler.errors:
        raise ServeConfigError(sorted(compiler.errors, key=lambda finding: (finding.line, finding.column)))
    text = value if isinstance(value, str) else yamltext.dump(payload)
    canonical = msgspec.json.encode(payload, order="deterministic")
    digest = f"v1-{hashlib.sha256(canonical).hexdigest()[:32]}"
    return ServeConfig(payload, text, digest, tuple(compiler.warnings))


def _read(value: Any) -> Reading:
    reading = read(value) if isinstance(value, str) else Reading(value)
    root = reading.value
    if root is None or root in ("", {}):
        raise ServeConfigError([Finding(f"it is empty: write {EXAMPLE}")])
    if not isinstance(root, dict):
        source = python_source(value) if isinstance(value, str) and isinstance(root, str) else None
        message = f"it is not a mapping: write {EXAMPLE}"
        line, column = reading.place(())
        raise ServeConfigError([source or Finding(message, line=line, column=column)])
    if not isinstance(value, str):
        _refuse_boundless(root)
    return reading


def _refuse_boundless(root: Any) -> None:
    level: list[Any] = [root]
    count = depth = 0
    while level:
        depth += 1
        count += len(level)
        if depth > MAX_DEPTH or count > MAX_VALUES:
            message = f"it is more than {MAX_DEPTH} levels deep or has more than {MAX_VALUES} values"
            raise ServeConfigError([Finding(message)])
        below: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                below += cast("Object", part).values()
            elif isinstance(part, list):
                below += cast("list[Any]", part)
        level = below


class _Compiler:
    """One configuration on its way to Ray's words."""

    def __init__(self, reading: Reading, *, strict: bool) -> None:
        self.errors: list[Finding] = []
        self.warnings: list[Finding] = []
        self._reading = reading
        self._namer = Namer(self._fail if strict else self._warn, self._fail)

    def compile(self, root: Object) -> Object:
        for path, (line, column) in self._reading.repeated:
            message = f"{path[-1]} is written a second time, and only this one counts: delete one"
            self.warnings.append(Finding(message, written(path), line, column))
        if "applications" in root:
            config = self._namer.level(root, TOP)
        else:
            config = self._as_one_application(self._namer.level(root, _SINGLE))
        if self.errors and "applications" not in config:
            return config
        self._lift_routes(config.get("applications"))
        for message, path in complaints(config):
            self._fail(message, self._namer.origin(path))
        for message, path in oddities(config):
            self._warn(message, self._namer.origin(path))
        return config

    def _as_one_application(self, named: Object) -> Object:
        config: Object = {}
        application: Object = {"name": "default"}
        for name, part in named.items():
            if name in _OF_THE_PROXY:
                options = config.setdefault("http_options", {})
                if isinstance(options, dict):
                    cast("Object", options).setdefault(name, part)
            elif name in TOP or name not in APPLICATION:
                config[name] = {**config.get(name, {}), **part} if name == "http_options" and _is_map(part) else part
            else:
                application[name] = part
                self._namer.moved(("applications", 0, name), (name,))
        if "import_path" not in application:
            self._fail(f"there are neither applications nor an import_path: write {EXAMPLE}", ())
            return config
        return {**config, "applications": [application]}

    def _lift_routes(self, applications: Any) -> None:
        """A deployment's route is that of its application: Ray took both once, and takes the latter now."""
        for index, application in enumerate(cast("list[Any]", applications) if isinstance(applications, list) else ()):
            deployments = cast("Object", application).get("deployments") if isinstance(application, dict) else None
            if not isinstance(deployments, list):
                continue
            for number, deployment in enumerate(cast("list[Any]", deployments)):
                if not isinstance(deployment, dict) or "route_prefix" not in deployment:
                    continue
                route = cast("Object", deployment).pop("route_prefix")
                home = cast("Object", application)
                at: Path = ("applications", index, "deployments", number, "route_prefix")
                if "route_prefix" not in home:
                    home["route_prefix"] = route
                    self._namer.moved(("applications", index, "route_prefix"), at)
                elif home["route_prefix"] != route:
                    message = f"the application already answers at {home['route_prefix']!r}: delete this one"
                    self._fail(message, self._namer.origin(at))

    def _fail(self, message: str, origin: Path) -> None:
        self.errors.append(self._finding(message, origin))

    def _warn(self, message: str, origin: Path) -> None:
        self.warnings.append(self._finding(message, origin))

    def _finding(self, message: str, origin: Path) -> Finding:
        line, column = self._reading.place(origin)
        return Finding(message, written(origin), line, column)


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)
