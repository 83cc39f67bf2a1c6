"""Manifests as the published interface of the two kinds shows them; one of them shows a mistake."""

from __future__ import annotations

from typing import Any, Final

_HEAD: Final[dict[str, Any]] = {
    "rayStartParams": {"dashboard-host": "0.0.0.0"},
    "template": {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:latest"}]}},
}

CLUSTER: Final[dict[str, Any]] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "example-ray", "namespace": "default"},
    "spec": {
        "headGroupSpec": _HEAD,
        "workerGroupSpecs": [
            {
                "groupName": "workers",
                "replicas": 2,
                "rayStartParams": {},
                "template": {"spec": {"containers": [{"name": "ray-worker", "image": "rayproject/ray:latest"}]}},
            }
        ],
    },
}

SERVICE: Final[dict[str, Any]] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayService",
    "metadata": {"name": "sample-ray-service"},
    "spec": {
        "rayClusterConfig": {
            "headGroupSpec": {
                "rayStartParams": {"dashboard-host": "0.0.0.0"},
                "template": {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.9.0"}]}},
            },
            "workerGroupSpecs": [
                {
                    "groupName": "worker",
                    "replicas": 2,
                    "rayStartParams": {"num-cpus": "2"},
                    "template": {"spec": {"containers": [{"name": "ray-worker", "image": "rayproject/ray:2.9.0"}]}},
                }
            ],
        },
        "serveConfigV2": {
            "importPath": "app.MyModel",
            "runtimeEnv": {"workingDir": "s3://my-bucket/code", "pip": ["scikit-learn"]},
            "deployments": [{"name": "MyModel", "numReplicas": 2, "routePrefix": "/predict"}],
        },
    },
}

SERVICE_WITH_PROGRAM: Final[dict[str, Any]] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayService",
    "metadata": {"name": "example-rayservice", "namespace": "default"},
    "spec": {
        "rayClusterConfig": {"headGroupSpec": _HEAD},
        "serveConfigV2": "import ray\nfrom ray import serve\napp = serve.Application(...)\n",
    },
}
