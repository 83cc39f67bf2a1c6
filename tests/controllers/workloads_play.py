"""Deployments, ReplicaSets and StatefulSets, while a node brings their pods up and takes them down."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.resource import (
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    EVENTS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Resource,
)
from tests.controllers.plays import Object, Play, make_node, ordered, set_status
from tests.controllers.scenarios import until

_SUFFIX: Final = re.compile(r"-[a-z0-9]{5}$")
_REVISION: Final = "deployment.kubernetes.io/revision"
_WATCHED: Final = ("Deployment", "ReplicaSet", "StatefulSet")


def _ready(phase: str = "Running") -> Object:
    now = rfc3339(datetime.now(UTC))
    conditions = [{"type": "Ready", "status": "True" if phase == "Running" else "False", "lastTransitionTime": now}]
    return {"phase": phase, "conditions": conditions}


class _Stage:
    """A namespace with a node, and the verbs of the plays."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    def template(self, name: str, image: str = "one", **spec: Any) -> Object:
        pod = {"containers": [{"name": "c", "image": image}], "nodeName": self.namespace, **spec}
        return {"metadata": {"labels": {"app": name}, "annotations": {"note": "n"}}, "spec": pod}

    async def make(self, resource: Resource, name: str, *, annotations: Object | None = None, **spec: Any) -> None:
        """A workload with the pods of one image."""
        whole = {"selector": {"matchLabels": {"app": name}}, "template": self.template(name), **spec}
        metadata = {"name": name, "labels": {"of": "user"}, "annotations": annotations or {}}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": whole}
        await self.client.create(resource, body, self.namespace)

    async def change(self, resource: Resource, name: str, **spec: Any) -> None:
        """Another spec."""
        await self.client.patch(resource, name, {"spec": spec}, PatchType.MERGE, self.namespace)

    async def image(self, resource: Resource, name: str, image: str) -> None:
        """Another template."""
        await self.change(resource, name, template={"spec": {"containers": [{"name": "c", "image": image}]}})

    async def pods(self, count: int, **wanted: Any) -> list[Object]:
        """The pods that are not going, once there are so many."""

        async def found() -> list[Object]:
            pods = (await self.client.list(PODS, self.namespace, **wanted)).items
            there = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
            return sorted(there, key=lambda pod: pod["metadata"]["name"]) if len(there) == count else []

        return await until(found) if count else []

    async def set(self, status: Object, count: int = 1_000, *, image: str = "") -> None:
        """Report a status of pods that wait, of one image or of any."""
        for pod in (await self.client.list(PODS, self.namespace)).items:
            waits = pod["status"]["phase"] == "Pending" and "deletionTimestamp" not in pod["metadata"]
            if waits and count and image in ("", pod["spec"]["containers"][0]["image"]):
                count -= 1
                await set_status(self.client, self.namespace, pod["metadata"]["name"], status)

    async def end(self) -> None:
        """Pods that are going are gone."""
        for pod in (await self.client.list(PODS, self.namespace)).items:
            if "deletionTimestamp" in pod["metadata"]:
                with suppress(NotFound):
                    await self.client.delete(PODS, pod["metadata"]["name"], self.namespace, grace_period_seconds=0)

    async def replaced(self, going: int, after: int) -> None:
        """So many pods are going; they are gone, and there are as many as before."""

        async def found() -> bool:
            pods = (await self.client.list(PODS, self.namespace)).items
            return sum("deletionTimestamp" in pod["metadata"] for pod in pods) == going

        await until(found)
        await self.end()
        await self.pods(after)


async def _begin(client: Client, namespace: str) -> _Stage:
    await make_node(client, namespace)
    return _Stage(client, namespace)


_ROLLING: Final = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}


