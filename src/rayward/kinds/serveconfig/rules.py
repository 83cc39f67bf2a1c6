"""What Ray Serve would refuse, said before anything runs; over a configuration in Ray's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from rayward.kinds.serveconfig.archives import no_archives
from rayward.kinds.serveconfig.finding import Path
from rayward.kube.machinery.jsonvalue import Object

Complaint = tuple[str, Path]

_APPLICATIONS: Final = "applications"
_DEFAULT_ROUTE: Final = "/"
_is_class: Final = re.compile(r"[A-Z]\w*[a-z]\w*").fullmatch
_foreign: Final = re.compile(r"[\s/\\:]").search

EXAMPLE: Final = "applications: [{name: app, route_prefix: /, import_path: 'module:app'}]"


def complaints(config: Object) -> Iterator[Complaint]:
    """Everything that is wrong with a configuration."""
    yield from _capacity(config.get("target_capacity"))
    applications = config.get(_APPLICATIONS)
    if not isinstance(applications, list) or not applications:
        yield f"there is no application to serve: write {EXAMPLE}", (_APPLICATIONS,)
        return
    found = cast("list[Any]", applications)
    for index, application in enumerate(found):
        if isinstance(application, dict):
            yield from _application(cast("Object", application), (_APPLICATIONS, index))
        else:
            yield f"an application is a mapping: write {EXAMPLE}", (_APPLICATIONS, index)
    yield from _collisions([cast("Object", one) if isinstance(one, dict) else {} for one in found])


def oddities(config: Object) -> Iterator[Complaint]:
    """What Ray takes and hardly anybody means."""
    applications = config.get(_APPLICATIONS)
    for index, found in enumerate(cast("list[Any]", applications) if isinstance(applications, list) else ()):
        application: Object = cast("Object", found) if isinstance(found, dict) else {}
        at: Path = (_APPLICATIONS, index)
        yield from no_archives(application.get("runtime_env"), (*at, "runtime_env"))
        yield from _archives_of_deployments(application.get("deployments"), (*at, "deployments"))
        path = application.get("import_path")
        attribute = path.replace(":", ".").rpartition(".")[2] if isinstance(path, str) else ""
        if _is_class(attribute):
            message = (
                f"{attribute} looks like a class: an import path leads to a bound application or to a function that "
                f"builds one, such as app = {attribute}.bind()"
            )
            yield message, (*at, "import_path")


def _archives_of_deployments(deployments: Any, at: Path) -> Iterator[Complaint]:
    for index, deployment in enumerate(cast("list[Any]", deployments) if isinstance(deployments, list) else ()):
        options = cast("Object", deployment).get("ray_actor_options") if isinstance(deployment, dict) else None
        if isinstance(options, dict):
            environment = cast("Object", options).get("runtime_env")
            yield from no_archives(environment, (*at, index, "ray_actor_options", "runtime_env"))


def _capacity(value: Any) -> Iterator[Complaint]:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        yield (
            f"target_capacity is a percentage: write a number from 0 to 100 instead of {value!r}",
            ("target_capacity",),
        )


def _application(application: Object, at: Path) -> Iterator[Complaint]:
    name = application.get("name", "default")
    if not isinstance(name, str) or not name:
        yield f"an application's name is a text that is not empty, not {name!r}: put it in quotes", (*at, "name")
    yield from _import_path(application.get("import_path"), (*at, "import_path"))
    yield from _route(application.get("route_prefix", _DEFAULT_ROUTE), (*at, "route_prefix"))
    for field in ("host", "port"):
        if field in application:
            yield f"{field} is one for all applications: move it into http_options", (*at, field)
    for field in ("args", "runtime_env"):
        if application.get(field) is not None and not isinstance(application[field], dict):
            yield f"{field} is a mapping", (*at, field)
    yield from _runtime_env(application.get("runtime_env"), (*at, "runtime_env"))
    deployments = application.get("deployments")
    if deployments is None:
        return
    if not isinstance(deployments, list):
        yield "deployments is a list: write - before each one's name", (*at, "deployments")
        return
    for index, deployment in enumerate(cast("list[Any]", deployments)):
        yield from _deployment(deployment, (*at, "deployments", index))


def _deployment(deployment: Any, at: Path) -> Iterator[Complaint]:
    if not isinstance(deployment, dict):
        yield "a deployment is a mapping: write - name: NameOfTheClass", at
        return
    fields = cast("Object", deployment)
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        yield "a deployment needs the name it has in the code: write name: NameOfTheClass", (*at, "name")
    replicas = fields.get("num_replicas")
    scaling = fields.get("autoscaling_config")
    is_count = isinstance(replicas, int) and not isinstance(replicas, bool)
    if replicas not in (None, "auto") and not (is_count and cast("int", replicas) > 0):
        yield f"num_replicas is a whole number from 1 up or auto, not {replicas!r}", (*at, "num_replicas")
    elif is_count and scaling is not None:
        message = "num_replicas is fixed and autoscaling_config would change it: keep one, or write num_replicas: auto"
        yield message, (*at, "num_replicas")
    if isinstance(scaling, dict):
        least, most = (cast("Object", scaling).get(field) for field in ("min_replicas", "max_replicas"))
        if isinstance(least, int) and isinstance(most, int) and least > most:
            message = f"min_replicas is {least} and max_replicas is {most}: raise max_replicas or lower min_replicas"
            yield message, (*at, "autoscaling_config", "min_replicas")
    options = fields.get("ray_actor_options")
    if isinstance(options, dict):
        environment = cast("Object", options).get("runtime_env")
        yield from _runtime_env(environment, (*at, "ray_actor_options", "runtime_env"))


def _import_path(path: Any, at: Path) -> Iterator[Complaint]:
    if path is None or path == "":
        yield "there is no import_path: write where the application lies, such as module:app", at
        return
    if not isinstance(path, str):
        yield f"import_path is a text such as module:app, not {path!r}", at
        return
    colon = ":" in path
    module, _, attribute = path.partition(":") if colon else path.rpartition(".")
    if not _is_module(module) or not all(part.isidentifier() for part in attribute.split(".")):
        hint = ": write the module, not its file" if "/" in path else ""
        yield f"{path!r} is not an import path: write module:attribute or module.attribute{hint}", at
    elif colon and module.endswith(".py"):
        yield f"{path!r} names a file: write the module, {module.removesuffix('.py')}:{attribute}", at


def _is_module(name: str) -> bool:
    """Folders and files may have names that are no identifiers: Python imports them all the same."""
    return all(part and not _foreign(part) for part in name.split("."))


def _route(prefix: Any, at: Path) -> Iterator[Complaint]:
    if prefix is None:
        return
    if not isinstance(prefix, str) or not prefix.startswith("/"):
        yield f"a route_prefix begins with /, not {prefix!r}; null gives the application none", at
    elif prefix != "/" and prefix.endswith("/"):
        yield f"a route_prefix does not end with /: write {prefix.rstrip('/') or '/'}", at
    elif "{" in prefix or "}" in prefix:
        yield f"a route_prefix has no wildcards: write {prefix.partition('{')[0].rstrip('/') or '/'}", at


def _runtime_env(environment: Any, at: Path) -> Iterator[Complaint]:
    if not isinstance(environment, dict):
        return
    fields = cast("Object", environment)
    modules = fields.get("py_modules")
    given = [("working_dir", fields.get("working_dir"))]
    given += [("py_modules", one) for one in cast("list[Any]", modules)] if isinstance(modules, list) else []
    for field, uri in given:
        if isinstance(uri, str) and "://" not in uri:
            message = (
                f"{field} {uri!r} is a path, and pods have other files than your machine: write the address of an "
                "archive, such as s3://bucket/code.zip or https://host/code.zip, or put the code into the image"
            )
            yield message, (*at, field)


def _collisions(applications: list[Object]) -> Iterator[Complaint]:
    for field, default, advice in (
        ("name", "default", "give every application a name of its own"),
        ("route_prefix", _DEFAULT_ROUTE, "give every application a route_prefix of its own"),
    ):
        first: dict[str, int] = {}
        for index, application in enumerate(applications):
            value = application.get(field, default)
            if not isinstance(value, str):
                continue
            if value in first:
                written = "" if field in application else ", as if unset,"
                message = f"{field} {value!r}{written} is already that of applications[{first[value]}]: {advice}"
                yield message, (_APPLICATIONS, index, field)
            first.setdefault(value, index)
