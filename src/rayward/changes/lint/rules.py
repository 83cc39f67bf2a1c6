"""Mistakes that people make and that no schema finds; most of them are taught by public documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from rayward.changes.lint.finding import Edit, Finding, Severity
from rayward.changes.lint.source import Document
from rayward.changes.refs import cluster_path, cluster_spec
from rayward.kinds import managedby
from rayward.kinds.serveconfig.finding import Path, written
from rayward.kube.machinery.jsonvalue import Object, entries, is_object, section

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE
_GROUPS: Final = "workerGroupSpecs"
_NOT_IN_V1: Final = frozenset({"status", "appStatus", "startTime", "endTime", "deploymentStatuses", "rayClusterName"})
_STATES: Final = ("ready", "suspended", "failed")
_RAYWARDS: Final = {
    "HeadPodRunningAndReady": "KubeRay sets no condition HeadPodRunningAndReady: wait for HeadPodReady",
    "AutoscalerHealthy": "KubeRay sets no condition AutoscalerHealthy",
}
"""Types of conditions that public documents name and that Rayward alone sets."""
_ray_image: Final = re.compile(r"(?:^|/)rayproject/ray(?:-ml|-llm)?(?::([^@]+))?(?:@.*)?$").search
_version: Final = re.compile(r"(\d+\.\d+\.\d+)").match


def patch_findings(document: Document) -> Iterator[Finding]:
    """A document that is a patch and not an object: a list in it replaces the whole list."""
    spec = section(document.value, "spec")
    for name in ("rayClusterConfig", "rayClusterSpec", ""):
        groups = entries(section(spec, name) if name else spec, _GROUPS)
        if groups:
            steps: Path = ("spec", *([name] if name else []), _GROUPS)
            message = (
                "as a JSON merge patch this replaces the whole list: every other group, and every field that is not "
                "named, is dropped; use: rayward scale KIND/NAME --group GROUP --replicas N"
            )
            yield _at(document, "RW401", _E, message, steps)


def rule_findings(document: Document, kind: str) -> Iterator[Finding]:
    """Findings of an object of one of our kinds."""
    yield from _status(document)
    manager = section(document.value, "spec").get("managedBy")
    if manager is not None and manager not in managedby.ACCEPTED:
        message = f"write {' or '.join(managedby.ACCEPTED)}, or delete the field"
        yield _at(document, "RW202", _E, message, ("spec", "managedBy"))
    yield from _cluster(document, kind)
    spec = section(document.value, "spec")
    if kind == "RayService":
        yield from _service(document, spec)
    if kind == "RayCluster":
        yield from _strategy(document, spec)
    if (
        kind == "RayJob"
        and spec.get("suspend")
        and (not spec.get("shutdownAfterJobFinishes") or spec.get("clusterSelector"))
    ):
        message = "KubeRay suspends a job only with shutdownAfterJobFinishes: true and without clusterSelector"
        yield _at(document, "RW407", _W, message, ("spec", "suspend"))


def _status(document: Document) -> Iterator[Finding]:
    status = document.value.get("status")
    if not is_object(status) or not status:
        return
    kind = document.value.get("kind")
    unknown = sorted(_NOT_IN_V1 & status.keys()) if kind == "RayService" else []
    message = "status is written by the operator and has no place in a manifest: delete it"
    if unknown:
        message += f" (KubeRay's v1 has no {', '.join(unknown)} in it)"
    state: Any = status.get("state")
    if kind == "RayCluster" and state is not None and state not in _STATES:
        message += f" (state is ready, suspended or failed, never {state!r}: wait for conditions)"
    for condition in entries(status, "conditions"):
        if is_object(condition) and (better := _RAYWARDS.get(str(condition.get("type")))):
            message += f" ({better})"
    yield _at(document, "RW403", _W, message, ("status",), document.delete(("status",)))


def _strategy(document: Document, spec: Object) -> Iterator[Finding]:
    """What an edit of a pod template does, where the manifest says it in a word that promises something else."""
    strategy = section(spec, "upgradeStrategy").get("type")
    if strategy == "Recreate":
        message = "every edit of a pod template deletes all pods at once, the head's too: see rayward rollout"
    elif strategy == "None":
        message = "an edit of a pod template changes no pod that runs: make them anew with rayward rollout"
    else:
        return
    yield _at(document, "RW410", _N, message, ("spec", "upgradeStrategy", "type"))


def _service(document: Document, spec: Object) -> Iterator[Finding]:
    config = spec.get("serveConfigV2")
    if is_object(config):
        message = "serveConfigV2 is YAML in a string, in snake_case: write serveConfigV2: | and the config below it"
        yield _at(document, "RW303", _W, message, ("spec", "serveConfigV2"))
    for name in ("serveDeploymentGraphSpec", "deploymentUnhealthyRestartThreshold"):
        if name in spec:
            message = f"{name} is not in KubeRay's v1: only Rayward reads it"
            yield _at(document, "RW402", _W, message, ("spec", name))
    if "deploymentUnhealthySecondThreshold" in spec:
        message = "KubeRay has deprecated deploymentUnhealthySecondThreshold and does not read it; Rayward does"
        yield _at(document, "RW402", _N, message, ("spec", "deploymentUnhealthySecondThreshold"))
    elif "deploymentUnhealthyRestartThreshold" in spec:
        message = "it has no effect without deploymentUnhealthySecondThreshold: write both, or neither"
        yield _at(document, "RW406", _W, message, ("spec", "deploymentUnhealthyRestartThreshold"))
    if section(spec, "upgradeStrategy").get("type") == "NewCluster" and config is not None:
        message = "NewCluster is for changes of rayClusterConfig: an edit of serveConfigV2 alone is applied in place"
        yield _at(document, "RW409", _N, message, ("spec", "upgradeStrategy", "type"))
    options = section(section(spec, "rayClusterConfig"), "gcsFaultToleranceOptions")
    if options.get("externalStorageNamespace"):
        message = "the cluster of every new release would read the state of the old one: delete it"
        steps: Path = ("spec", "rayClusterConfig", "gcsFaultToleranceOptions", "externalStorageNamespace")
        yield _at(document, "RW408", _W, message, steps, document.delete(steps))


def _cluster(document: Document, kind: str) -> Iterator[Finding]:
    root, spec = cluster_path(kind), cluster_spec(kind, document.value)
    if not spec:
        return
    autoscaled = spec.get("enableInTreeAutoscaling") is True
    if spec.get("autoscalerOptions") and not autoscaled:
        message = "autoscalerOptions have no effect without enableInTreeAutoscaling: true"
        yield _at(document, "RW406", _W, message, (*root, "autoscalerOptions"))
    groups = [((*root, "headGroupSpec"), section(spec, "headGroupSpec"))]
    groups += [
        ((*root, _GROUPS, index), group) for index, group in enumerate(entries(spec, _GROUPS)) if is_object(group)
    ]
    version = str(spec.get("rayVersion") or "")
    for steps, group in groups:
        if "rayResources" in group:
            message = "rayResources is not in KubeRay's v1: write resources, which both operators read"
            edit = None if "resources" in group else document.rename((*steps, "rayResources"), "resources")
            yield _at(document, "RW402", _W, message, (*steps, "rayResources"), edit)
        if autoscaled and group.get("replicas") is not None:
            message = "with enableInTreeAutoscaling replicas belong to the autoscaler: leave the field out"
            yield _at(document, "RW404", _W, message, (*steps, "replicas"), document.delete((*steps, "replicas")))
        yield from _image(document, steps, group, version)


def _image(document: Document, steps: Path, group: Object, version: str) -> Iterator[Finding]:
    containers = entries(section(section(group, "template"), "spec"), "containers")
    image: Any = containers[0].get("image") if containers and is_object(containers[0]) else None
    found = _ray_image(image) if isinstance(image, str) else None
    if found is None:
        return
    at: Path = (*steps, "template", "spec", "containers", 0, "image")
    tag = found[1] or "latest"
    tagged = _version(tag)
    if tagged is None and tag == "latest":
        message = "the tag latest is another Ray tomorrow: write a version, and the same one as rayVersion"
        yield _at(document, "RW405", _W, message, at)
    elif tagged is not None and version and tagged[1] != version:
        message = f"the image has Ray {tagged[1]} and rayVersion is {version}: write the same version in both"
        yield _at(document, "RW405", _W, message, at)


def _at(
    document: Document, code: str, severity: Severity, message: str, path: Path, edit: Edit | None = None
) -> Finding:
    line, column = document.place(path)
    return Finding(code, severity, message, written(path), document.file, line, column, edit)
