"""Children of RayJobs, ours beside KubeRay's, without what is another at every run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.shapes import SUBMITTER
from tests.operator.children import UID, steady

Object = dict[str, Any]

RECORDED: Final = Path(__file__).parents[1] / "recorded" / "jobchildren.json.gz"
CLUSTER: Final = "the-cluster"
JOB_ID: Final = "the-job-id"
_CHOSEN: Final = "chosen"


def anonymous(child: Object, told: Object) -> Object:
    """A child with the names of its attempt replaced."""
    # ids are longer than what they may contain, and both begin with the job's name
    text = json.dumps(child).replace(told["rayClusterName"], CLUSTER).replace(told["uid"], UID)
    if told["jobId"] and told["jobId"] != _CHOSEN:
        text = text.replace(told["jobId"], JOB_ID)
    found = json.loads(text)
    found["metadata"].pop("finalizers", None)
    return steady(found)


def alike(child: Object) -> Object:
    """A child with the words for Ray as a list, and without how a submitter finds out whether to say them."""
    found: Object = _without_empty(child)
    for container in _submitters(found):
        arguments: list[str] = container.get("args") or []
        if arguments and "ray job submit" in arguments[0]:
            container["args"] = submitted(arguments[0])
    _forget_newer(found)
    return _without_empty(found)


def _forget_newer(child: Object) -> None:
    """What KubeRay 1.7 has, and we with it, and v1.6.2 has not."""
    if child["kind"] == "Job":
        pod_labels: Object = child["spec"]["template"].get("metadata", {}).get("labels", {})
        for name in (labels.ORIGIN_NAME, labels.ORIGIN_KIND):
            pod_labels.pop(name, None)
    if child["kind"] == "RayCluster":
        for group in child["spec"].get("workerGroupSpecs", ()):
            assert group.pop("priority", 0) == 0


def submitted(command: str) -> list[Any]:
    """The arguments of ``ray job submit`` in a command of the shell; JSON among them as values."""
    words = shlex.split(command.partition("ray job submit ")[2])
    mine = words[: words.index(";")] if ";" in words else words
    return [_value(word) for word in mine]


def _without_empty(value: Any) -> Any:
    """Go writes structures that hold nothing; here they count as absent."""
    if isinstance(value, dict):
        kept = {name: _without_empty(part) for name, part in value.items()}
        return {name: part for name, part in kept.items() if part not in ({}, None)}
    return [_without_empty(part) for part in value] if isinstance(value, list) else value


def _value(word: str) -> Any:
    if word.startswith("{"):
        return json.loads(word)
    try:
        return float(word)
    except ValueError:
        return word


def _submitters(child: Object) -> list[Object]:
    if child["kind"] == "Job":
        return child["spec"]["template"]["spec"]["containers"]
    if child["kind"] == "RayCluster":
        pod = child["spec"]["headGroupSpec"]["template"]["spec"]
        return [one for one in pod["containers"] if one["name"] == SUBMITTER]
    return []
