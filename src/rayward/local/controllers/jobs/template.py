"""The pod that a job makes."""

from __future__ import annotations

from copy import deepcopy
from typing import Final

import msgspec

from rayward.kube.core.meta import controller_reference
from rayward.kube.core.resource import JOBS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.controllers.jobs.job import FINALIZER, INDEX, SeenJob

_ENV: Final = "JOB_COMPLETION_INDEX"
# A server cuts longer ones to make room for what it appends.
_LONGEST_PREFIX: Final = 58


def pod_of(job: SeenJob, whole: Object, index: int | None) -> Object:
    """A new pod of a job, from the template in ``whole``; ``index`` if it is an indexed one."""
    template: Object = deepcopy(whole["spec"]["template"])
    about = section(template, "metadata")
    finalizers = entries(about, "finalizers")
    metadata: Object = {
        "generateName": f"{job.metadata.name}-",
        "namespace": job.metadata.namespace,
        "labels": section(about, "labels"),
        "annotations": section(about, "annotations"),
        "finalizers": finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER],
        "ownerReferences": [msgspec.to_builtins(controller_reference(job, JOBS))],
    }
    spec: Object = template["spec"]
    if index is not None:
        metadata["generateName"] = _prefix(job.metadata.name, index)
        metadata["labels"][INDEX] = metadata["annotations"][INDEX] = str(index)
        spec["hostname"] = f"{job.metadata.name}-{index}"
        for container in (*entries(spec, "initContainers"), *entries(spec, "containers")):
            _tell_index(container)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _prefix(name: str, index: int) -> str:
    end = f"-{index}-"
    return f"{name}{end}" if len(name) + len(end) <= _LONGEST_PREFIX else name[: _LONGEST_PREFIX - len(end)] + end


def _tell_index(container: Object) -> None:
    variables = entries(container, "env")
    if all(variable["name"] != _ENV for variable in variables):
        source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
        container["env"] = [*variables, {"name": _ENV, "valueFrom": source}]
