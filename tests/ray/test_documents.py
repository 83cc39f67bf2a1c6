"""The manifests of the published interface in a variant that can work, end to end on real Ray.

What could not work is replaced and nothing else: the bucket and the package index are a server of files beside the
service, and a program where a Serve config belongs is the config of that program.
"""

from __future__ import annotations

import base64
import copy
import io
import os
import subprocess
import sys
import urllib.request
import zipfile
from typing import Any, Final

import pytest
import yaml

from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import SERVICES, Resource
from rayward.local.addresses import shell_addresses_of
from tests.kinds.documented import CLUSTER, SERVICE, SERVICE_WITH_PROGRAM
from tests.ray.stack import PATIENCE, RayStack
from tests.waiting import eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

Object = dict[str, Any]

_APP: Final = """
from ray import serve


@serve.deployment(name="MyModel", ray_actor_options={"num_cpus": 0.1})
class Model:
    def __call__(self) -> str:
        return "predicted"


MyModel = Model.bind()
"""
_CODE: Final = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "documents"}, "data": {"app.py": _APP}}
_PACKAGED: Final = _APP.replace("from ray import serve", "import gift\nfrom ray import serve").replace(
    '"predicted"', "gift.WORD"
)
_WHEEL: Final = "gift-1.0-py3-none-any.whl"


def _zipped(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def _wheel() -> bytes:
    about = "gift-1.0.dist-info"
    return _zipped(
        **{
            "gift.py": "WORD = 'predicted with a gift'\n",
            f"{about}/METADATA": "Metadata-Version: 2.1\nName: gift\nVersion: 1.0\n",
            f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{about}/RECORD": f"gift.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n",
        }
    )


def _file_server() -> list[Object]:
    """A pod that serves an archive of code and a wheel, and its Service."""
    files = {"code.zip": _zipped(**{"app.py": _PACKAGED}), _WHEEL: _wheel()}
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    metadata = {"name": "files", "labels": {"app": "files"}}
    container = {
        "name": "files",
        "image": "rayproject/ray:2.60.0",
        "command": ["python", "-m", "http.server", "8080", "--directory", "/files"],
        "readinessProbe": {"httpGet": {"path": "/code.zip", "port": 8080}, "periodSeconds": 1},
        "volumeMounts": [{"name": "files", "mountPath": "/files"}],
    }
    volumes = [{"name": "files", "configMap": {"name": "files"}}]
    port = {"port": 80, "targetPort": 8080}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files"}, "binaryData": data},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"containers": [container], "volumes": volumes},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "files"},
            "spec": {"selector": {"app": "files"}, "ports": [port]},
        },
    ]


_ON_WORKERS: Final = """
import time
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

ray.init(log_to_driver=False)

@ray.remote(num_cpus=0, max_retries=0)
def long():
    time.sleep(15)
    return "finished"

nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"] and "node:__internal_head__" not in node["Resources"]]
tasks = [long.options(scheduling_strategy=On(node, soft=False)).remote() for node in nodes]
time.sleep(3)
print("running", flush=True)
print(ray.get(tasks), flush=True)
"""


def _with_code(service: Object, serve: Any) -> Object:
    made = copy.deepcopy(service)
    made["spec"]["serveConfigV2"] = serve
    config = made["spec"]["rayClusterConfig"]
    for group in (config["headGroupSpec"], *config.get("workerGroupSpecs", ())):
        spec = group["template"]["spec"]
        spec["volumes"] = [{"name": "code", "configMap": {"name": "documents"}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "code", "mountPath": "/code"}]
        spec["containers"][0]["env"] = [{"name": "PYTHONPATH", "value": "/code"}]
    return made


def _status(stack: RayStack, resource: Resource, name: str) -> Object:
    return stack.client.get(resource, name, "default").get("status") or {}


def _answer(stack: RayStack, service: str, path: str) -> str:
    found = stack.client.get(SERVICES, f"{service}-serve-svc", "default")
    address = next(each for each in shell_addresses_of(found) if each.name == "serve")
    with urllib.request.urlopen(f"http://{address}{path}", timeout=30) as answer:
        return answer.read().decode()


def test_services_of_the_interface_serve(stack: RayStack) -> None:
    served = copy.deepcopy(SERVICE)
    place = "http://files.default.svc.cluster.local"
    served["spec"]["serveConfigV2"]["runtimeEnv"] = {"workingDir": f"{place}/code.zip", "pip": [f"{place}/{_WHEEL}"]}
    program = yaml.safe_dump({"applications": [{"name": "app", "route_prefix": "/", "import_path": "app:MyModel"}]})
    stack.apply(*_file_server(), _CODE, served, _with_code(SERVICE_WITH_PROGRAM, program))
    for name, path, answer in (
        ("sample-ray-service", "/predict", "predicted with a gift"),
        ("example-rayservice", "/", "predicted"),
    ):
        eventually(lambda name=name: _status(stack, RAY_SERVICES, name).get("status") == "RUNNING", PATIENCE)
        eventually(lambda name=name, path=path, answer=answer: _answer(stack, name, path) == answer, PATIENCE)
        status = _status(stack, RAY_SERVICES, name)
        assert status["appStatus"]["status"] == "HEALTHY"
        assert status["rayClusterName"] == status["activeServiceStatus"]["rayClusterName"]
        assert status["startTime"]
    deployed = _status(stack, RAY_SERVICES, "sample-ray-service")["deploymentStatuses"]
    assert [each["name"] for each in deployed] == ["MyModel"]
    stack.rayward("delete", "rayservice", "sample-ray-service", "example-rayservice")
    stack.rayward("delete", "pod", "files")


def test_the_cluster_of_the_interface_runs_and_its_workers_are_rolled_while_they_work(stack: RayStack) -> None:
    made = copy.deepcopy(CLUSTER)
    made["metadata"]["annotations"] = {"rayward.dev/rolling-update": "workers"}
    made["spec"]["workerGroupSpecs"][0]["template"]["spec"]["terminationGracePeriodSeconds"] = 120
    stack.apply(made)
    stack.becomes_ready("example-ray", pods=3)
    status = _status(stack, RAY_CLUSTERS, "example-ray")
    assert (status["state"], status["desiredWorkerReplicas"], status["availableWorkerReplicas"]) == ("ready", 2, 2)
    assert status["head"]["podIP"]
    before = {pod["metadata"]["uid"] for pod in stack.pods("example-ray")}
    head = stack.head("example-ray")["metadata"]
    command = [sys.executable, "-m", "rayward.cli", "exec", head["name"], "--", "python", "-u", "-c", _ON_WORKERS]
    environment = {**os.environ, "RAYWARD_DATA_DIR": str(stack.folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "running\n"
        value = [{"name": "COLOUR", "value": "blue"}]
        path = "/spec/workerGroupSpecs/0/template/spec/containers/0/env"
        change = [{"op": "add", "path": path, "value": value}]
        stack.client.patch(RAY_CLUSTERS, "example-ray", change, PatchType.JSON, "default")
        assert driver.stdout.read() == "['finished', 'finished']\n", "no task was lost"

    def rolled() -> bool:
        now = {pod["metadata"]["uid"] for pod in stack.pods("example-ray")}
        return len(now) == 3 and now & before == {head["uid"]}

    eventually(rolled, PATIENCE)
    stack.becomes_ready("example-ray", pods=3)
    stack.rayward("delete", "raycluster", "example-ray")
