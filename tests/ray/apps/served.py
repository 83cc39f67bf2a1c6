"""Serve applications that behave in one way each; a real head imports them."""

# Checked without Ray: lint must not need it.
# pyright: reportAttributeAccessIssue=false, reportUntypedClassDecorator=false

from __future__ import annotations

import time
from typing import Any

from ray import serve


@serve.deployment
class Greeter:
    """Answers with its word."""

    def __init__(self, word: str = "hello") -> None:
        self._word = word

    def reconfigure(self, config: dict[str, Any]) -> None:
        self._word = config.get("word", self._word)

    def __call__(self) -> str:
        return self._word


@serve.deployment
class Raising:
    """Cannot be built."""

    def __init__(self) -> None:
        raise RuntimeError("no model at this address")

    def __call__(self) -> str:
        return "never"


@serve.deployment
class Hanging:
    """Is built without end."""

    def __init__(self) -> None:
        while True:
            time.sleep(1)

    def __call__(self) -> str:
        return "never"


@serve.deployment(health_check_period_s=0.5, health_check_timeout_s=5)
class Sickening:
    """Is well for two seconds."""

    def __init__(self) -> None:
        self._born = time.monotonic()

    def check_health(self) -> None:
        if time.monotonic() - self._born > 2:
            raise RuntimeError("the model went away")

    def __call__(self) -> str:
        return "well"


@serve.deployment(ray_actor_options={"num_cpus": 1000})
class Hungry:
    """Asks for more than any node has."""

    def __call__(self) -> str:
        return "never"


greeting = Greeter.bind()
farewell = Greeter.bind("bye")
raising = Raising.bind()
hanging = Hanging.bind()
sickening = Sickening.bind()
hungry = Hungry.bind()
not_an_application = 1
