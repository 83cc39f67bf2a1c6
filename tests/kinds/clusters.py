"""Objects of each kind for tests: a small one, and the same with a change at a path."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from rayward.kinds.raycluster import RayCluster

Object = dict[str, Any]

_POD: Object = {"spec": {"containers": [{"name": "ray", "image": "rayproject/ray:2.60.0"}]}}


def manifest(name: str = "c") -> Object:
    """A head and one group of workers."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": copy.deepcopy(_POD)},
            "workerGroupSpecs": [
                {
                    "groupName": "small",
                    "replicas": 1,
                    "minReplicas": 0,
                    "maxReplicas": 4,
                    "rayStartParams": {},
                    "template": copy.deepcopy(_POD),
                }
            ],
        },
    }


def changed(base: Object, path: str, value: Any) -> Object:
    """A copy with ``value`` at the dotted path, made where it is missing; ``-`` appends to a list."""
    result = copy.deepcopy(base)
    at: Any = result
    *parents, last = path.split(".")
    for parent in parents:
        at = at[int(parent)] if isinstance(at, list) else at.setdefault(parent, {})
    if not isinstance(at, list):
        at[last] = value
    elif last == "-":
        at.append(value)
    else:
        at[int(last)] = value
    return result


def typed(value: Object) -> RayCluster:
    """As the operator reads it."""
    return msgspec.convert(value, RayCluster)


def service_manifest(name: str = "s") -> Object:
    """A service with one application."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": {"name": name},
        "spec": {
            "rayClusterConfig": manifest()["spec"],
            "serveConfigV2": "applications:\n- name: app\n  import_path: app:model\n  route_prefix: /\n",
        },
    }


def job_manifest(name: str = "j") -> Object:
    """A job with a cluster of its own."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {"entrypoint": "python main.py", "rayClusterSpec": manifest()["spec"]},
    }


def cron_job_manifest(name: str = "t") -> Object:
    """A job every night."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCronJob",
        "metadata": {"name": name},
        "spec": {"schedule": "30 4 * * *", "jobTemplate": job_manifest()["spec"]},
    }