async def _rolling(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = await _begin(client, namespace)
    await stage.make(DEPLOYMENTS, "web", replicas=3, strategy=_ROLLING, annotations={"kept": "by the user"})
    yield "a deployment"
    await stage.set(_ready(), 2)
    yield "two pods are ready"
    await stage.set(_ready())
    yield "all pods are ready"
    await stage.image(DEPLOYMENTS, "web", "two")
    yield "another image"
    for number in range(1, 3):
        await stage.set(_ready())
        yield f"round {number}: new pods are ready"
        await stage.end()
        yield f"round {number}: old pods are gone"
    await stage.image(DEPLOYMENTS, "web", "one")
    await stage.pods(2, label_selector="app=web", field_selector="status.phase=Pending")
    yield "back to the first image"
    await stage.image(DEPLOYMENTS, "web", "three")
    yield "and on to a third before the first is there again"
    for number in range(1, 3):
        await stage.set(_ready(), image="three")
        yield f"round {number} of the third: new pods are ready"
        await stage.end()
        yield f"round {number} of the third: old pods are gone"
    await client.delete(DEPLOYMENTS, "web", namespace, propagation_policy="Orphan")
    yield "the deployment is deleted and leaves its pods"
    await stage.make(DEPLOYMENTS, "web", replicas=3, strategy=_ROLLING)
    yield "another one finds them: its template is that of the first"


async def _scaling(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = await _begin(client, namespace)
    await stage.make(DEPLOYMENTS, "web", replicas=10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    await stage.pods(10)
    await stage.set(_ready())
    yield "ten pods are ready"
    await stage.image(DEPLOYMENTS, "web", "two")
    await stage.pods(13)
    yield "another image"
    await stage.change(DEPLOYMENTS, "web", replicas=15)
    yield "more pods in the middle of a rollout: each set gets its share"
    await stage.change(DEPLOYMENTS, "web", paused=True)
    yield "paused"
    await stage.image(DEPLOYMENTS, "web", "three")
    yield "what changes now waits"
    await stage.change(DEPLOYMENTS, "web", replicas=5)
    yield "fewer pods all the same"
    await stage.end()
    await stage.change(DEPLOYMENTS, "web", paused=False)
    yield "resumed"
    for number in range(1, 3):
        await stage.set(_ready(), image="three")
        yield f"round {number}: new pods are ready"
        await stage.end()
        yield f"round {number}: old pods are gone"
    await stage.change(DEPLOYMENTS, "web", replicas=0)
    await stage.replaced(5, 0)
    yield "no pods"


async def _recreating(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = await _begin(client, namespace)
    await stage.make(DEPLOYMENTS, "web", replicas=2, strategy={"type": "Recreate"}, revisionHistoryLimit=1)
    await stage.pods(2)
    await stage.set(_ready())
    yield "two pods are ready"
    await stage.image(DEPLOYMENTS, "web", "two")
    yield "another image: old pods go first"
    await stage.end()
    yield "old pods are gone"
    await stage.set(_ready())
    yield "new pods are ready"
    for image in ("three", "four"):
        await stage.image(DEPLOYMENTS, "web", image)
        await stage.replaced(2, 2)
        yield f"image {image}"
        await stage.set(_ready())
        yield f"image {image} is ready; of the old ones one is kept"
    await client.delete(DEPLOYMENTS, "web", namespace, propagation_policy="Background")
    await stage.replaced(2, 0)
    yield "deleted with all it had"


async def _stuck(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = await _begin(client, namespace)
    await stage.make(DEPLOYMENTS, "web", replicas=2, progressDeadlineSeconds=1, strategy=_ROLLING)
    await stage.pods(2)
    yield "no pod comes up, and the deadline is over"
    await stage.set(_ready())
    yield "they come up after all"
    await stage.image(DEPLOYMENTS, "web", "bad")
    await stage.replaced(1, 3)
    yield "an image that never comes up"
    await stage.image(DEPLOYMENTS, "web", "one")
    await stage.replaced(2, 2)
    yield "the old one again"
    await stage.set(_ready())
    yield "and it is ready"


async def _replicas(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = await _begin(client, namespace)
    orphan = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "orphan", "labels": {"app": "set"}}}
    await client.create(PODS, {**orphan, "spec": stage.template("set")["spec"]}, namespace)
    await stage.make(REPLICA_SETS, "set", replicas=3)
    await stage.pods(3)
    yield "a pod that was there counts, two are made"
    await stage.set(_ready())
    yield "all are ready"
    await client.patch(PODS, "orphan", {"metadata": {"labels": {"app": "other"}}}, PatchType.MERGE, namespace)
    await stage.pods(4)
    yield "one has other labels now: it is let go and replaced"
    await stage.change(REPLICA_SETS, "set", replicas=2)
    yield "two are enough: the one that is not ready goes"
    await stage.end()
    pod = (await stage.pods(2, label_selector="app=set"))[0]["metadata"]["name"]
    await set_status(client, namespace, pod, _ready("Failed"))
    yield "one has failed: there is another"
    await stage.set(_ready())
    await stage.change(REPLICA_SETS, "set", minReadySeconds=1)
    yield "ready for a second"
    await client.delete(REPLICA_SETS, "set", namespace, propagation_policy="Orphan")
    yield "deleted without its pods"


def _claim(name: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    return {"metadata": {"name": name}, "spec": spec}


async def _ordered(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = await _begin(client, namespace)
    template = stage.template("db")
    template["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    claims = [_claim("data")]
    await stage.make(STATEFUL_SETS, "db", replicas=3, serviceName="db", template=template, volumeClaimTemplates=claims)
    yield "the first pod"
    for number in (2, 3):
        await stage.set(_ready())
        await stage.pods(number)
        yield f"pod {number}, once the one before is ready"
    await stage.set(_ready())
    yield "all are ready"
    await client.delete(PODS, "db-1", namespace, grace_period_seconds=30)
    yield "one is going"
    await stage.end()
    await stage.pods(3)
    yield "and comes back under its name"
    await stage.set(_ready())
    await set_status(client, namespace, "db-0", _ready("Failed"))
    yield "one fails and is replaced"
    await stage.set(_ready())
    mounts = [{"name": "data", "mountPath": "/data"}]
    change = {"spec": {"containers": [{"name": "c", "image": "two", "volumeMounts": mounts}]}}
    await stage.change(STATEFUL_SETS, "db", template=change)
    yield "another image: the last pod goes first"
    for number in range(1, 4):
        await stage.end()
        await stage.pods(3)
        yield f"round {number}: it comes back with the new image"
        await stage.set(_ready())
        yield f"round {number}: it is ready"
    await stage.change(STATEFUL_SETS, "db", replicas=1)
    yield "two fewer: the last one goes first"
    await stage.end()
    await stage.pods(1)
    yield "then the one before"
    await stage.end()
    yield "one is left, and all claims"
    await stage.change(STATEFUL_SETS, "db", replicas=2)
    await stage.pods(2)
    yield "the second again, with the claim it had"


async def _partitioned(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = await _begin(client, namespace)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    await stage.make(
        STATEFUL_SETS,
        "db",
        replicas=3,
        serviceName="db",
        podManagementPolicy="Parallel",
        updateStrategy=strategy,
        revisionHistoryLimit=1,
        ordinals={"start": 4},
    )
    await stage.pods(3)
    yield "all at once"
    await stage.set(_ready())
    yield "all are ready"
    await stage.image(STATEFUL_SETS, "db", "two")
    await stage.replaced(1, 3)
    yield "another image: the last pod"
    await stage.set(_ready())
    await stage.replaced(1, 3)
    yield "and the one before, but not the first"
    await stage.set(_ready())
    yield "both are ready"
    await client.delete(PODS, "db-4", namespace, grace_period_seconds=0)
    await stage.pods(3)
    yield "the first comes back as it was"
    await stage.set(_ready())
    await stage.change(STATEFUL_SETS, "db", updateStrategy={"rollingUpdate": {"partition": 0}})
    await stage.replaced(1, 3)
    await stage.set(_ready())
    yield "then the first too"
    await stage.change(STATEFUL_SETS, "db", updateStrategy={"type": "OnDelete", "rollingUpdate": None})
    await stage.image(STATEFUL_SETS, "db", "three")
    yield "a change that waits until pods are deleted"
    await client.delete(PODS, "db-5", namespace, grace_period_seconds=0)
    await stage.pods(3)
    await stage.set(_ready())
    yield "one was deleted and has it"
    await stage.image(STATEFUL_SETS, "db", "four")
    yield "of revisions that no pod has one is kept"
    await stage.change(STATEFUL_SETS, "db", replicas=0)
    yield "all go at once"
    await stage.end()
    yield "none is left"


async def _retained(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = await _begin(client, namespace)
    template = stage.template("db")
    template["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    await stage.make(
        STATEFUL_SETS,
        "db",
        replicas=2,
        serviceName="db",
        podManagementPolicy="Parallel",
        template=template,
        volumeClaimTemplates=[_claim("data")],
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Delete"},
    )
    await stage.pods(2)
    await stage.set(_ready())
    yield "claims belong to the set"
    await stage.change(STATEFUL_SETS, "db", replicas=1)
    yield "one pod goes, and owns its claim"
    await stage.change(
        STATEFUL_SETS, "db", persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"}
    )
    yield "another policy: claims stay"


async def _observe(client: Client, namespace: str) -> Object:
    seen: Object = {}
    for resource in (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS):
        found = (await client.list(resource, namespace)).items
        seen[resource.plural] = ordered(_workload(each, resource) for each in found)
    revisions = (await client.list(CONTROLLER_REVISIONS, namespace)).items
    seen["revisions"] = ordered(_controller_revision(each) for each in revisions)
    seen["pods"] = ordered(_pod(pod) for pod in (await client.list(PODS, namespace)).items)
    claims = (await client.list(PERSISTENT_VOLUME_CLAIMS, namespace)).items
    seen["claims"] = ordered(_of(claim) for claim in claims)
    seen["events"] = _told((await client.list(EVENTS, namespace)).items)
    sets = (await client.list(REPLICA_SETS, namespace)).items
    return _masked(seen, namespace, sets, revisions)


def _masked(seen: Object, namespace: str, sets: list[Object], revisions: list[Object]) -> Object:
    """Hashes of templates are each implementation's own: what counts is which revision they stand for."""
    text = json.dumps(seen).replace(namespace, "<namespace>")
    for each in sets:
        value = (each["metadata"].get("labels") or {}).get("pod-template-hash")
        if value:
            number = (each["metadata"].get("annotations") or {}).get(_REVISION)
            text = text.replace(value, f"<template {number}>")
    for each in revisions:
        name, number = each["metadata"]["name"], each["revision"]
        text = text.replace(name, f"<revision {number}>").replace(name.rpartition("-")[2], f"<hash {number}>")
    # Of what is gone only its name is left, in events.
    found = json.loads(re.sub(r"\b(web|db)-[a-z0-9]{8,10}\b", r"\1-<gone>", text))
    events = {json.dumps(event, sort_keys=True): event for event in found["events"]}
    return {name: ordered(each) for name, each in (found | {"events": list(events.values())}).items()}


def _of(found: Object) -> Object:
    metadata = found["metadata"]
    return {
        "name": _name(metadata),
        "labels": metadata.get("labels"),
        "annotations": metadata.get("annotations"),
        "owners": [{**owner, "uid": "<uid>"} for owner in metadata.get("ownerReferences") or []],
        "deleting": "deletionTimestamp" in metadata,
        "finalizers": metadata.get("finalizers"),
    }


def _name(metadata: Object) -> str:
    name, prefix = metadata["name"], metadata.get("generateName")
    # a StatefulSet's pods are numbered; five digits are a random end that has no letter in it
    ordinal = name.removeprefix(prefix or "")
    return name if not prefix or (ordinal.isdigit() and len(ordinal) < 5) else f"{prefix}<suffix>"


def _workload(found: Object, resource: Resource) -> Object:
    status = dict(found.get("status") or {})
    # How far a controller is behind is no outcome.
    status["conditions"] = [
        {name: value for name, value in each.items() if not name.endswith("Time")}
        for each in status.get("conditions") or []
    ]
    if found["spec"].get("strategy", {}).get("type") == "Recreate":
        # The real controller's write of this condition conflicts with its own of before, or does not.
        for each in status["conditions"]:
            each |= {"reason": "<either>", "message": "<either>"} if each["type"] == "Progressing" else {}
    status["conditions"] = ordered(status["conditions"])
    observed = status.pop("observedGeneration", 0)
    spec = found["spec"]
    shown = {"replicas": spec["replicas"], "selector": spec["selector"]}
    if resource is REPLICA_SETS:
        shown["template"] = {"metadata": spec["template"]["metadata"], "image": _image(spec["template"]["spec"])}
        shown["minReadySeconds"] = spec.get("minReadySeconds", 0)
    return {**_of(found), "spec": shown, "status": status, "current": observed == found["metadata"]["generation"]}


def _image(spec: Object) -> str:
    return spec["containers"][0]["image"]


def _controller_revision(found: Object) -> Object:
    data = json.loads(json.dumps(found["data"]))
    return {**_of(found), "revision": found["revision"], "data": data}


def _pod(pod: Object) -> Object:
    spec = pod["spec"]
    volumes = [each for each in spec.get("volumes") or [] if "persistentVolumeClaim" in each]
    return {
        **_of(pod),
        "phase": pod["status"]["phase"],
        "image": _image(spec),
        "hostname": spec.get("hostname"),
        "subdomain": spec.get("subdomain"),
        "volumes": volumes,
    }


def _told(events: list[Object]) -> list[Object]:
    """What was said; how often, and with which steps in between, only where that does not depend on who was faster."""
    counted: Counter[tuple[str, str, str, str, str, str]] = Counter()
    for event in events:
        about = event["involvedObject"]
        # The real controller tells of changed owners of claims, and of its conflicts on the way; ours does not.
        if about["kind"] not in _WATCHED or event["reason"] in ("FailedUpdate", "SuccessfulUpdate"):
            continue
        # Many that are alike become one, of which the rest of the message is left out.
        message = event["message"].removeprefix("(combined from similar events): ")
        if about["kind"] != "StatefulSet":
            message = re.sub(r"from \d+ to \d+", "from <n> to <n>", _SUFFIX.sub("-<suffix>", message))
        who = event["source"]["component"]
        told = (about["kind"], about["name"], event["type"], event["reason"], message, who)
        counted[told] = 1 if about["kind"] != "StatefulSet" else counted[told] + event["count"]
    return [{"about": list(told), "count": count} for told, count in sorted(counted.items())]


WORKLOAD_PLAYS: Final = (
    Play("deployments-rolling", _rolling, _observe),
    Play("deployments-scaling", _scaling, _observe),
    Play("deployments-recreating", _recreating, _observe),
    Play("deployments-stuck", _stuck, _observe),
    Play("replicasets", _replicas, _observe),
    Play("statefulsets-ordered", _ordered, _observe),
    Play("statefulsets-partitioned", _partitioned, _observe),
    Play("statefulsets-retained", _retained, _observe),
)
