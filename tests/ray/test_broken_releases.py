"""Ways to break a release on real Ray: how soon the cause is told, what it says, and whether a request is lost.

Each case edits a service that serves and is asked all the time, waits until condition and ``rayward get`` name the
cause, and goes back. The table is printed at the end, to be read by a person.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Final

import pytest
import yaml

from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.options import PatchType
from tests.ray.broken import Row, lines_of, save
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack
from tests.ray.underload import asked
from tests.ray.variants import MODULES, broken, tuned
from tests.waiting import eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

_DEPLOYMENT: Final = """
from ray import serve


@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Tuned:
    %s


app = Tuned.bind()
"""
_MODULES: Final = {
    **MODULES,
    "ctor.py": _DEPLOYMENT % 'def __init__(self) -> None:\n        raise RuntimeError("no weights")',
    "dependency.py": "import no_such_dependency\n\napp = None\n",
    "syntax.py": "app = (\n",
    "sick.py": _DEPLOYMENT % 'def check_health(self) -> None:\n        raise RuntimeError("it is sick")',
    "nothing.py": "app = 7\n",
    "builder.py": 'def app(args: dict) -> None:\n    raise ValueError("no such variant")\n',
}
_HEAD: Final = "/spec/rayClusterConfig/headGroupSpec"
_WORKERS: Final = "/spec/rayClusterConfig/workerGroupSpecs/0"
_STRATEGY: Final = "/spec/upgradeStrategy"
_FLAG: Final = f"{_HEAD}/rayStartParams/no-such-flag"
_CONTAINER: Final = "template/spec/containers/0"


def _serve(**application: Any) -> Callable[[HelloService], None]:
    whole = {"name": "hello", "route_prefix": "/", "import_path": "tuned:app", **application}
    text = yaml.safe_dump({"applications": [whole]})
    return lambda service: service.set(serveConfigV2=text)


def _patch(*changes: tuple[str, Any]) -> Callable[[HelloService], None]:
    operations = [{"op": "add", "path": path, "value": value} for path, value in changes]

    def change(service: HelloService) -> None:
        service.stack.client.patch(RAY_SERVICES, service.name, operations, PatchType.JSON, "default")

    return change


def _set(**spec: Any) -> Callable[[HelloService], None]:
    return lambda service: service.set(**spec)


def _tuned(**deployment: Any) -> Callable[[HelloService], None]:
    return lambda service: service.set(serveConfigV2=tuned(**deployment))


def _new(config: str) -> Callable[[HelloService], None]:
    """Another cluster, so that the old one serves all the while."""
    return lambda service: service.set_release("broken", serveConfigV2=config)


@dataclass(frozen=True)
class Case:
    name: str
    change: Callable[[HelloService], None]
    says: str
    added: str = ""
    """A field that the service did not have before, to be removed."""


CASES: Final = [
    Case("import path without module", _serve(import_path="nope:app"), "ModuleNotFoundError"),
    Case("import path without attribute", _serve(import_path="tuned:nope"), "AttributeError"),
    Case("module that raises", _serve(import_path="crash:app"), "RuntimeError: the weights are missing"),
    Case("missing dependency", _serve(import_path="dependency:app"), "No module named 'no_such_dependency'"),
    Case("syntax error", _serve(import_path="syntax:app"), "SyntaxError"),
    Case("not an application", _serve(import_path="nothing:app"), "TypeError"),
    Case("builder that raises", _serve(import_path="builder:app"), "ValueError: no such variant"),
    Case("constructor that raises", _serve(import_path="ctor:app"), "RuntimeError: no weights"),
    Case("unhealthy from the start", _serve(import_path="sick:app"), "it is sick"),
    Case("reconfigure that raises", _tuned(user_config={"other": 1}), "KeyError"),
    Case("deployment that is not there", _serve(deployments=[{"name": "Nope"}]), "Nope"),
    Case("replica that can never fit", _tuned(ray_actor_options={"num_cpus": 64}), "asks for 64 CPU"),
    Case("custom resource of no node", _tuned(ray_actor_options={"resources": {"blue": 1}}), "asks for 1 blue"),
    Case("no replicas", _tuned(num_replicas=0), "num_replicas"),
    Case("local working_dir", _serve(runtime_env={"working_dir": "/home/me"}), "is a path"),
    Case("route without slash", _serve(route_prefix="shop"), "begins with /"),
    Case("config that is no YAML", _set(serveConfigV2="applications: ["), "YAML"),
    Case(
        "config without applications", lambda service: service.set(serveConfigV2="applications: []"), "no application"
    ),
    Case("config of 130 kB", _serve(args={"text": "x" * 130_000}), "may have 120000"),
    Case("service type", _patch((f"{_HEAD}/serviceType", "Foo")), "not a type of a Service", f"{_HEAD}/serviceType"),
    Case("incremental strategy", _patch((_STRATEGY, {"type": "NewClusterWithIncrementalUpgrade"})), "once", _STRATEGY),
    Case("new cluster, module that raises", _new(broken("crash")), "RuntimeError: the weights are missing"),
    Case("new cluster, constructor that raises", _new(broken("ctor")), "RuntimeError: no weights"),
    Case("image that is not there", lambda service: service.set_image("example.com/ray:missing"), "example.com/ray"),
    Case("flag that Ray does not know", _patch((_FLAG, "1")), "no-such-flag", _FLAG),
    Case(
        "worker larger than the node",
        _patch((f"{_WORKERS}/{_CONTAINER}/resources", {"requests": {"cpu": "500"}, "limits": {"cpu": "500"}})),
        "Insufficient cpu",
    ),
]


@pytest.fixture(scope="module")
def table() -> Generator[list[Row]]:
    rows: list[Row] = []
    yield rows
    print("\n" + "\n".join(lines_of(rows)))
    if {row.name for row in rows} == {case.name for case in CASES}:
        save(rows)


@pytest.fixture(scope="module")
def shared(stack: RayStack) -> Generator[HelloService]:
    made = HelloService(stack, "broken", _MODULES, serveConfigV2=tuned(), rayClusterDeletionDelaySeconds=0)
    made.serves("1 plain")
    yield made
    made.delete()


def _told(service: HelloService, says: str) -> str:
    messages = (service.condition(kind)[2] for kind in ("Stalled", "Progressing"))
    return next((message for message in messages if says in message), "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_broken_release_says_why_and_loses_no_request(service: HelloService, table: list[Row], case: Case) -> None:
    active = service.active
    with asked(service) as load:
        began = time.monotonic()
        case.change(service)
        eventually(lambda: _told(service, case.says) != "", PATIENCE)
        condition, message = time.monotonic() - began, _told(service, case.says)
        row = service.stack.rayward("get", "rayservice", service.name)
        shown = time.monotonic() - began
        assert "Running" in row
        assert "Done" not in row, row
        assert service.ready
        if case.added:
            remove = [{"op": "remove", "path": case.added}]
            service.stack.client.patch(RAY_SERVICES, service.name, remove, PatchType.JSON, "default")
        began = time.monotonic()
        service.restore()
        back = time.monotonic() - began
        assert service.active == active
        sent = load.tally.sent
    table.append(Row(case.name, condition, shown, back, sent, message, row))
    print(row)
