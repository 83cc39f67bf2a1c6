"""What is done to a Ray head, real or simulated, to learn how it answers."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tests.operator.ray.behaviour import Behaviour

TOKEN: Final = "of-the-recording"
SLOW_SECONDS: Final = 3
"""After how long Serve complains of a replica that is not up; its own default is 30."""

BEHAVIOURS: Final = {
    "served:greeting": Behaviour(),
    "served:farewell": Behaviour("bye"),
    "served:nothing": Behaviour(build_error="AttributeError: module 'served' has no attribute 'nothing'"),
    "served:not_an_application": Behaviour(
        build_error="TypeError: Expected a built Serve application or an application builder function but got: "
        "<class 'int'>."
    ),
    "served:raising": Behaviour(
        deployment="Raising", start_seconds=1.2, constructor_error="RuntimeError: no model at this address"
    ),
    "served:hanging": Behaviour(deployment="Hanging", hangs=True),
    "served:hungry": Behaviour(deployment="Hungry", cpus=1000.0),
    "served:sickening": Behaviour("well", deployment="Sickening", sick_after=3.5),
}
"""What the modules that a real head imports do, for a simulated one."""

Config = dict[str, Any]


class Step(msgspec.Struct, frozen=True):
    """One configuration, and what to wait for after it.

    ``until`` holds, per application, the status in which the step ends; None is an application that is gone. With
    ``passing`` that status counts only after the application has been in this other one.
    """

    name: str
    put: Config | bytes
    until: dict[str, str | None] = {}
    passing: str = ""
    complaint: str = ""
    """What some message must say before the step ends."""


class Question(msgspec.Struct, frozen=True):
    """A single request."""

    name: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()


def app(name: str, attribute: str, **more: Any) -> Config:
    return {"name": name, "route_prefix": f"/{name}", "import_path": f"served:{attribute}", **more}


def config(*apps: Config, **more: Any) -> Config:
    return {"applications": list(apps), **more}


_GREETING: Final = app("a", "greeting")
_FAREWELL: Final = app("a", "farewell")
_ENVIRONMENT: Final = {"env_vars": {"COLOUR": "blue"}}

QUESTIONS: Final = (
    Question("version", "/api/version", (("x-ray-authorization", f"Bearer {TOKEN}"),)),
    Question("version, Authorization header", "/api/version", (("Authorization", f"Bearer {TOKEN}"),)),
    Question("version without a token", "/api/version"),
    Question("version with a wrong token", "/api/version", (("x-ray-authorization", "Bearer wrong"),)),
    Question("applications without a token", "/api/serve/applications/?api_type=declarative"),
    Question("health of the GCS needs no token", "/api/gcs_healthz"),
    Question("nodes", "/api/v0/nodes", (("x-ray-authorization", f"Bearer {TOKEN}"),)),
    Question(
        "an unknown kind of applications",
        "/api/serve/applications/?api_type=new",
        (("x-ray-authorization", f"Bearer {TOKEN}"),),
    ),
)

REFUSED: Final = (
    Step("no JSON", b"applications: []"),
    Step("a list", b"[]"),
    Step("no applications", {}),
    Step("no import path", config({"name": "a"})),
    Step("an import path that is none", config({"name": "a", "import_path": "served"})),
    Step("two applications of one name", config(_GREETING, _GREETING)),
    Step("two applications on one route", config(_GREETING, {**app("b", "greeting"), "route_prefix": "/a"})),
    Step("too much capacity", config(_GREETING, target_capacity=101)),
)

STEPS: Final = (
    Step("first application", config(_GREETING), {"a": "RUNNING"}),
    Step("the same again", config(_GREETING), {"a": "RUNNING"}),
    Step(
        "more replicas",
        config({**_GREETING, "deployments": [{"name": "Greeter", "num_replicas": 2}]}),
        {"a": "RUNNING"},
        passing="DEPLOYING",
    ),
    Step(
        "fewer replicas, new settings",
        config({**_GREETING, "deployments": [{"name": "Greeter", "num_replicas": 1, "user_config": {"word": "hi"}}]}),
        {"a": "RUNNING"},
        passing="DEPLOYING",
    ),
    Step("other code", config(_FAREWELL), {"a": "RUNNING"}, passing="DEPLOYING"),
    Step(
        "another environment", config({**_FAREWELL, "runtime_env": _ENVIRONMENT}), {"a": "RUNNING"}, passing="DEPLOYING"
    ),
    Step("the first environment", config(_FAREWELL), {"a": "RUNNING"}, passing="DEPLOYING"),
    Step("other code that cannot be imported", config(app("a", "nothing")), {"a": "DEPLOY_FAILED"}),
    Step("back to code that can", config(_FAREWELL), {"a": "RUNNING"}),
    Step("a second one that cannot be imported", config(_FAREWELL, app("b", "nothing")), {"b": "DEPLOY_FAILED"}),
    Step(
        "the same that cannot be imported",
        config(_FAREWELL, app("b", "nothing")),
        {"b": "DEPLOY_FAILED"},
        passing="DEPLOYING",
    ),
    Step("its correction", config(_FAREWELL, app("b", "greeting")), {"a": "RUNNING", "b": "RUNNING"}),
    Step("without the second", config(_FAREWELL), {"a": "RUNNING", "b": "DELETING"}),
    Step("the second again at once", config(_FAREWELL, app("b", "greeting")), {"a": "RUNNING", "b": "RUNNING"}),
    Step("without the second for good", config(_FAREWELL), {"a": "RUNNING", "b": None}),
    Step("a constructor that raises", config(_FAREWELL, app("c", "raising")), {"c": "DEPLOY_FAILED"}),
    Step("the same that raises", config(_FAREWELL, app("c", "raising")), {"c": "DEPLOY_FAILED"}),
    Step("nothing to deploy", config(_FAREWELL, app("n", "not_an_application")), {"n": "DEPLOY_FAILED", "c": None}),
    Step(
        "a constructor that hangs",
        config(_FAREWELL, app("d", "hanging")),
        {"d": "DEPLOYING", "n": None},
        complaint="to initialize",
    ),
    Step(
        "no room",
        config(_FAREWELL, app("e", "hungry")),
        {"e": "DEPLOYING"},
        complaint="to be scheduled",
    ),
    Step("one that falls ill", config(_FAREWELL, app("f", "sickening")), {"f": "RUNNING"}, passing="UNHEALTHY"),
    Step("none", config(), {"a": None, "d": None, "e": None, "f": None}),
)
