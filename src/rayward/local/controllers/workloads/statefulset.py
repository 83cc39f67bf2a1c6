"""Stateful sets: pods with numbers, claims of their own, and revisions. Pure."""

from __future__ import annotations

from copy import deepcopy
from typing import Final

import msgspec

from rayward.kube.core.meta import controller_reference
from rayward.kube.core.objects import KubeObject, OwnerReference, Slim
from rayward.kube.core.resource import PODS, STATEFUL_SETS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.controllers.workloads.common import template_hash

REVISION_LABEL: Final = "controller-revision-hash"
_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
_HASH_LABEL: Final = "controller.kubernetes.io/hash"


class _Rolling(Slim, frozen=True, gc=False):
    partition: int = 0


class _Strategy(Slim, frozen=True, gc=False):
    type: str = "RollingUpdate"
    rolling_update: _Rolling | None = None


class _Ordinals(Slim, frozen=True, gc=False):
    start: int = 0


class _Retention(Slim, frozen=True, gc=False):
    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class StatefulSetSpec(Slim, frozen=True, gc=False):
    """What is asked for."""

    replicas: int = 1
    service_name: str = ""
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    pod_management_policy: str = "OrderedReady"
    persistent_volume_claim_retention_policy: _Retention | None = None
    ordinals: _Ordinals | None = None
    update_strategy: _Strategy = _Strategy()
    selector: Object = msgspec.field(default_factory=dict)
    template: Object = msgspec.field(default_factory=dict)
    volume_claim_templates: list[Object] | None = None

    @property
    def start(self) -> int:
        """The number of the first pod."""
        return self.ordinals.start if self.ordinals is not None else 0

    @property
    def rolls(self) -> bool:
        """Whether pods are replaced when the template changes; else they wait to be deleted."""
        return self.update_strategy.type == "RollingUpdate"

    @property
    def partition(self) -> int:
        """How many of the first pods keep the old template."""
        rolling = self.update_strategy.rolling_update
        return rolling.partition if self.rolls and rolling is not None else 0

    @property
    def in_order(self) -> bool:
        """Whether one pod is made, replaced or deleted at a time."""
        return self.pod_management_policy != "Parallel"


class StatefulSetStatus(Slim, frozen=True, gc=False):
    """How many pods there are, and of which revision."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None


class SeenStatefulSet(KubeObject, frozen=True, gc=False):
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class SeenRevision(KubeObject, frozen=True, gc=False):
    """A template that a stateful set had or has."""

    revision: int = 0
    data: Object = msgspec.field(default_factory=dict)

    @property
    def template(self) -> Object:
        """The pods of this revision."""
        found = section(section(self.data, "spec"), "template")
        return {name: value for name, value in found.items() if name != "$patch"}


def ordinal(owner: KubeObject, pod: KubeObject) -> int | None:
    """The number of a pod, if its name is one of the set's."""
    parent, _, number = pod.metadata.name.rpartition("-")
    return int(number) if parent == owner.metadata.name and number.isdecimal() else None


def revision_data(owner: SeenStatefulSet) -> Object:
    """What a revision keeps of a stateful set."""
    return {"spec": {"template": {**owner.spec.template, "$patch": "replace"}}}


def revision_of(owner: SeenStatefulSet, number: int, collisions: int) -> Object:
    """A new revision of a stateful set."""
    data = revision_data(owner)
    value = template_hash(data, collisions)
    labels = section(section(owner.spec.template, "metadata"), "labels")
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{owner.metadata.name}-{value}",
            "namespace": owner.metadata.namespace,
            "labels": {**labels, _HASH_LABEL: value},
            "annotations": dict(owner.metadata.annotations or {}),
            "ownerReferences": [msgspec.to_builtins(controller_reference(owner, STATEFUL_SETS))],
        },
        "data": data,
        "revision": number,
    }


def claim_name(owner: SeenStatefulSet, template: Object, number: int) -> str:
    """The claim that the pod of a number has, now and whenever it comes back."""
    return f"{template['metadata']['name']}-{owner.metadata.name}-{number}"


def claims_of(owner: SeenStatefulSet, number: int) -> list[Object]:
    """The claims of one pod."""
    made: list[Object] = []
    for template in owner.spec.volume_claim_templates or ():
        whole = deepcopy(template)
        labels = {**section(whole["metadata"], "labels"), **section(owner.spec.selector, "matchLabels")}
        metadata = {**whole["metadata"], "name": claim_name(owner, template, number)}
        metadata |= {"namespace": owner.metadata.namespace, "labels": labels}
        made.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": whole["spec"]})
    return made


def claim_owners(owner: SeenStatefulSet, pod: KubeObject, number: int) -> tuple[OwnerReference, ...]:
    """With whom the claims of a pod go: with the set, with the pod that is too many, or with nobody."""
    policy = owner.spec.persistent_volume_claim_retention_policy or _Retention()
    condemned = not owner.spec.start <= number < owner.spec.start + owner.spec.replicas
    if condemned and policy.when_scaled == "Delete":
        return (controller_reference(pod, PODS),)
    return (controller_reference(owner, STATEFUL_SETS),) if policy.when_deleted == "Delete" else ()


def pod_of(owner: SeenStatefulSet, template: Object, revision: str, number: int) -> Object:
    """The pod of a number, of one revision."""
    whole = deepcopy(template)
    about, spec, name = section(whole, "metadata"), whole["spec"], f"{owner.metadata.name}-{number}"
    labels = {
        **section(about, "labels"),
        _NAME_LABEL: name,
        _INDEX_LABEL: str(number),
        REVISION_LABEL: revision,
    }
    claims: list[Object] = [
        {
            "name": each["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(owner, each, number)},
        }
        for each in owner.spec.volume_claim_templates or ()
    ]
    named = {volume["name"] for volume in claims}
    volumes = [*claims, *(volume for volume in entries(spec, "volumes") if volume["name"] not in named)]
    if volumes:
        spec["volumes"] = volumes
    spec["hostname"] = name
    spec["subdomain"] = owner.spec.service_name
    metadata: Object = {
        "name": name,
        "generateName": f"{owner.metadata.name}-",
        "namespace": owner.metadata.namespace,
        "labels": labels,
        "annotations": section(about, "annotations"),
        "finalizers": entries(about, "finalizers"),
        "ownerReferences": [msgspec.to_builtins(controller_reference(owner, STATEFUL_SETS))],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
