"""What to do next for a pod."""

from __future__ import annotations

import msgspec

from rayward.kube.machinery.jsonvalue import Object, entries
from rayward.local.node.pod import backoff
from rayward.local.node.pod.facts import UNKNOWN, Container, Pod, Run, is_sidecar


class Step(msgspec.Struct, frozen=True):
    """Containers to start and to stop now, and when to look again if nothing happens."""

    start: tuple[str, ...] = ()
    stop: tuple[tuple[str, str], ...] = ()
    """Names, and why."""
    look_again: float | None = None
    over: bool = False
    """Whether no container of the pod will ever run again, and none does."""


class _Plan:
    def __init__(self, now: float) -> None:
        self.now = now
        self.start: list[str] = []
        self.stop: list[tuple[str, str]] = []
        self.look_again: float | None = None

    def begin(self, container: Object, known: Container) -> None:
        due = backoff.wait_until(known.run, known.backoff)
        fresh = known.run is not None and known.run.is_of_other_image(container)
        if due is not None and due > self.now and not fresh:
            self.wake(due)
        else:
            self.start.append(container["name"])

    def wake(self, when: float) -> None:
        self.look_again = when if self.look_again is None else min(when, self.look_again)

    def end(self, name: str, known: Container, why: str) -> None:
        if known.alive and not known.stopping:
            self.stop.append((name, why))

    def step(self, *, over: bool = False) -> Step:
        return Step(tuple(self.start), tuple(self.stop), self.look_again, over)


def decide(pod: Object, known: Pod, now: float) -> Step:
    """The next step of a pod's life."""
    spec = pod["spec"]
    plan = _Plan(now)
    if pod["metadata"].get("deletionTimestamp") or known.ended:
        return _end(spec, known, plan, "")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and known.begun:
        plan.wake(known.begun + deadline)
    if is_finished(spec, known):
        return _end(spec, known, plan, "")
    for container in (*entries(spec, "initContainers"), *spec["containers"]):
        found = known.containers.get(container["name"], UNKNOWN)
        if why := found.condemned or _replacement(spec, container, found):
            plan.end(container["name"], found, why)
    if not known.address:
        return plan.step()
    if _initialize(spec, known, plan):
        for container in spec["containers"]:
            found = known.containers.get(container["name"], UNKNOWN)
            if not found.alive and _restarts(spec["restartPolicy"], found.run):
                plan.begin(container, found)
    return plan.step()


def deadline_passed(pod: Object, known: Pod, now: float) -> bool:
    """Whether the pod has been active for longer than it may."""
    deadline = pod["spec"].get("activeDeadlineSeconds")
    return deadline is not None and bool(known.begun) and now >= known.begun + deadline


def initialized(spec: Object, known: Pod) -> bool:
    """Whether all init containers have done their part in this sandbox."""
    for container in entries(spec, "initContainers"):
        found = known.containers.get(container["name"], UNKNOWN)
        if is_sidecar(container):
            if not _is_up(container, found) and not _main_began(spec, known):
                return False
        elif not (found.run is not None and found.run.succeeded and not found.run.stale):
            return False
    return True


def is_finished(spec: Object, known: Pod) -> bool:
    """Whether every container has ended for good, sidecars aside."""
    policy = spec["restartPolicy"]
    if policy == "Always":
        return False
    if init_failed(spec, known):
        return True
    runs = [known.containers.get(container["name"], UNKNOWN).run for container in spec["containers"]]
    return all(run is not None and run.over and not _restarts(policy, run) for run in runs)


def init_failed(spec: Object, known: Pod) -> bool:
    """Whether an init container failed in a pod that restarts none."""
    if spec["restartPolicy"] != "Never":
        return False
    for container in entries(spec, "initContainers"):
        run = known.containers.get(container["name"], UNKNOWN).run
        if not is_sidecar(container) and run is not None and run.over and not run.succeeded:
            return True
    return False


def _initialize(spec: Object, known: Pod, plan: _Plan) -> bool:
    began = _main_began(spec, known)
    for container in entries(spec, "initContainers"):
        name = container["name"]
        found = known.containers.get(name, UNKNOWN)
        if is_sidecar(container):
            if not found.alive:
                plan.begin(container, found)
            if not began and not _is_up(container, found):
                return False
            continue
        if began or (found.run is not None and found.run.succeeded and not found.run.stale):
            continue
        if not found.alive:
            plan.begin(container, found)
        return False
    return True


def _main_began(spec: Object, known: Pod) -> bool:
    for container in spec["containers"]:
        run = known.containers.get(container["name"], UNKNOWN).run
        if run is not None and not run.stale:
            return True
    return False


def _is_up(container: Object, found: Container) -> bool:
    return found.running and found.greeted and (container.get("startupProbe") is None or found.startup is True)


def _restarts(policy: str, run: Run | None) -> bool:
    if run is None or run.superseded:
        return True
    if policy == "Always":
        return True
    return policy == "OnFailure" and run.code != 0


def _replacement(spec: Object, container: Object, found: Container) -> str:
    """Why a container that runs must make way for itself from another image."""
    plain_init = container in entries(spec, "initContainers") and not is_sidecar(container)
    if plain_init or found.run is None or not found.run.is_of_other_image(container):
        return ""
    return f"Container {container['name']} definition changed, will be restarted"


def _end(spec: Object, known: Pod, plan: _Plan, why: str) -> Step:
    # Sidecars serve the others to the last: they go when these are gone, the last one first.
    alive = False
    for container in spec["containers"]:
        found = known.containers.get(container["name"], UNKNOWN)
        alive = alive or found.alive
        plan.end(container["name"], found, why)
    for container in reversed(entries(spec, "initContainers")):
        found = known.containers.get(container["name"], UNKNOWN)
        if alive:
            break
        alive = found.alive
        plan.end(container["name"], found, why)
    return plan.step(over=not alive)
