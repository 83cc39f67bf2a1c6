"""The pod that submits a RayJob, or the container that does so in its head's pod: what it is made from and costs."""

from __future__ import annotations

import copy
from typing import Any, Final

from rayward.kinds.rayjob import SubmissionMode
from rayward.kube.machinery.jsonvalue import Object, entries, section

SUBMITTER: Final = "ray-job-submitter"
"""The container's name, unless the user's own template has another."""
SUBMITTER_GROUP: Final = "/submitter"
"""Whose pods it is; no worker group can have that name."""


def submitter_container(image: str) -> Object:
    """The container that submits, without its command; ``image`` is the head's."""
    return {
        "name": SUBMITTER,
        "image": image,
        "resources": {
            "limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "500m", "memory": "200Mi"},
        },
    }


def submitter_spec(mode: str, template: Object | None) -> Object | None:
    """The spec of the pod that submits, as far as it costs; None in the modes that have no such pod."""
    if mode != SubmissionMode.K8S_JOB:
        return None
    return section(template, "spec") if template else {"containers": [submitter_container("")]}


def with_sidecar(mode: str, config: Object) -> Object:
    """The spec of a RayJob's cluster as it will be: in SidecarMode the head's pod submits."""
    if mode != SubmissionMode.SIDECAR:
        return config
    made = copy.deepcopy(config)
    pod: Any = section(section(section(made, "headGroupSpec"), "template"), "spec")
    pod["containers"] = [*entries(pod, "containers"), submitter_container("")]
    return made
