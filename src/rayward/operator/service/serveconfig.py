"""Serve configs as texts: their names, their applications, and the text that makes Ray redeploy them."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, Final

import orjson

from rayward.kinds.effects import Code, code_of
from rayward.kube.machinery.jsonvalue import Object, entries, is_object, section

REDEPLOYMENT: Final = "RAYWARD_REDEPLOYMENT"


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


def _applications(config: str) -> list[Object]:
    try:
        whole: Any = orjson.loads(config) if config else {}
    except orjson.JSONDecodeError:
        return []
    found = entries(whole, "applications") if is_object(whole) else []
    return [app for app in found if is_object(app)]


def deploy_key(config: str, redeployment: int, refresh: str = "") -> str:
    """Names one sending of a config, by its hash: a redeployment sends the same config anew.

    Another ``refresh`` sends the very same text again, which starts no replica.
    """
    return f"{config}.{redeployment}@{refresh}" if refresh else f"{config}.{redeployment}"


def is_deployed(sent: str, config: str, redeployment: int) -> bool:
    """Whether what was sent under a key is this config, refreshed or not."""
    return sent.partition("@")[0] == deploy_key(config, redeployment)


def deploy_text(config: str, redeployment: int) -> bytes:
    """What Ray is sent.

    Ray redeploys nothing for a config that it has already; a variable in the runtime environment makes it another one,
    and replicas are replaced in Ray's own rolling way.
    """
    if not redeployment:
        return config.encode()
    whole: Any = orjson.loads(config)
    for app in entries(whole, "applications"):
        if is_object(app):
            environment = section(app, "runtime_env")
            variables = {**section(environment, "env_vars"), REDEPLOYMENT: str(redeployment)}
            app["runtime_env"] = {**environment, "env_vars": variables}
    return orjson.dumps(whole)
