"""RayJobs over all modes, whose children are compared with KubeRay's."""

from __future__ import annotations

from typing import Any, Final

Object = dict[str, Any]

_RESOURCES: Final = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}


def _template(container: str, image: str = "rayproject/ray:2.52.0", **more: Any) -> Object:
    return {"spec": {"containers": [{"name": container, "image": image, "resources": _RESOURCES, **more}]}}


def _cluster(**more: Any) -> Object:
    return {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {}, "template": _template("ray-head")},
        **more,
    }


_WORKERS: Final = [
    {
        "groupName": "small",
        "replicas": 1,
        "minReplicas": 0,
        "maxReplicas": 2,
        "rayStartParams": {},
        "template": _template("ray-worker"),
    }
]
_TOKEN: Final = {"mode": "token"}
_ENVIRONMENT: Final = "env_vars:\n  COLOUR: blue\n  NUMBER: '7'\n"
_OPTIONS: Final[Object] = {
    "runtimeEnvYAML": _ENVIRONMENT,
    "metadata": {"team": "ml", "note": "two words"},
    "entrypointNumCpus": 0.5,
    "entrypointNumGpus": 1,
    "entrypointResources": '{"custom": 2}',
}

SPECS: Final[dict[str, Object]] = {
    "k8s-plain": {},
    "k8s-workers": {"rayClusterSpec": _cluster(workerGroupSpecs=_WORKERS)},
    "k8s-options": _OPTIONS,
    "k8s-backoff": {"submitterConfig": {"backoffLimit": 5}, "backoffLimit": 2},
    "k8s-job-id": {"jobId": "chosen", "shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 30},
    "k8s-token": {"rayClusterSpec": _cluster(authOptions=_TOKEN)},
    "k8s-template": {
        "submitterPodTemplate": {
            "metadata": {"labels": {"mine": "kept"}, "annotations": {"also": "kept"}},
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {"pool": "small"},
                "containers": [{"name": "mine", "image": "my/ray:1", "env": [{"name": "A", "value": "b"}]}],
            },
        }
    },
    "k8s-command": {
        "submitterPodTemplate": {
            "spec": {
                "restartPolicy": "OnFailure",
                "containers": [{"name": "mine", "image": "my/ray:1", "command": ["sh", "-c"], "args": ["exit 0"]}],
            }
        }
    },
    "k8s-dashboard-port": {
        "rayClusterSpec": _cluster(
            headGroupSpec={
                "rayStartParams": {"dashboard-port": "8299"},
                "template": _template(
                    "ray-head",
                    ports=[{"containerPort": 6379, "name": "gcs-server"}, {"containerPort": 8299, "name": "dashboard"}],
                ),
            }
        )
    },
    "http-plain": {"submissionMode": "HTTPMode"},
    "http-token": {
        "submissionMode": "HTTPMode",
        "rayClusterSpec": _cluster(authOptions=_TOKEN, workerGroupSpecs=_WORKERS),
    },
    "sidecar-plain": {"submissionMode": "SidecarMode"},
    "sidecar-options": {"submissionMode": "SidecarMode", **_OPTIONS},
    "sidecar-token": {"submissionMode": "SidecarMode", "rayClusterSpec": _cluster(authOptions=_TOKEN)},
    "interactive": {"submissionMode": "InteractiveMode"},
}
"""By name; each is added to an entrypoint and a cluster of one head."""


def ray_job(name: str) -> Object:
    """The manifest of an entry."""
    spec: Object = {"entrypoint": "python main.py --flag 'two words'", "rayClusterSpec": _cluster(), **SPECS[name]}
    metadata = {"name": name, "labels": {"team": "ml"}, "annotations": {"example.com/note": "copied"}}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": spec}
