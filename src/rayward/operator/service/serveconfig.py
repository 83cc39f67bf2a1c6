"""Serve configs as texts: their names, their applications, and the text that makes Ray redeploy them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from rayward.kinds.effects import Code, code_of
from rayward.kube.machinery.jsonvalue import Object, entries, is_object, section

REDEPLOYMENT: Final = "RAYWARD_REDEPLOYMENT"
_CODE: Final = ("import_path", "args", "runtime_env")
"""What decides which code an application runs; another one replaces all of its replicas."""
_PLACED: Final = ("max_replicas_per_node", "placement_group_bundles", "gang_scheduling_config")


class Surge(NamedTuple):
    """A deployment whose replicas Ray takes for another version, by a limit that none of them ever meets."""

    application: str
    deployment: str
    per_node: int
    """Zero for none."""


Surges = frozenset[Surge]


class UserConfig(NamedTuple):
    """What a Serve config gives one deployment; of the application itself both last are empty."""

    application: str
    code: str
    deployment: str = ""
    user_config: str = ""
    """Its hash."""
    fixed: bool = False
    """Ray allows no ``max_replicas_per_node`` for it, or has one, or is to start no replica before one ends."""


def config_hash(text: str) -> str:
    """A short name for a config; empty for none."""
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


@lru_cache(maxsize=1024)
def application_names(config: str) -> frozenset[str]:
    """The applications that a config asks for."""
    return frozenset(str(app.get("name", "default")) for app in _applications(config))


@lru_cache(maxsize=1024)
def code_behind_routes(config: str) -> Code:
    """The code of the applications that a config asks for."""
    return code_of(_applications(config))


@lru_cache(maxsize=1024)
def user_configs(config: str) -> frozenset[UserConfig]:
    """The ``user_config`` of each deployment that a config names."""
    found: set[UserConfig] = set()
    for app in _applications(config):
        name, code = str(app.get("name", "default")), _hash([app.get(part) or None for part in _CODE])
        found.add(UserConfig(name, code))
        for each in entries(app, "deployments"):
            fixed = any(each.get(part) is not None for part in _PLACED) or each.get("max_surge_percent") == 0
            found.add(UserConfig(name, code, str(each.get("name")), _hash(each.get("user_config")), fixed))
    return frozenset(found)


def _hash(value: Any) -> str:
    return config_hash(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()) if value is not None else ""


def _applications(config: str) -> list[Object]:
    try:
        whole: Any = orjson.loads(config) if config else {}
    except orjson.JSONDecodeError:
        return []
    found = entries(whole, "applications") if is_object(whole) else []
    return [app for app in found if is_object(app)]


def deploy_key(config: str, redeployment: int, refresh: str = "", surges: Surges = frozenset()) -> str:
    """Names one sending of a config, by its hash: a redeployment sends the same config anew.

    Another ``refresh`` sends the very same text again, which starts no replica.
    """
    surged = f"+{_hash([list(each) for each in sorted(surges)])}" if surges else ""
    return f"{config}.{redeployment}{surged}" + (f"@{refresh}" if refresh else "")


def is_deployed(sent: str, config: str, redeployment: int, surges: Surges = frozenset()) -> bool:
    """Whether what was sent under a key is this config, refreshed or not."""
    return sent.partition("@")[0] == deploy_key(config, redeployment, surges=surges)


def deploy_text(config: str, redeployment: int, surges: Surges = frozenset()) -> bytes:
    """What Ray is sent.

    Ray redeploys nothing for a config that it has already; a variable in the runtime environment makes it another one,
    and replicas are replaced in Ray's own rolling way. So does another ``max_replicas_per_node``, for one deployment;
    with ``max_surge_percent`` the new replica starts before the old one ends.
    """
    if not redeployment and not surges:
        return config.encode()
    whole: Any = orjson.loads(config)
    for app in entries(whole, "applications"):
        if not is_object(app):
            continue
        if redeployment:
            environment = section(app, "runtime_env")
            variables = {**section(environment, "env_vars"), REDEPLOYMENT: str(redeployment)}
            app["runtime_env"] = {**environment, "env_vars": variables}
        _surge(app, (each for each in sorted(surges) if each.application == app.get("name", "default")))
    return orjson.dumps(whole)


def _surge(app: Object, surges: Iterable[Surge]) -> None:
    for each in surges:
        deployments: list[Object] = list(entries(app, "deployments"))
        named = next((found for found in deployments if found.get("name") == each.deployment), None)
        if named is None:
            # Its settings are those of the code by now.
            deployments.append(named := {"name": each.deployment})
        named.setdefault("max_surge_percent", 100)
        if each.per_node:
            named["max_replicas_per_node"] = each.per_node
        app["deployments"] = deployments
