"""A service whose head keeps its state in a real Redis, with real Ray, on our node."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.resource import CONFIG_MAPS, DEPLOYMENTS, PODS
from rayward.local.node.capabilities import missing_in_child
from tests.kube.real import redis
from tests.node.machine import Machine
from tests.ray.damage import survives_its_head
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack
from tests.ray.variants import MODULES, tuned
from tests.waiting import eventually

pytestmark = [pytest.mark.kube, pytest.mark.timeout(900)]

Object = dict[str, Any]


_PASSWORD: Final = "only-for-this-test"
_CONFIG: Final = f'bind 0.0.0.0\nprotected-mode no\nsave ""\ndir /tmp\nrequirepass {_PASSWORD}\n'
_SECRET: Final[Object] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "redis"},
    "stringData": {"password": _PASSWORD, "redis.conf": _CONFIG},
}
_SERVICE: Final[Object] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "redis"},
    "spec": {"selector": {"app": "redis"}, "ports": [{"port": 6379}]},
}
_OPTIONS: Final[Object] = {
    "redisAddress": "redis:6379",
    "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}}},
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[RayStack]:
    """One with Redis in a pod."""
    found = redis.environment()
    images = ("--image", f"rayproject/ray={sys.prefix}", "--image", f"redis={found}")
    with RayStack(tmp_path_factory.mktemp("redis") / "stack", *images) as running:
        running.apply(_SECRET, _SERVICE, _pod(found))
        eventually(lambda: _keys(running) == [], PATIENCE)
        yield running


def test_a_service_answers_while_its_head_is_gone_and_leaves_no_key_behind(stack: RayStack) -> None:
    service = HelloService(
        stack, "kept", MODULES, cluster={"gcsFaultToleranceOptions": _OPTIONS}, serveConfigV2=tuned()
    )
    service.serves("1 plain")
    assert _keys(stack), "the head's state lies in Redis"
    survives_its_head(service)
    service.delete()
    eventually(lambda: not stack.client.list(RAY_CLUSTERS, "default").items, PATIENCE)
    assert _keys(stack) == [], "the finalizer waited for the job that removes them"


def test_redis_as_kuberays_samples_bring_it_needs_no_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    """The objects beside the RayCluster of its ``ray-cluster.external-redis.yaml``; Redis is the one on PATH."""
    if refused := missing_in_child():
        pytest.skip(f"pods cannot run here: {'; '.join(refused)}")
    found = redis.environment()
    monkeypatch.setenv("PATH", f"{found / 'bin'}{os.pathsep}{os.environ['PATH']}")
    config = "dir /data\nport 6379\nbind 0.0.0.0\nappendonly yes\nprotected-mode no\npidfile /data/redis-6379.pid"
    container = {
        "name": "c",
        "image": "redis:7.4.0",
        "command": ["sh", "-c", "redis-server /usr/local/etc/redis/redis.conf"],
        # of Debian's packages, where Redis is not installed
        "env": [{"name": "LD_LIBRARY_PATH", "value": redis.libraries(found)}],
        "ports": [{"containerPort": 6379}],
        "volumeMounts": [{"name": "config", "mountPath": "/usr/local/etc/redis/redis.conf", "subPath": "redis.conf"}],
    }
    labels = {"app": "redis"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "volumes": [{"name": "config", "configMap": {"name": "redis-config"}}]},
    }
    with Machine("--cpus", "2", "--memory", "2Gi") as machine:
        machine.make(CONFIG_MAPS, {"metadata": {"name": "redis-config"}, "data": {"redis.conf": config}})
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        machine.make(DEPLOYMENTS, {"metadata": {"name": "redis"}, "spec": spec})

        def answer() -> bytes:
            pods = machine.client.list(PODS, "default").items
            if not pods or (pods[0].get("status") or {}).get("phase") != "Running":
                return b""
            return machine.execute(pods[0]["metadata"]["name"], "sh", "-c", "pwd; redis-cli ping || true")[1].get(
                1, b""
            )

        eventually(lambda: answer() == b"/data\nPONG\n")


def _pod(found: Path) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "redis", "labels": {"app": "redis"}},
        "spec": {
            "containers": [
                {
                    "name": "redis",
                    "image": "redis:7",
                    "command": ["redis-server", "/etc/redis/redis.conf"],
                    "env": [
                        {"name": "LD_LIBRARY_PATH", "value": redis.libraries(found)},
                        {"name": "REDISCLI_AUTH", "valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}}},
                    ],
                    "volumeMounts": [{"name": "config", "mountPath": "/etc/redis"}],
                }
            ],
            "volumes": [{"name": "config", "secret": {"secretName": "redis"}}],
        },
    }


def _keys(stack: RayStack) -> list[str]:
    assert stack.client.get(PODS, "redis", "default")["status"]["phase"] == "Running"
    return stack.rayward("exec", "redis", "--", "redis-cli", "keys", "*").split()
