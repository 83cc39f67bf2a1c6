"""The revisions of a deployment: the replica set of its template, the number it carries, and a new one. Pure."""

from __future__ import annotations

from copy import deepcopy
from typing import Final

import msgspec

from rayward.kube.core.meta import controller_reference
from rayward.kube.core.resource import DEPLOYMENTS
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.local.controllers.workloads.common import template_hash
from rayward.local.controllers.workloads.deployment import DESIRED, HASH, HISTORY, MOST, REVISION, SeenDeployment
from rayward.local.controllers.workloads.replicaset import SeenReplicaSet

_OWN: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        HISTORY,
        DESIRED,
        MOST,
    }
)
_LONGEST_HISTORY: Final = 2000


def same_template(owner: SeenDeployment, found: SeenReplicaSet) -> bool:
    """Whether a replica set has the deployment's template; the label with its hash does not count."""
    return _unhashed(owner.spec.template) == _unhashed(found.spec.template)


def _unhashed(template: Object) -> Object:
    metadata = section(template, "metadata")
    labels = {name: value for name, value in section(metadata, "labels").items() if name != HASH}
    rest = {name: value for name, value in metadata.items() if value is not None}
    return {**template, "metadata": {**rest, "labels": labels}}


def number(annotations: dict[str, str], name: str) -> int | None:
    """The number in an annotation; None where there is none, or no number."""
    text = annotations.get(name, "")
    return int(text) if text.isdecimal() else None


def revision_of(annotations: dict[str, str]) -> int:
    """A replica set's revision; 0 where nobody gave it one."""
    return number(annotations, REVISION) or 0


def mark(owner: SeenDeployment, annotations: dict[str, str], revision: int) -> None:
    """Give a replica set the user's annotations and a revision, and remember the one it had."""
    annotations |= {name: text for name, text in (owner.metadata.annotations or {}).items() if name not in _OWN}
    before = annotations.get(REVISION)
    if revision_of(annotations) >= revision:
        return
    annotations[REVISION] = str(revision)
    if before is not None:
        history = [*filter(None, annotations.get(HISTORY, "").split(",")), before]
        while len(",".join(history)) > _LONGEST_HISTORY:
            history.pop(0)
        annotations[HISTORY] = ",".join(history)


def new_set(owner: SeenDeployment, revision: int) -> SeenReplicaSet:
    """The new replica set, without pods yet."""
    value = template_hash(owner.spec.template, owner.status.collision_count or 0)
    annotations: dict[str, str] = {}
    mark(owner, annotations, revision)
    whole = {
        "metadata": {
            "name": f"{owner.metadata.name}-{value}",
            "namespace": owner.metadata.namespace,
            "annotations": annotations,
            "labels": {HASH: value},
        },
        "spec": {"replicas": 0, "minReadySeconds": owner.spec.min_ready_seconds},
    }
    return msgspec.convert(whole, SeenReplicaSet)


def set_object(owner: SeenDeployment, new: SeenReplicaSet, replicas: int, annotations: dict[str, str]) -> Object:
    """The new replica set as it is sent to the API server."""
    value = new.metadata.label(HASH)
    template, selector = deepcopy(owner.spec.template), deepcopy(owner.spec.selector)
    labels = {**section(section(template, "metadata"), "labels"), HASH: value}
    template["metadata"] = {**section(template, "metadata"), "labels": labels}
    selector["matchLabels"] = {**section(selector, "matchLabels"), HASH: value}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": new.metadata.name,
            "namespace": owner.metadata.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [msgspec.to_builtins(controller_reference(owner, DEPLOYMENTS))],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": owner.spec.min_ready_seconds,
            "selector": selector,
            "template": template,
        },
    }
