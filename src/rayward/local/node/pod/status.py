"""A pod's status, as a kubelet writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from rayward.kube.core.meta import rfc3339
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.node.pod import backoff
from rayward.local.node.pod.decide import init_failed, initialized
from rayward.local.node.pod.facts import UNKNOWN, Container, Pod, Run, is_sidecar


def pod_status(pod: Object, known: Pod, now: float, image_id: Callable[[str], str]) -> Object:
    """The whole status that follows from what is known; times of conditions are kept where nothing changed."""
    spec, before = pod["spec"], section(pod, "status")
    inits = [
        _container(pod, known, container, now, image_id, init=True) for container in entries(spec, "initContainers")
    ]
    mains = [_container(pod, known, container, now, image_id, init=False) for container in spec["containers"]]
    phase = _phase(spec, known, mains)
    status: Object = {
        "phase": phase,
        "hostIP": known.host,
        "hostIPs": [{"ip": known.host}],
        "startTime": before.get("startTime") or stamp(known.begun or now),
        "qosClass": before.get("qosClass", "BestEffort"),
    }
    # Of a pod that the node refused there is nothing to tell: "ContainerCreating" would hide why.
    refused = known.ended is not None and not known.begun
    if not refused:
        status["containerStatuses"] = mains
    generation = pod["metadata"].get("generation")
    if generation:
        status["observedGeneration"] = generation
    if inits and not refused:
        status["initContainerStatuses"] = inits
    if known.address:
        status["podIP"] = known.address
        status["podIPs"] = [{"ip": known.address}]
    if known.ended is not None:
        status["reason"], status["message"] = known.ended
    status["conditions"] = _conditions(pod, known, phase, mains, inits, now)
    return status


def status_patch(status: Object) -> Object:
    """The strategic merge patch for a status: conditions that are not the node's are left as others wrote them."""
    cleared = {"reason": None, "message": None}
    own = [{**cleared, **found} for found in status["conditions"] if found["type"] in _OURS]
    # Addresses would be added to those that the pod had before.
    addresses = {field: [*status[field], {"$patch": "replace"}] for field in ("hostIPs", "podIPs") if field in status}
    return {**status, **addresses, "conditions": own}


def stamp(moment: float) -> str:
    """A time of the API."""
    return rfc3339(datetime.fromtimestamp(moment, UTC))


def _phase(spec: Object, known: Pod, mains: Sequence[Object]) -> str:
    if known.ended is not None:
        return "Failed"
    if init_failed(spec, known):
        return "Failed"
    if not initialized(spec, known) and not any(_began(status) for status in mains):
        return "Pending"
    if not all(_began(status) for status in mains):
        return "Pending"
    sidecars = [container for container in entries(spec, "initContainers") if is_sidecar(container)]
    if any("running" in status["state"] for status in mains):
        return "Running"
    if spec["restartPolicy"] == "Always":
        return "Running"
    codes = [section(status["state"], "terminated").get("exitCode") for status in mains]
    if any(code is None for code in codes):
        return "Running"
    if any(known.containers.get(container["name"], UNKNOWN).alive for container in sidecars):
        return "Running"
    if all(code == 0 for code in codes):
        return "Succeeded"
    return "Failed" if spec["restartPolicy"] == "Never" else "Running"


def _began(status: Object) -> bool:
    return "waiting" not in status["state"] or "terminated" in status.get("lastState", {})


def _container(
    pod: Object, known: Pod, container: Object, now: float, image_id: Callable[[str], str], *, init: bool
) -> Object:
    name = container["name"]
    found = known.containers.get(name, UNKNOWN)
    sidecar = init and is_sidecar(container)
    state = _state(pod, known, container, found, now, init=init)
    running = "running" in state
    if init and not sidecar:
        ready = found.run is not None and found.run.succeeded
        started = running
    else:
        started = running and found.greeted and (container.get("startupProbe") is None or found.startup is True)
        # A pod that is deleted serves to its end, as long as its probe says so; that it ends, its object says.
        stays = not found.stopping or bool(pod["metadata"].get("deletionTimestamp"))
        ready = started and stays and (container.get("readinessProbe") is None or found.ready is True)
    image = (found.run.image if found.run is not None else "") or container.get("image", "")
    status: Object = {
        "name": name,
        "image": image,
        "imageID": image_id(image) if found.run is not None else "",
        "ready": ready,
        "started": started,
        "restartCount": found.run.attempt if found.run is not None else 0,
        "state": state,
        "lastState": {},
    }
    if found.run is not None:
        status["containerID"] = container_id(pod, name, found.run.attempt)
    last = found.run if "waiting" in state and found.run is not None and found.run.over else found.previous
    if last is not None:
        status["lastState"] = {"terminated": _terminated(pod, name, last)}
    return status


def container_id(pod: Object, name: str, attempt: int) -> str:
    """How one run of a container is named."""
    return f"rayward://{pod['metadata']['uid']}/{name}/{attempt}"


