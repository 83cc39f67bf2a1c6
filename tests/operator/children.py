"""The children of the manifests in this folder: KubeRay's as recorded, ours, and how the two are compared."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from rayward.kinds import labels, names, shapes
from rayward.kinds.raycluster import RayCluster
from rayward.kube.core import resource
from rayward.kube.core.resource import Resource
from rayward.operator.cluster import children, services

Object = dict[str, Any]
Send = Callable[[Resource, Object], Object]

HERE: Final = Path(__file__).parent
RECORDED: Final = HERE / "recorded" / "children.json.gz"
UID: Final = "00000000-0000-4000-8000-000000000000"
TOKEN: Final = "dG9rZW4="
COLLECTIONS: Final = {
    kind.kind: kind
    for kind in (
        resource.SERVICE_ACCOUNTS,
        resource.ROLES,
        resource.ROLE_BINDINGS,
        resource.INGRESSES,
        resource.SECRETS,
        resource.SERVICES,
        resource.PODS,
        resource.JOBS,
    )
}
_NOISE: Final = ("creationTimestamp", "resourceVersion", "generation", "managedFields", "uid")
_token_volume: Final = re.compile(r"kube-api-access-[a-z0-9]{5}")
_made_by: Final = re.compile(r"kuberay_version=[^;]*")
_SAID: Final = re.compile(r" > /dev/null \|\| \{ echo '[^']*'; exit 1; \}")
"""What our probes print of a check that failed."""
_PACE: Final = ("initialDelaySeconds", "periodSeconds", "failureThreshold")
_JOB_LABELS: Final = (
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
)


@dataclass(frozen=True)
class Manifest:
    """One cluster, and what must be there before it."""

    name: str
    before: list[Object]
    cluster: Object


@functools.cache
def manifests() -> dict[str, Manifest]:
    """Every manifest of the folder, by name."""
    found: dict[str, Manifest] = {}
    for path in sorted((HERE / "manifests").glob("*.yaml")):
        *before, cluster = yaml.safe_load_all(path.read_text())
        found[path.stem] = Manifest(path.stem, before, cluster)
    return found


def typed(cluster: Object) -> RayCluster:
    """The cluster as the operator's cache holds it."""
    return msgspec.json.decode(json.dumps(cluster).encode(), type=RayCluster)


def ours(cluster: RayCluster, theirs: list[Object]) -> list[Object]:
    """What we make for a cluster; workers take the places that they have in ``theirs``."""
    made: list[Object | None] = [
        children.service_account(cluster),
        children.role(cluster),
        children.role_binding(cluster),
        children.ingress(cluster),
        children.auth_secret(cluster, TOKEN),
        services.head_service(cluster),
        services.headless_service(cluster),
        services.serve_service(cluster),
        shapes.head_pod(cluster, names.pod_prefix(cluster.metadata.name) + "abcde"),
    ]
    for group in cluster.groups:
        made += [_worker(cluster, group.group_name, their) for their in theirs if _group(their) == group.group_name]
    if any(their["kind"] == "Job" for their in theirs):
        made.append(shapes.redis_cleanup_job(cluster))
    return [child for child in made if child is not None]


def _group(child: Object) -> str:
    return child["metadata"].get("labels", {}).get(labels.GROUP, "") if child["kind"] == "Pod" else ""


def _worker(cluster: RayCluster, group_name: str, their: Object) -> Object:
    at = their["metadata"]["labels"]
    place = shapes.ReplicaPlace(
        at.get(labels.REPLICA_NAME, ""), int(at[labels.REPLICA_INDEX]), int(at.get(labels.HOST_INDEX, 0))
    )
    group = next(group for group in cluster.groups if group.group_name == group_name)
    return shapes.worker_pod(cluster, group, names.pod_prefix(cluster.metadata.name, group_name) + "abcde", place)


def steady(child: Object, uid: str = "") -> Object:
    """A child without what is another at every run: times, versions, random names, allocated addresses."""
    text = _token_volume.sub("kube-api-access", json.dumps(child))
    child = json.loads(text.replace(uid, UID) if uid else text)
    metadata = child["metadata"]
    for part in _NOISE:
        metadata.pop(part, None)
    child.pop("status", None)
    if child["kind"] == "Pod" and labels.REPLICA_NAME in metadata["labels"]:
        metadata["labels"][labels.REPLICA_NAME] = metadata["labels"][labels.REPLICA_NAME][:-5] + "abcde"
    if prefix := metadata.pop("generateName", None):
        metadata["name"] = metadata["name"] if metadata["name"].removeprefix(prefix) == metadata["name"] else prefix
    if child["kind"] == "Secret":
        child["data"] = dict.fromkeys(child["data"], "(base64)")
    if child["kind"] == "Service":
        _mask_service(child["spec"])
    if child["kind"] == "Job":
        _mask_job(child)
    return child


