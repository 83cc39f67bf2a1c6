"""Objects that are not as they were asked for under KubeRay's own operator: each scene brings one about.

Pods are of our node, and fail there as they do under our operator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

from rayward import Client
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import EVENTS, NAMESPACES, PODS, RESOURCE_QUOTAS, SERVICE_ACCOUNTS
from tests.kube import kuberay
from tests.operator.stage import Object, condition
from tests.playbook.failing import FAILING, Failure, node
from tests.waiting import eventually

Scene = Callable[[Client], str]
"""Brings a state about in the client's namespace, and gives back the object's name."""

_REF: Final = "raycluster/plain"
_PATIENCE: Final = 90.0
_ALWAYS: Final = {"exec": {"command": ["true"]}, "periodSeconds": 1}
_RUNS: Final = Failure(lambda _pod: True, container={"readinessProbe": _ALWAYS, "livenessProbe": _ALWAYS})
"""A head that is ready without Ray."""


@contextlib.contextmanager
def operating() -> Generator[SyncClient]:
    """A client of a server with a node, on which KubeRay's operator runs."""
    with kuberay.operating(_kubeconfig()) as api:
        yield api


@contextlib.contextmanager
def _kubeconfig() -> Generator[Path]:
    with node() as made:
        yield made.kubeconfig


@contextlib.contextmanager
def namespace(api: SyncClient, name: str) -> Generator[Client]:
    """A client of a namespace of its own, which goes afterwards."""
    api.create(NAMESPACES, {"metadata": {"name": name}})
    eventually(lambda: bool(api.get(SERVICE_ACCOUNTS, "default", name)), _PATIENCE)
    try:
        yield Client(api, namespace=name)
    finally:
        for one in api.list(RAY_CLUSTERS, name).items:
            api.patch(RAY_CLUSTERS, one["metadata"]["name"], {"metadata": {"finalizers": None}}, PatchType.MERGE, name)
        api.delete(NAMESPACES, name)


def _pods(sdk: Client) -> list[Object]:
    return sdk.api.list(PODS, sdk.namespace).items


def _events(sdk: Client) -> list[Object]:
    return sdk.api.list(EVENTS, sdk.namespace).items


def _create(sdk: Client, body: Object, **spec: Any) -> None:
    sdk.api.create(RAY_CLUSTERS, {**body, "spec": {**body["spec"], **spec}}, sdk.namespace)


def _seen(sdk: Client) -> Object:
    return sdk.get(_REF).get("status") or {}


def _ready(sdk: Client) -> None:
    _create(sdk, _RUNS.manifest())
    eventually(lambda: _seen(sdk).get("state") == "ready", _PATIENCE)


def _fails(failure: Failure) -> Scene:
    def scene(sdk: Client) -> str:
        _create(sdk, failure.manifest())
        eventually(lambda: failure.seen(_pods(sdk), _events(sdk)), _PATIENCE)
        eventually(lambda: bool(_seen(sdk)), _PATIENCE)
        return _REF

    return scene


def _finalizer(sdk: Client) -> str:
    body = _RUNS.manifest()
    body["metadata"]["finalizers"] = ["example.com/archive"]
    _create(sdk, body)
    eventually(lambda: bool(_pods(sdk)), _PATIENCE)
    sdk.api.delete(RAY_CLUSTERS, "plain", sdk.namespace)
    return _REF


def _elsewhere(sdk: Client) -> str:
    _create(sdk, _RUNS.manifest(), managedBy="kueue.x-k8s.io/multikueue")
    return _REF


def _suspended(sdk: Client) -> str:
    _create(sdk, _RUNS.manifest(), suspend=True)
    eventually(lambda: _seen(sdk).get("state") == "suspended", _PATIENCE)
    return _REF


def _rejected(sdk: Client) -> str:
    body = _RUNS.manifest()
    body["spec"]["gcsFaultToleranceOptions"] = {"redisAddress": "redis:6379"}
    body["metadata"]["annotations"] = {"ray.io/ft-enabled": "false"}
    _create(sdk, body)
    eventually(lambda: bool(_events(sdk)), _PATIENCE)
    return _REF


def _quota(sdk: Client) -> str:
    none = {"hard": {"pods": "0"}}
    sdk.api.create(RESOURCE_QUOTAS, {"metadata": {"name": "few"}, "spec": none}, sdk.namespace)
    status = {"status": {**none, "used": {"pods": "0"}}}
    sdk.api.patch(RESOURCE_QUOTAS, "few", status, PatchType.MERGE, sdk.namespace, subresource="status")
    _create(sdk, _RUNS.manifest())
    eventually(lambda: any("exceeded quota" in one["message"] for one in _events(sdk)), _PATIENCE)
    eventually(lambda: bool(_seen(sdk)), _PATIENCE)
    return _REF


def _forbidden(sdk: Client) -> str:
    body = _RUNS.manifest()
    body["spec"]["headGroupSpec"]["template"]["spec"]["serviceAccountName"] = "nope"
    _create(sdk, body)
    eventually(lambda: condition({"status": _seen(sdk)}, "ReplicaFailure").get("status") == "True", _PATIENCE)
    return _REF


def _gated(sdk: Client) -> str:
    body = _RUNS.manifest()
    body["spec"]["headGroupSpec"]["template"]["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    _create(sdk, body)
    eventually(lambda: bool(_pods(sdk)) and bool(_seen(sdk)), _PATIENCE)
    return _REF


def _drifted(sdk: Client) -> str:
    _ready(sdk)
    later = [{"op": "add", "path": "/spec/headGroupSpec/template/spec/containers/0/env", "value": [{"name": "A"}]}]
    sdk.api.patch(RAY_CLUSTERS, "plain", later, PatchType.JSON, sdk.namespace)
    # no status of KubeRay's tells that it was seen
    return _REF


def _as_asked(sdk: Client) -> str:
    _ready(sdk)
    return _REF


KUBERAY_SCENES: Final[dict[str, Scene]] = {
    **{name: _fails(failure) for name, failure in FAILING.items()},
    "FinalizerHolds": _finalizer,
    "ManagedElsewhere": _elsewhere,
    "Suspended": _suspended,
    "Rejected": _rejected,
    "QuotaExceeded": _quota,
    "PodsForbidden": _forbidden,
    "NotAdmitted": _gated,
    "Drifted": _drifted,
    "AsAsked": _as_asked,
}
