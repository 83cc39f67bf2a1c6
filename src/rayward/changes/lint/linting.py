"""All findings of a text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from rayward.changes.lint.finding import Finding, Severity
from rayward.changes.lint.rules import patch_findings, rule_findings
from rayward.changes.lint.schema import schema_findings
from rayward.changes.lint.source import Document, documents, path_of
from rayward.changes.refs import RESOURCES
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.raycronjob import RayCronJob
from rayward.kinds.rayjob import RayJob
from rayward.kinds.rayservice import RayService
from rayward.kinds.runtimeenv import mistakes
from rayward.kinds.runtimeenv import parse as parse_environment
from rayward.kinds.serveconfig import ServeConfig, ServeConfigError, parse
from rayward.kinds.serveconfig.finding import Finding as ConfigFinding
from rayward.kinds.serveconfig.finding import Path, written
from rayward.kinds.serveconfig.reading import Reading, read
from rayward.kinds.validation import (
    Problem,
    cluster_problems,
    cluster_warnings,
    cron_job_problems,
    cron_job_warnings,
    job_problems,
    job_warnings,
    service_problems,
    service_warnings,
)
from rayward.kinds.validation.fit import fit_warnings
from rayward.kinds.validation.service import config_problems
from rayward.kinds.validation.unread import unread_of_config
from rayward.kube.machinery.jsonvalue import entries, is_object, section

_KINDS: Final = (*RESOURCES, "RayCronJob")
_JOBS: Final[dict[str, Path]] = {"RayJob": ("spec",), "RayCronJob": ("spec", "jobTemplate")}
_ENVIRONMENT: Final = "runtimeEnvYAML"
_CONFIGS: Final = (
    "spec.serveConfigV2",
    "spec.serveDeploymentGraphSpec",
    *(f"{written(steps)}.{_ENVIRONMENT}" for steps in _JOBS.values()),
)
_E, _W = Severity.ERROR, Severity.WARNING
_RAY: Final = "ray.io/"


def lint_text(text: str, file: str = "stdin") -> list[Finding]:
    """Every finding, in the order of the text. Documents of other kinds are passed over."""
    lines = text.split("\n")
    found: list[Finding] = []
    for offset, part in documents(text):
        if not part.strip():
            continue
        try:
            reading = read(part)
        except ServeConfigError as error:
            found += [
                Finding("RW101", _E, one.message, "", file, one.line + offset, one.column) for one in error.findings
            ]
            continue
        found += _document(Document(file, lines, offset, reading))
    return sorted(set(found), key=lambda one: (one.line, one.column, one.code, one.message))


def _document(document: Document) -> Iterator[Finding]:
    value = document.value
    if value is None:
        return
    for path, (line, column) in document.reading.repeated:
        message = f"{path[-1]} is written a second time, and only one of them counts: delete one"
        yield Finding("RW103", _E, message, written(path), document.file, line + document.offset, column)
    if not is_object(value):
        line, column = document.place(())
        yield Finding(
            "RW102", _E, "this is not an object: write apiVersion, kind and spec", "", document.file, line, column
        )
        return
    kind, version = value.get("kind"), str(value.get("apiVersion") or "")
    if kind is None and "apiVersion" not in value:
        line, column = document.place(())
        message = "an object names its apiVersion and kind: write both at its top"
        yield Finding("RW102", _E, message, "", document.file, line, column)
        yield from patch_findings(document)
        return
    if str(kind) in _KINDS and version.startswith(_RAY):
        yield from _object(document, str(kind), version)
    elif version.startswith(_RAY):
        near = difflib.get_close_matches(str(kind), _KINDS, 1)
        line, column = document.place(("kind",))
        hint = f": did you mean {near[0]}?" if near else ": it is RayCluster, RayService, RayJob or RayCronJob"
        yield Finding("RW104", _E, f"ray.io has no kind {kind!r}{hint}", "kind", document.file, line, column)
    elif is_object(value) and str(kind).endswith("List"):
        for index, _item in enumerate(entries(value, "items")):
            yield from _item_findings(document, index)


def _item_findings(document: Document, index: int) -> Iterator[Finding]:
    """Items of a List, as documents whose paths begin at the item."""
    base: Path = ("items", index)
    places = {path[2:]: place for path, place in document.reading.places.items() if path[:2] == base}
    reading = Reading(document.value["items"][index], places)
    yield from _document(Document(document.file, document.lines, document.offset, reading))


def _object(document: Document, kind: str, version: str) -> Iterator[Finding]:
    if version != f"{_RAY}v1":
        line, column = document.place(("apiVersion",))
        message = f"{version} is deprecated and goes away in KubeRay 1.9: write ray.io/v1"
        yield Finding("RW104", _W, message, "apiVersion", document.file, line, column)
    shape = list(schema_findings(document, kind))
    yield from shape
    misshapen = any(one.code == "RW201" for one in shape)
    ruled: list[Finding] = []
    try:
        ruled += rule_findings(document, kind)
        ruled += _embedded(document, kind)
    except (AttributeError, TypeError):
        # a number where a mapping belongs: the schema has said so, and rules cannot look into it
        if not misshapen:
            raise
    yield from ruled
    if misshapen:
        return
    try:
        problems, warnings = judged(document.value, kind)
    except msgspec.ValidationError:
        return
    taken = {one.path for one in shape}
    for problem in problems:
        if problem.path not in taken and not problem.path.startswith(_CONFIGS):
            yield _problem(document, problem, "RW202", _E)
    told = {one.path for one in ruled if one.severity is _W}
    for problem in warnings:
        if problem.path not in told and not problem.path.startswith(_CONFIGS):
            yield _problem(document, problem, "RW411" if problem.path.endswith(".image") else "RW203", _W)


def judged(value: Any, kind: str) -> tuple[list[Problem], list[Problem]]:
    """What validation finds in an object: problems, for which the operator rejects it, and warnings."""
    if kind == "RayCluster":
        cluster = msgspec.convert(value, RayCluster)
        return cluster_problems(cluster), cluster_warnings(cluster)
    if kind == "RayService":
        service = msgspec.convert(value, RayService)
        return service_problems(service), service_warnings(service)
    if kind == "RayJob":
        job = msgspec.convert(value, RayJob)
        return job_problems(job), job_warnings(job)
    cron = msgspec.convert(value, RayCronJob)
    return cron_job_problems(cron), cron_job_warnings(cron)


def _problem(document: Document, problem: Problem, code: str, severity: Severity) -> Finding:
    line, column = document.place(path_of(problem.path))
    return Finding(code, severity, problem.message, problem.path, document.file, line, column)


def _embedded(document: Document, kind: str) -> Iterator[Finding]:
    """Text inside the manifest that has a structure of its own."""
    spec = section(document.value, "spec")
    if kind == "RayService":
        yield from _serve_config(document, spec)
    if kind in _JOBS:
        job: Any = document.value
        for step in _JOBS[kind]:
            job = section(job, str(step))
        if isinstance(job.get(_ENVIRONMENT), str):
            yield from _runtime_env(document, (*_JOBS[kind], _ENVIRONMENT), job[_ENVIRONMENT])


def _serve_config(document: Document, spec: dict[str, Any]) -> Iterator[Finding]:
    name = next((name for name in ("serveConfigV2", "serveDeploymentGraphSpec") if spec.get(name)), None)
    steps: Path = ("spec", name or "serveConfigV2")
    version = str(section(spec, "rayClusterConfig").get("rayVersion") or "")
    try:
        config = parse(spec.get(name) if name else None, version)
        errors, warnings = _runnable(document, config)
    except ServeConfigError as error:
        warnings, errors = (), tuple(error.findings)
    for code, severity, found in (("RW301", _E, errors), ("RW302", _W, warnings)):
        for one in found:
            at = f"{written(steps)}{'' if not one.path else '.' + one.path}"
            if is_object(spec.get(steps[1])):
                place = document.place((*steps, *path_of(one.path)))
            else:
                place = document.place_within(steps, one.line, one.column)
            yield Finding(code, severity, one.message, at, document.file, *place)
    yield from _environments(document, steps)


def _environments(document: Document, steps: Path) -> Iterator[Finding]:
    """Runtime environments of applications: Serve takes them as they are, and Ray refuses them when it deploys."""
    given = document.value["spec"].get(steps[1])
    try:
        reading = read(given) if isinstance(given, str) else Reading(given)
    except ServeConfigError:
        return
    config = reading.value if is_object(reading.value) else {}
    for index, application in enumerate(entries(config, "applications")):
        inner: Path = ("applications", index, "runtime_env")
        for path, message in mistakes(section(application, "runtime_env") if is_object(application) else {}):
            at: Path = (*inner, *path)
            if isinstance(given, str):
                place = document.place_within(steps, *reading.place(at))
            else:
                place = document.place((*steps, *at))
            yield Finding("RW304", _E, message, f"{written(steps)}.{written(at)}", document.file, *place)


def _runnable(document: Document, config: ServeConfig) -> tuple[tuple[ConfigFinding, ...], tuple[ConfigFinding, ...]]:
    """What is wrong with a config that can be read, by the cluster that it is for."""
    try:
        service = msgspec.convert(document.value, RayService)
    except msgspec.ValidationError:
        return (), config.warnings
    spec = service.spec
    warnings = (*config.warnings, *fit_warnings(config, spec.ray_cluster_config), *unread_of_config(config, spec))
    return tuple(config_problems(config, service)), warnings


def _runtime_env(document: Document, steps: Path, text: str) -> Iterator[Finding]:
    try:
        found, severity = parse_environment(text).warnings, _W
    except ServeConfigError as error:
        found, severity = error.findings, _E
    for one in found:
        at = f"{written(steps)}{'' if not one.path else '.' + one.path}"
        place = document.place_within(steps, one.line, one.column)
        yield Finding("RW304", severity, one.message, at, document.file, *place)
