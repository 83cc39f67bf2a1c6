"""The same applications, started anew."""

from __future__ import annotations

from typing import Any, Final

import orjson

from rayward.kube.machinery.jsonvalue import entries, is_object, section

VARIABLE: Final = "RAYWARD_REDEPLOYMENT"


def deployed_text(config: str, heals: int) -> bytes:
    """What Ray is sent: the config, marked where it was redeployed.

    Ray starts no replica anew for a config that it has already; a variable in the runtime environment makes it
    another one, and replicas are replaced in Ray's own rolling way.
    """
    if not heals:
        return config.encode()
    whole: Any = orjson.loads(config)
    for app in entries(whole, "applications"):
        if is_object(app):
            environment = section(app, "runtime_env")
            variables = {**section(environment, "env_vars"), VARIABLE: str(heals)}
            app["runtime_env"] = {**environment, "env_vars": variables}
    return orjson.dumps(whole)
