"""Code for services that work, and for services that cannot: modules of a ConfigMap, by file name."""

from __future__ import annotations

from typing import Any, Final

import yaml

_TUNED: Final = '''
import asyncio
import os
import time

from ray import serve
from starlette.requests import Request


@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Tuned:
    """Answers with its release and the word of its user_config, after as many seconds as it is asked to take.

    It is unwell as long as its pod holds a file that says so.
    """

    def check_health(self) -> None:
        if os.path.exists("/tmp/unwell"):
            raise RuntimeError("the weights are gone")

    def reconfigure(self, config: dict[str, str]) -> None:
        if "hang" in config:
            time.sleep(3600)
        self.word = config["word"]

    async def __call__(self, request: Request) -> dict[str, str]:
        release = f"{os.environ['RELEASE']} {self.word}"
        await asyncio.sleep(float(request.query_params.get("seconds", "0")))
        return {"hello": request.query_params.get("name", "world"), "release": release}


app = Tuned.bind()
'''
_CRASH: Final = 'raise RuntimeError("the weights are missing")\n'
_HANG: Final = """
import time

from ray import serve


@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Tuned:
    def __init__(self) -> None:
        time.sleep(3600)


app = Tuned.bind()
"""

MODULES: Final = {"tuned.py": _TUNED, "again.py": _TUNED, "crash.py": _CRASH, "hang.py": _HANG}


def tuned(
    word: str = "plain", module: str = "tuned", runtime_env: dict[str, Any] | None = None, **deployment: Any
) -> str:
    """A serve config whose answers end with a word; another module or environment is other code to Ray."""
    # With Ray's usual 5 a replica that had to wait for the CPU once works off its queue in minutes.
    settings = {
        "name": "Tuned",
        "max_ongoing_requests": 100,
        "health_check_period_s": 1,
        "user_config": {"word": word},
        **deployment,
    }
    return _config({"import_path": f"{module}:app", "runtime_env": runtime_env or {}, "deployments": [settings]})


def two_applications() -> str:
    """A serve config of two applications that answer alike, at ``/`` and at ``/second``."""
    first = yaml.safe_load(tuned())["applications"][0]
    second = {**first, "name": "second", "route_prefix": "/second", "import_path": "again:app"}
    return yaml.safe_dump({"applications": [first, second]})


def broken(module: str) -> str:
    """A serve config of a module that cannot work: crash or hang."""
    return _config({"import_path": f"{module}:app"})


def _config(application: dict[str, Any]) -> str:
    return yaml.safe_dump({"applications": [{"name": "hello", "route_prefix": "/", **application}]})
