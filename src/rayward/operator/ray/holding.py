"""Whether Serve already works towards a configuration."""

from __future__ import annotations

from typing import Any, Final

import orjson

from rayward.kube.client.values import as_dict, as_list
from rayward.operator.ray.answers import Serve

_SHOWN: Final = frozenset({"applications", "target_capacity", "http_options", "grpc_options", "proxy_location"})
"""What Serve tells of its configuration, and what it takes only at its start."""


def holds(serve: Serve, config: bytes) -> bool:
    """Whether ``serve`` has all of ``config`` for its goal; False also where that cannot be seen."""
    try:
        wanted = as_dict(orjson.loads(config))
    except orjson.JSONDecodeError:
        return False
    if "applications" not in wanted or not wanted.keys() <= _SHOWN:
        return False
    if wanted.get("target_capacity") != serve.target_capacity:
        return False
    applications = {_name(app): app for app in map(as_dict, as_list(wanted.get("applications")))}
    held = {name: app.deployed_app_config for name, app in serve.applications.items() if app.deployed_app_config}
    return held == applications


def _name(app: dict[str, Any]) -> Any:
    return app.get("name", "default")
