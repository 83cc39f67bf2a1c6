"""What keeps pods from running, as finders of causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rayward.changes.why.evidence import Evidence
from rayward.changes.why.match import Match, about, joined, last_exit, name_of, short
from rayward.kube.machinery.jsonvalue import Object, entries, section

IMAGE: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
CONFIG: Final = frozenset({"CreateContainerConfigError", "CreateContainerError"})
_CRASHED: Final = frozenset({"CrashLoopBackOff", "RunContainerError", "StartError"})
_NOT_STARTED: Final = (None, "", "Pending")
_UNMOUNTED: Final = frozenset({"FailedMount", "FailedAttachVolume"})


def unmounted(evidence: Evidence) -> Match | None:
    """No status of a pod says why a volume cannot be mounted: only an event does."""
    pending = {
        name_of(pod): pod for pod in evidence.pods if section(pod, "status").get("phase") in (None, "", "Pending")
    }
    for event in reversed(evidence.events):
        pod = pending.get(str(section(event, "involvedObject").get("name")))
        if pod is not None and event.get("reason") in _UNMOUNTED:
            return Match((joined(str(event.get("reason")), event.get("message")),), about(pod))
    return None


def unschedulable(evidence: Evidence) -> Match | None:
    for pod in evidence.pods:
        one = evidence.condition("PodScheduled", pod)
        if one.get("status") == "False" and one.get("reason") == "Unschedulable":
            return Match((f"pod {name_of(pod)}: {one.get('message') or 'no node can run it'}",), about(pod))
    return None


def waiting(reasons: frozenset[str]) -> Callable[[Evidence], Match | None]:
    def find(evidence: Evidence) -> Match | None:
        for pod, container in evidence.containers():
            state = section(section(container, "state"), "waiting")
            if state.get("reason") in reasons:
                line = f"container {container.get('name')}: {state.get('reason')}"
                words = {
                    **about(pod),
                    "container": str(container.get("name")),
                    "image": str(container.get("image")),
                }
                return Match((joined(line, state.get("message")), *last_exit(container)), words)
        return None

    return find


def out_of_memory(evidence: Evidence) -> Match | None:
    for pod, container in evidence.containers():
        for state in ("state", "lastState"):
            ended = section(section(container, state), "terminated")
            if ended.get("reason") == "OOMKilled":
                line = f"container {container.get('name')} restarted {container.get('restartCount') or 0} times"
                words = {**about(pod), "container": str(container.get("name"))}
                return Match((line, f"exit code {ended.get('exitCode')} (OOMKilled)"), words)
    return None


def crashed(evidence: Evidence) -> Match | None:
    found = waiting(_CRASHED)(evidence)
    if found is not None:
        return found
    for pod, container in evidence.containers():
        ended = section(section(container, "state"), "terminated")
        if ended and ended.get("exitCode"):
            line = f"container {container.get('name')} ended with exit code {ended.get('exitCode')}"
            return Match((joined(line, ended.get("message")),), {**about(pod), "container": str(container.get("name"))})
    return None


def not_ready(evidence: Evidence) -> Match | None:
    for pod in evidence.pods:
        if section(pod, "status").get("phase") != "Running":
            continue
        one = evidence.condition("Ready", pod)
        if one.get("status") == "False":
            probes = [event for event in evidence.events if event.get("reason") == "Unhealthy"]
            said = [short(str(event.get("message"))) for event in probes[-2:]]
            return Match((joined(f"pod {name_of(pod)} runs and is not ready", one.get("message")), *said), about(pod))
    return None


def starting(evidence: Evidence) -> Match | None:
    pods = [pod for pod in evidence.pods if section(pod, "status").get("phase") in _NOT_STARTED]
    if not pods:
        return None
    return Match(tuple(f"pod {name_of(pod)} is Pending{_since(pod)}" for pod in pods[:5]), about(pods[0]))


def _since(pod: Object) -> str:
    """What its node does about it, and since when; nothing while it has no node."""
    status = section(pod, "status")
    reasons = (section(section(one, "state"), "waiting").get("reason") for one in entries(status, "containerStatuses"))
    reason, since = next((str(one) for one in reasons if one), ""), status.get("startTime")
    return f": {reason} since {since}" if reason and since else ""


def initializing(evidence: Evidence) -> Match | None:
    for pod in evidence.pods:
        if section(pod, "status").get("phase") not in _NOT_STARTED:
            continue
        init = entries(section(pod, "spec"), "initContainers")
        # those run as long as the pod
        sidecars = {one.get("name") for one in init if one.get("restartPolicy") == "Always"}
        for container in entries(section(pod, "status"), "initContainerStatuses"):
            began, name = section(section(container, "state"), "running").get("startedAt"), container.get("name")
            if began and name not in sidecars:
                line = f"init container {name} runs since {began}"
                return Match((line,), {**about(pod), "container": str(name)})
    return None
