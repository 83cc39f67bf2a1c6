"""What scheduler and kubelet do to pods, as far as operators look at it, one round at a time."""

from __future__ import annotations

import time
from typing import Any

from rayward.kube.client import PatchType, verbs
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import PODS

Object = dict[str, Any]


def play_kubelet(client: SyncClient, namespace: str) -> None:
    """One round of what scheduler and kubelet do: bind, run, report, and confirm the end."""
    for pod in client.list(PODS, namespace).items:
        name = pod["metadata"]["name"]
        if "deletionTimestamp" in pod["metadata"]:
            client.delete(PODS, name, namespace, grace_period_seconds=0)
        elif "nodeName" not in pod["spec"]:
            client.send(verbs.bind(name, namespace, "node-1"))
        elif pod["status"]["phase"] == "Pending":
            client.patch(PODS, name, {"status": _running(pod)}, PatchType.STRATEGIC, namespace, subresource="status")


def _running(pod: Object) -> Object:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    return {
        "phase": "Running",
        "hostIP": "192.0.2.10",
        "podIP": "192.0.2.20",
        "podIPs": [{"ip": "192.0.2.20"}],
        "startTime": now,
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "containerID": "test://1",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for container in pod["spec"]["containers"]
        ],
    }
