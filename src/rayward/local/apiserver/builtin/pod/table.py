"""How kubectl shows a pod in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age, age_of, meta_of, name_of

Spec = Mapping[str, Any]

_COMPLETED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    line = _Line(spec, status)
    restarts = str(line.restarts)
    if line.restarts and line.restarted:
        restarts = f"{restarts} ({age(line.restarted, now)} ago)"
    addresses = status.get("podIPs") or NO_ITEMS
    return [
        name_of(obj),
        f"{line.ready}/{line.total}",
        _when_deleted(obj, status, line.reason),
        restarts,
        age_of(obj, now),
        (addresses[0].get("ip") if addresses else "") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _readiness_gates(spec, status),
    ]


def row_conditions(obj: Object) -> list[Object]:
    """What a row says of a pod that has ended."""
    phase = (obj.get("status") or NOTHING).get("phase") or ""
    if phase not in _COMPLETED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]}]


def _when_deleted(obj: Object, status: Spec, reason: str) -> str:
    if not meta_of(obj).get("deletionTimestamp"):
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in ("Failed", "Succeeded") else "Terminating"


def _readiness_gates(spec: Spec, status: Spec) -> str:
    gates = spec.get("readinessGates") or NO_ITEMS
    if not gates:
        return "<none>"
    states: dict[str, str] = {}
    for condition in status.get("conditions") or NO_ITEMS:
        states.setdefault(condition.get("type") or "", condition.get("status") or "")
    true = sum(states.get(gate.get("conditionType") or "") == "True" for gate in gates)
    return f"{true}/{len(gates)}"


class _Line:
    """What the containers of a pod add up to."""

    def __init__(self, spec: Spec, status: Spec) -> None:
        self.ready = 0
        self.restarts = 0
        self.restarted: str = ""
        self._before: tuple[int, str] = (0, "")
        init = {container.get("name"): container for container in spec.get("initContainers") or NO_ITEMS}
        self._sidecars = {name for name, c in init.items() if c.get("restartPolicy") == "Always"}
        self.total = len(spec.get("containers") or NO_ITEMS) + len(self._sidecars)
        self.reason = status.get("reason") or status.get("phase") or ""
        conditions = status.get("conditions") or NO_ITEMS
        for condition in conditions:
            if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
                self.reason = "SchedulingGated"
        initializing = self._read_init(status.get("initContainerStatuses") or NO_ITEMS, len(init))
        if not initializing or _is_true(conditions, "Initialized"):
            self._read_regular(status, conditions)

    def _read_init(self, statuses: Any, count: int) -> bool:
        restarts, restarted = 0, ""
        for index, status in enumerate(statuses):
            state, number, last = status.get("state") or NOTHING, status.get("restartCount") or 0, _last_end(status)
            restarts += number
            restarted = max(restarted, last)
            sidecar = status.get("name") in self._sidecars
            if sidecar:
                self.restarts += number
                self.restarted = max(self.restarted, last)
            ended, waiting = state.get("terminated"), (state.get("waiting") or NOTHING).get("reason") or ""
            if ended is not None and not ended.get("exitCode"):
                continue
            if sidecar and status.get("started"):
                self.ready += bool(status.get("ready"))
                continue
            if ended is not None:
                self.reason = f"Init:{_end_of(ended)}"
            elif waiting and waiting != "PodInitializing":
                self.reason = f"Init:{waiting}"
            else:
                self.reason = f"Init:{index}/{count}"
            self._before = self.restarts, self.restarted
            self.restarts, self.restarted = restarts, restarted
            return True
        self._before = self.restarts, self.restarted
        return False

    def _read_regular(self, status: Spec, conditions: Any) -> None:
        self.restarts, self.restarted = self._before
        running, failure = False, ""
        for container in reversed(status.get("containerStatuses") or NO_ITEMS):
            state = container.get("state") or NOTHING
            self.restarts += container.get("restartCount") or 0
            self.restarted = max(self.restarted, _last_end(container))
            ended, waiting = state.get("terminated"), (state.get("waiting") or NOTHING).get("reason") or ""
            if waiting:
                self.reason = waiting
            elif ended is not None:
                self.reason = _end_of(ended)
                if ended.get("exitCode"):
                    failure = self.reason
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and _is_true(conditions, "Ready"):
                self.reason = "Running"
            elif failure:
                self.reason = failure
            elif running:
                self.reason = "NotReady"


def _is_true(conditions: Any, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)


def _last_end(status: Spec) -> str:
    ended: Spec = (status.get("lastState") or NOTHING).get("terminated") or NOTHING
    return ended.get("finishedAt") or ""


def _end_of(ended: Spec) -> str:
    if ended.get("reason"):
        return ended["reason"]
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode') or 0}"
