"""Ways to break a release: what is edited, and what has to be said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import yaml

from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.options import PatchType
from tests.ray.service import HelloService
from tests.ray.variants import MODULES as _TUNED
from tests.ray.variants import broken, tuned

_DEPLOYMENT: Final = """
from ray import serve


@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Tuned:
    %s


app = Tuned.bind()
"""
_CHECKED: Final = """
from pydantic import BaseModel
from ray import serve


class Sizes(BaseModel):
    width: int
    height: int


@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Tuned:
    def __init__(self) -> None:
        self.sizes = Sizes(width="wide")


app = Tuned.bind()
"""
_RENAMED: Final = (_DEPLOYMENT % 'def __init__(self) -> None:\n        raise RuntimeError("no weights")').replace(
    "Tuned", "Renamed"
)
MODULES: Final = {
    **_TUNED,
    "ctor.py": _DEPLOYMENT % 'def __init__(self) -> None:\n        raise RuntimeError("no weights")',
    "dependency.py": "import no_such_dependency\n\napp = None\n",
    "syntax.py": "app = (\n",
    "sick.py": _DEPLOYMENT % 'def check_health(self) -> None:\n        raise RuntimeError("it is sick")',
    "nothing.py": "app = 7\n",
    "checked.py": _CHECKED,
    "renamed.py": _RENAMED,
    "hungry.py": (_DEPLOYMENT % "pass").replace('"num_cpus": 0.1', '"num_cpus": 16'),
    "killed.py": _DEPLOYMENT % "def __init__(self) -> None:\n        import os\n\n        os.kill(os.getpid(), 9)",
    "exits.py": "import os\n\nos._exit(7)\n",
    "hangs.py": _DEPLOYMENT % "def __init__(self) -> None:\n        import time\n\n        time.sleep(3600)",
    "builder.py": 'def app(args: dict) -> None:\n    raise ValueError("no such variant")\n',
}
_HEAD: Final = "/spec/rayClusterConfig/headGroupSpec"
_WORKERS: Final = "/spec/rayClusterConfig/workerGroupSpecs/0"
_STRATEGY: Final = "/spec/upgradeStrategy"
_FLAG: Final = f"{_HEAD}/rayStartParams/no-such-flag"
_CONTAINER: Final = "template/spec/containers/0"
_ACCOUNT: Final = f"{_HEAD}/template/spec/serviceAccountName"
_CODE: Final = f"{_HEAD}/template/spec/volumes/0/configMap/name"
_NO_SECRET: Final = {"name": "DB", "valueFrom": {"secretKeyRef": {"name": "no-such-secret", "key": "password"}}}
_INIT: Final = f"{_WORKERS}/template/spec/initContainers"
_FETCH: Final = {
    "name": "fetch",
    "image": "rayproject/ray:2.60.0",
    "command": ["sh", "-c", "echo no model store; exit 3"],
}


def _serve(*, in_place: bool = True, **application: Any) -> Callable[[HelloService], None]:
    """Another config of the application; by default another import path alone has a cluster of its own."""
    whole = {"name": "hello", "route_prefix": "/", "import_path": "tuned:app", **application}
    text = yaml.safe_dump({"applications": [whole]})

    def change(service: HelloService) -> None:
        service.annotate(serve_config_upgrade="InPlace" if in_place else None)
        service.set(serveConfigV2=text)

    return change


def _patch(*changes: tuple[str, Any]) -> Callable[[HelloService], None]:
    operations = [{"op": "add", "path": path, "value": value} for path, value in changes]

    def change(service: HelloService) -> None:
        service.stack.client.patch(RAY_SERVICES, service.name, operations, PatchType.JSON, "default")

    return change


def _second_group(service: HelloService) -> None:
    """Another release, which has one more group of workers, and no node has room for that one."""
    groups = "/spec/rayClusterConfig/workerGroupSpecs"
    large = f"{groups}/1/{_CONTAINER}/resources"
    changes = [
        {"op": "copy", "from": f"{groups}/0", "path": f"{groups}/1"},
        {"op": "replace", "path": f"{groups}/1/groupName", "value": "large"},
        {"op": "add", "path": large, "value": {"requests": {"cpu": "500"}, "limits": {"cpu": "500"}}},
        {"op": "replace", "path": f"{_HEAD}/{_CONTAINER}/env/1/value", "value": "two groups"},
    ]
    service.stack.client.patch(RAY_SERVICES, service.name, changes, PatchType.JSON, "default")


def _set(**spec: Any) -> Callable[[HelloService], None]:
    return lambda service: service.set(**spec)


def _tuned(**deployment: Any) -> Callable[[HelloService], None]:
    return lambda service: service.set(serveConfigV2=tuned(**deployment))


def _new(config: str) -> Callable[[HelloService], None]:
    """Another cluster, so that the old one serves all the while."""
    return lambda service: service.set_release("broken", serveConfigV2=config)


_CORRECT: Final = "correct the field"
TAKEN_BACK: Final = "rolled back automatically"
_ABANDON: Final = "`undo` or a corrected spec"


@dataclass(frozen=True)
class Case:
    name: str
    change: Callable[[HelloService], None]
    says: str
    back: str
    """What brings the service back to a spec that works."""
    added: str = ""
    """A field that the service did not have before, to be removed."""
    shown: str = ""
    """What the column PROGRESS has room for, where that is other than what is said."""
    silent: bool = False
    """Whether nobody answers until it is taken back."""


CASES: Final = [
    Case("import path without module", _serve(import_path="nope:app"), "ModuleNotFoundError", TAKEN_BACK),
    Case("import path without attribute", _serve(import_path="tuned:nope"), "AttributeError", TAKEN_BACK),
    Case("module that raises", _serve(import_path="crash:app"), "RuntimeError: the weights are missing", TAKEN_BACK),
    Case(
        "missing dependency", _serve(import_path="dependency:app"), "No module named 'no_such_dependency'", TAKEN_BACK
    ),
    Case("syntax error", _serve(import_path="syntax:app"), "SyntaxError", TAKEN_BACK),
    Case("not an application", _serve(import_path="nothing:app"), "TypeError", TAKEN_BACK),
    Case("builder that raises", _serve(import_path="builder:app"), "ValueError: no such variant", TAKEN_BACK),
    Case("constructor that raises", _serve(import_path="ctor:app"), "RuntimeError: no weights", TAKEN_BACK),
    Case(
        "settings that are not valid",
        _serve(import_path="checked:app"),
        "ValidationError: 2 validation errors for Sizes: width: Input should be a valid integer",
        TAKEN_BACK,
        shown="2 validation errors for Sizes",
    ),
    Case(
        "deployments of other names whose constructor raises",
        _serve(in_place=False, import_path="renamed:app"),
        "RuntimeError: no weights",
        _ABANDON,
    ),
    Case(
        "other import path without module",
        _serve(in_place=False, import_path="nope:app"),
        "ModuleNotFoundError",
        _ABANDON,
    ),
    Case(
        "replica that fits nowhere, by its code",
        _serve(import_path="hungry:app"),
        "it needs 16 CPU",
        TAKEN_BACK,
        shown="ReplicasUnschedulable",
        silent=True,
    ),
    Case(
        "reconfigure that does not return",
        _tuned(user_config={"word": "other", "hang": "for an hour"}),
        "no replica of deployment Tuned has started with the new user_config",
        TAKEN_BACK,
        shown="ReplicasNotStarted",
    ),
    Case(
        "pip package that is not there",
        _serve(runtime_env={"pip": ["nosuchpackage==9"]}),
        "RuntimeEnvSetupError: No matching distribution found for nosuchpackage==9",
        TAKEN_BACK,
        shown="No matching distribution found for",
    ),
    Case(
        "working_dir that nobody serves",
        _serve(runtime_env={"working_dir": "https://127.0.0.1:9/code.zip"}),
        "RuntimeEnvSetupError: ",
        TAKEN_BACK,
    ),
    Case("unhealthy from the start", _serve(import_path="sick:app"), "it is sick", TAKEN_BACK),
    Case("reconfigure that raises", _tuned(user_config={"other": 1}), "KeyError", TAKEN_BACK),
    Case("deployment that is not there", _serve(deployments=[{"name": "Nope"}]), "Nope", TAKEN_BACK),
    Case("replica that can never fit", _tuned(ray_actor_options={"num_cpus": 64}), "asks for 64 CPU", _CORRECT),
    Case("custom resource of no node", _tuned(ray_actor_options={"resources": {"blue": 1}}), "1 blue", _CORRECT),
    Case("no replicas", _tuned(num_replicas=0), "num_replicas", _CORRECT),
    Case("local working_dir", _serve(runtime_env={"working_dir": "/home/me"}), "is a path", _CORRECT),
    Case("route without slash", _serve(route_prefix="shop"), "begins with /", _CORRECT),
    Case("config that is no YAML", _set(serveConfigV2="applications: ["), "YAML", _CORRECT),
    Case("config without applications", _set(serveConfigV2="applications: []"), "no application", _CORRECT),
    Case(
        "config of 130 kB",
        _serve(args={"text": "x" * 130_000}),
        "limit is 120000",
        _CORRECT,
        shown="130099 bytes",
    ),
    Case(
        "service type",
        _patch((f"{_HEAD}/serviceType", "Foo")),
        "not a type of a Service",
        _CORRECT,
        f"{_HEAD}/serviceType",
    ),
    Case(
        "incremental strategy",
        _patch((_STRATEGY, {"type": "NewClusterWithIncrementalUpgrade"})),
        "once",
        _CORRECT,
        _STRATEGY,
    ),
    Case("new cluster, module that raises", _new(broken("crash")), "RuntimeError: the weights are missing", _ABANDON),
    Case("new cluster, constructor that raises", _new(broken("ctor")), "RuntimeError: no weights", _ABANDON),
    Case(
        "image that is not there",
        lambda service: service.set_image("example.com/ray:missing"),
        "example.com/ray",
        _ABANDON,
    ),
    Case("ConfigMap that is not there", _patch((_CODE, "no-such-code")), "MountVolume.SetUp failed", _ABANDON),
    Case(
        "Secret that is not there",
        _patch((f"{_HEAD}/{_CONTAINER}/env/-", _NO_SECRET)),
        'secret "no-such-secret" not found',
        _ABANDON,
    ),
    Case(
        "service account that is not there",
        _patch((_ACCOUNT, "nope")),
        'serviceaccount "nope" not found',
        _ABANDON,
        _ACCOUNT,
        shown="service account default/nope",
    ),
    Case("init container that fails", _patch((_INIT, [_FETCH])), "no model store", _ABANDON, _INIT),
    Case(
        "constructor that does not return",
        _serve(import_path="hangs:app"),
        "no replica has started within",
        TAKEN_BACK,
        silent=True,
    ),
    Case("replica that is killed", _serve(import_path="killed:app"), "process of a replica died", TAKEN_BACK),
    Case("import that exits", _serve(import_path="exits:app"), "WorkerCrashedError", TAKEN_BACK),
    Case("flag that Ray does not know", _patch((_FLAG, "1")), "no-such-flag", _ABANDON, _FLAG),
    Case(
        "worker larger than the node",
        _patch((f"{_WORKERS}/{_CONTAINER}/resources", {"requests": {"cpu": "500"}, "limits": {"cpu": "500"}})),
        "Insufficient cpu",
        _ABANDON,
    ),
    Case(
        "second worker group without room",
        _second_group,
        "Insufficient cpu",
        _ABANDON,
        shown="0 of 1 pods of worker group large are running",
    ),
]


def told(service: HelloService, says: str) -> str:
    """The message of the condition that says so; empty while none does."""
    messages = (service.condition(kind)[2] for kind in ("Stalled", "Progressing"))
    return next((message for message in messages if says in message), "")