def _state(pod: Object, known: Pod, container: Object, found: Container, now: float, *, init: bool) -> Object:
    run = found.run
    if run is not None and run.started is not None and not run.over:
        return {"running": {"startedAt": stamp(run.started)}}
    if found.blocked is not None and known.ended is None and not (run is not None and run.over and _stays(pod, run)):
        return {"waiting": {"reason": found.blocked.reason, "message": found.blocked.message}}
    if run is not None and run.over:
        due = backoff.wait_until(run, found.backoff)
        comes_back = not _stays(pod, run) and not (init and not is_sidecar(container) and run.succeeded)
        if comes_back and due is not None and due > now and known.ended is None:
            metadata = pod["metadata"]
            message = (
                f"back-off {_duration(found.backoff.delay)} restarting failed container={container['name']} "
                f"pod={metadata['name']}_{metadata['namespace']}({metadata['uid']})"
            )
            return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
        return {"terminated": _terminated(pod, container["name"], run)}
    if not init and entries(pod["spec"], "initContainers") and not initialized(pod["spec"], known):
        return {"waiting": {"reason": "PodInitializing"}}
    if init and run is None and _waits_for_earlier(pod["spec"], known, container["name"]):
        return {"waiting": {"reason": "PodInitializing"}}
    return {"waiting": {"reason": "ContainerCreating"}}


def _waits_for_earlier(spec: Object, known: Pod, name: str) -> bool:
    first = spec["initContainers"][0]["name"]
    return name != first and bool(known.containers.get(first, UNKNOWN).run)


def _stays(pod: Object, run: Run) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return True
    if run.superseded:
        return False
    policy = pod["spec"]["restartPolicy"]
    return policy == "Never" or (policy == "OnFailure" and run.succeeded)


def _terminated(pod: Object, name: str, run: Run) -> Object:
    reason, message = run.ending()
    ended = run.ended or 0.0
    state: Object = {
        "exitCode": run.code if run.code is not None else 137,
        "reason": reason,
        "startedAt": stamp(run.started or ended),
        "finishedAt": stamp(ended),
        "containerID": container_id(pod, name, run.attempt),
    }
    if message:
        state["message"] = message
    return state


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _conditions(
    pod: Object, known: Pod, phase: str, mains: Sequence[Object], inits: Sequence[Object], now: float
) -> list[Object]:
    spec = pod["spec"]
    before = {found["type"]: found for found in entries(section(pod, "status"), "conditions")}
    kept = [found for kind, found in before.items() if kind not in _OURS]
    ready_gates = [gate["conditionType"] for gate in entries(spec, "readinessGates")]
    containers_ready = _containers_ready(phase, mains, inits, spec)
    wanted = [
        _condition("PodReadyToStartContainers", bool(known.address) and phase not in ("Succeeded", "Failed")),
        _initialized(spec, known, phase, inits),
        _ready(containers_ready, ready_gates, before),
        containers_ready,
        _condition("PodScheduled", holds=True),
    ]
    made: list[Object] = []
    for condition in wanted:
        old = before.get(condition["type"])
        same = old is not None and old.get("status") == condition["status"]
        when = old.get("lastTransitionTime") if same and old is not None else None
        made.append({**condition, "lastProbeTime": None, "lastTransitionTime": when or stamp(now)})
    return kept + made


_OURS = frozenset({"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})


def _condition(kind: str, holds: bool, reason: str = "", message: str = "") -> Object:
    condition: Object = {"type": kind, "status": "True" if holds else "False"}
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition


def _initialized(spec: Object, known: Pod, phase: str, inits: Sequence[Object]) -> Object:
    if phase == "Succeeded":
        return _condition("Initialized", holds=True, reason="PodCompleted")
    if initialized(spec, known):
        return _condition("Initialized", holds=True)
    waiting = [
        status["name"]
        for status, container in zip(inits, entries(spec, "initContainers"), strict=True)
        if not (status["started"] if is_sidecar(container) else status["ready"])
    ]
    message = f"containers with incomplete status: [{' '.join(waiting)}]"
    return _condition("Initialized", holds=False, reason="ContainersNotInitialized", message=message)


def _containers_ready(phase: str, mains: Sequence[Object], inits: Sequence[Object], spec: Object) -> Object:
    if phase == "Succeeded":
        return _condition("ContainersReady", holds=False, reason="PodCompleted")
    if phase == "Failed":
        return _condition("ContainersReady", holds=False, reason="PodFailed")
    sidecars = {found["name"] for found in entries(spec, "initContainers") if is_sidecar(found)}
    watched = [*(status for status in inits if status["name"] in sidecars), *mains]
    unready = [status["name"] for status in watched if not status["ready"]]
    if not unready:
        return _condition("ContainersReady", holds=True)
    message = f"containers with unready status: [{' '.join(unready)}]"
    return _condition("ContainersReady", holds=False, reason="ContainersNotReady", message=message)


def _ready(containers: Object, gates: Sequence[str], before: dict[str, Object]) -> Object:
    if containers["status"] != "True":
        return {**containers, "type": "Ready"}
    missing = [gate for gate in gates if gate not in before]
    closed = [gate for gate in gates if gate in before and before[gate].get("status") != "True"]
    texts = [f'corresponding condition of pod readiness gate "{gate}" does not exist.' for gate in missing]
    texts += [
        f'the status of pod readiness gate "{gate}" is not "True", but {before[gate]["status"]}' for gate in closed
    ]
    if texts:
        return _condition("Ready", holds=False, reason="ReadinessGatesNotReady", message=", ".join(texts))
    return _condition("Ready", holds=True)
