"""What Serve refuses, in its words."""

from __future__ import annotations

from typing import Any

import orjson

_HEAD = "1 validation error for ServeDeploySchema"


def refusal(body: bytes) -> tuple[int, bytes] | None:
    """The answer to a configuration that Serve does not take."""
    try:
        config: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        cause = b"json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
        return 500, b"Traceback (most recent call last):\n" + cause
    if not isinstance(config, dict):
        return 400, f"{_HEAD}\n  Input should be a valid dictionary or instance of ServeDeploySchema".encode()
    found = _mistake(config)
    return None if found is None else (400, f"{_HEAD}\n{found[0]}\n  {found[1]}".encode())


def _mistake(config: dict[str, Any]) -> tuple[str, str] | None:
    if "applications" not in config:
        return "applications", "Field required"
    names: set[str] = set()
    prefixes: set[str | None] = set()
    for index, app in enumerate(config["applications"]):
        place = f"applications.{index}.import_path"
        if "import_path" not in app:
            return place, "Field required"
        path = app["import_path"]
        if "." not in path and ":" not in path:
            return place, (
                f'Value error, Got invalid import path "{path}". An import path must contain at least on dot or colon'
                " separating the module (and potentially submodules) from the deployment graph. E.g.:"
                ' "module.deployment_graph".'
            )
    for app in config["applications"]:
        name, prefix = app.get("name", "default"), app.get("route_prefix", "/")
        if name in names:
            return (
                "applications",
                f'Value error, Found multiple configs for application "{name}". Please remove all duplicates.',
            )
        names.add(name)
        if prefix is not None and prefix in prefixes:
            found = f'Value error, Found duplicate applications for route prefix "{prefix}".'
            return "applications", f"{found} Please ensure each application's route_prefix is unique."
        prefixes.add(prefix)
    if not 0 <= (config.get("target_capacity") or 0) <= 100:
        return "target_capacity", "Input should be less than or equal to 100"
    return None