def _mask_service(spec: Object) -> None:
    spec.setdefault("ports", []).sort(key=lambda port: port["name"])
    for port in spec["ports"]:
        if "nodePort" in port:
            port["nodePort"] = "(allocated)"
    if spec.get("clusterIP") not in (None, "None"):
        spec["clusterIP"], spec["clusterIPs"] = "(allocated)", ["(allocated)"]


def _mask_job(job: Object) -> None:
    del job["spec"]["selector"]
    template = job["spec"]["template"]["metadata"]
    template.pop("creationTimestamp", None)
    for part in (template, job["metadata"]):
        part["labels"] = {name: value for name, value in part["labels"].items() if name not in _JOB_LABELS}


def alike(child: Object) -> Object:
    """A child without what is different in every pod of ours, each of it described in the reference page."""
    text = json.dumps(child).replace("${RAY_START_ULIMIT_OPEN_FILES:-65536}", "65536")
    text = _SAID.sub("", text)
    child = json.loads(_made_by.sub("kuberay_version=(operator)", text))
    annotations = child["metadata"].get("annotations", {})
    annotations.pop(labels.TEMPLATE, None)
    for name in (labels.RECREATE_HASH, labels.OPERATOR_VERSION):
        if name in annotations:
            annotations[name] = "(ours or KubeRay's)"
    if not annotations:
        child["metadata"].pop("annotations", None)
    for container in child.get("spec", {}).get("initContainers", ()):
        if container["name"] == "wait-gcs-ready":
            container["args"] = ["(waits for the head)"]
    if child["kind"] == "Pod":
        _mask_pace(child["spec"]["containers"][0].get("readinessProbe") or {})
    if child["kind"] == "Job":
        child["spec"]["template"]["spec"]["containers"][0]["args"] = ["(cleans up)"]
    if child["kind"] == "Pod" and child["metadata"]["name"].endswith("-abcde"):
        child["metadata"]["name"] = child["metadata"]["name"].removesuffix("abcde")
    return child


def _mask_pace(probe: Object) -> None:
    """Heads of services are asked earlier."""
    if [probe.get(name) for name in _PACE] in ([10, 5, 10], [3, 2, 25]):
        probe |= dict.fromkeys(_PACE, "(KubeRay's or ours)")


def compared(cluster: Object, theirs: list[Object], send: Send) -> list[str]:
    """Every path in which our children, as a server keeps them, differ from KubeRay's."""
    differences: list[str] = []
    mine = [alike(steady(send(COLLECTIONS[child["kind"]], child))) for child in ours(typed(cluster), theirs)]
    remaining = [alike(their) for their in theirs]
    for child in mine:
        title = f"{child['kind']}/{child['metadata']['name']}"
        same = [their for their in remaining if _is_same(their, child)]
        if not same:
            differences.append(f"{title}: KubeRay makes none")
            continue
        remaining.remove(same[0])
        differences += [f"{title}: {path}" for path in paths(same[0], child)]
    return differences + [f"{their['kind']}/{their['metadata']['name']}: we make none" for their in remaining]


def _is_same(their: Object, child: Object) -> bool:
    at = their["metadata"], child["metadata"]
    place = (labels.GROUP, labels.REPLICA_INDEX, labels.HOST_INDEX)
    places = [[part.get("labels", {}).get(name) for name in place] for part in at]
    return their["kind"] == child["kind"] and at[0]["name"] == at[1]["name"] and places[0] == places[1]


def paths(theirs: Any, mine: Any, path: str = "") -> Iterator[str]:
    """The paths at which two JSON values differ, with both values."""
    if isinstance(theirs, dict) and isinstance(mine, dict):
        for name in sorted({*theirs, *mine}):
            yield from paths(theirs.get(name), mine.get(name), f"{path}.{name}")
    elif isinstance(theirs, list) and isinstance(mine, list) and len(theirs) == len(mine):
        for index, (their, my) in enumerate(zip(theirs, mine, strict=True)):
            yield from paths(their, my, f"{path}[{index}]")
    elif theirs != mine:
        yield f"{path}: {json.dumps(theirs)} is ours {json.dumps(mine)}"
