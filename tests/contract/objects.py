"""The smallest valid objects that the cases start from."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def meta(name: str, **more: Any) -> Object:
    """Object metadata."""
    return {"name": name, **more}


def configmap(name: str, data: Object | None = None, **metadata: Any) -> Object:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name, **metadata), "data": data or {"a": "1"}}


def secret(name: str, data: Object | None = None, **metadata: Any) -> Object:
    """A Secret of plain strings."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta(name, **metadata), "stringData": data or {"a": "1"}}


def container(name: str = "main", **more: Any) -> Object:
    """A container."""
    return {"name": name, "image": "busybox:1.36", **more}


def pod(name: str, *containers: Object, metadata: Object | None = None, **spec: Any) -> Object:
    """A Pod without a service account token, so that its spec is short."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, **(metadata or {})),
        "spec": {"automountServiceAccountToken": False, "containers": list(containers) or [container()], **spec},
    }


def service(name: str, *ports: Object, metadata: Object | None = None, **spec: Any) -> Object:
    """A Service on port 80."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta(name, **(metadata or {})),
        "spec": {"selector": {"app": "a"}, "ports": list(ports) or [{"port": 80}], **spec},
    }


def job(name: str, metadata: Object | None = None, template: Object | None = None, **spec: Any) -> Object:
    """A Job of one short Pod."""
    pod_spec = template or {"restartPolicy": "Never", "containers": [container()]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta(name, **(metadata or {})),
        "spec": {"template": {"spec": pod_spec}, **spec},
    }


def deployment(name: str, **spec: Any) -> Object:
    """A Deployment."""
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container()]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta(name),
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template, **spec},
    }


def claim(name: str, **spec: Any) -> Object:
    """A PersistentVolumeClaim."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta(name), "spec": wanted}


def lease(name: str, **spec: Any) -> Object:
    """A Lease."""
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta(name), "spec": spec}


def node(name: str, metadata: Object | None = None, **spec: Any) -> Object:
    """A Node."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(name, **(metadata or {})), "spec": spec}


def raycluster(name: str, metadata: Object | None = None, **spec: Any) -> Object:
    """A RayCluster of KubeRay's kind."""
    head = {
        "rayStartParams": {"dashboard-host": "0.0.0.0"},
        "template": {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.52.0"}]}},
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": meta(name, **(metadata or {})),
        "spec": {"headGroupSpec": head, **spec},
    }


def worker_group(name: str, replicas: int = 1, **more: Any) -> Object:
    """A worker group of a RayCluster."""
    template = {"spec": {"containers": [{"name": "ray-worker", "image": "rayproject/ray:2.52.0"}]}}
    return {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": 10,
        "rayStartParams": {},
        "template": template,
        **more,
    }


def delete_options(**options: Any) -> Object:
    """DeleteOptions."""
    return {"apiVersion": "v1", "kind": "DeleteOptions", **options}
