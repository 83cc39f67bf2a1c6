"""What to do about a stateful set: which pod to make, replace or delete next, and what to report. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from rayward.local.controllers.pods import SeenPod
from rayward.local.controllers.workloads.common import available_in
from rayward.local.controllers.workloads.statefulset import (
    REVISION_LABEL,
    SeenRevision,
    SeenStatefulSet,
    StatefulSetSpec,
    StatefulSetStatus,
    ordinal,
    revision_data,
)


class Make(msgspec.Struct, frozen=True):
    """A pod to make, by its number and the name of its revision."""

    number: int
    revision: str


class Decision(msgspec.Struct, frozen=True):
    """Pods to make and to delete, and the status of what was there before."""

    status: StatefulSetStatus
    make: tuple[Make, ...] = ()
    delete: tuple[SeenPod, ...] = ()
    again_after: float | None = None


class Revisions(msgspec.Struct, frozen=True):
    """The template that pods had, and the one they are to have."""

    current: SeenRevision
    update: SeenRevision


class Wanted(msgspec.Struct, frozen=True):
    """What must be written before pods are decided: a new revision, or a higher number for one that was there."""

    number: int
    again: SeenRevision | None = None


def find_revisions(owner: SeenStatefulSet, known: Sequence[SeenRevision]) -> Revisions | Wanted:
    """The revisions of a stateful set, or what is missing for them."""
    ordered = sorted(known, key=lambda each: (each.revision, each.metadata.creation_timestamp or "", each.key))
    following = ordered[-1].revision + 1 if ordered else 1
    wanted = revision_data(owner)
    same = [each for each in ordered if each.data == wanted]
    if not same:
        return Wanted(following)
    if same[-1] is not ordered[-1]:
        return Wanted(following, same[-1])
    update = same[-1]
    current = next((each for each in ordered if each.metadata.name == owner.status.current_revision), update)
    return Revisions(current, update)


def superfluous(
    owner: SeenStatefulSet, known: Sequence[SeenRevision], revisions: Revisions, pods: Sequence[SeenPod]
) -> list[SeenRevision]:
    """Revisions that no pod has or is to have, beyond the history that is kept; oldest first."""
    live = {_revision(pod) for pod in pods} | {revisions.current.metadata.name, revisions.update.metadata.name}
    history = sorted((each for each in known if each.metadata.name not in live), key=lambda each: each.revision)
    return history[: max(0, len(history) - owner.spec.revision_history_limit)]


def _revision(pod: SeenPod) -> str:
    return pod.metadata.label(REVISION_LABEL)


def _runs(pod: SeenPod) -> bool:
    return pod.status.phase == "Running" and pod.ready


def _is_healthy(pod: SeenPod) -> bool:
    return _runs(pod) and not pod.deleting


class _Order:
    """One look at the pods, in order."""

    def __init__(self, owner: SeenStatefulSet, pods: Sequence[SeenPod], revisions: Revisions, now: datetime) -> None:
        self.owner = owner
        self.spec: StatefulSetSpec = owner.spec
        self.revisions = revisions
        self.numbered: Mapping[int, SeenPod] = {
            number: pod for pod in pods if (number := ordinal(owner, pod)) is not None
        }
        self.waits = {
            number: available_in(pod, owner.spec.min_ready_seconds, now) for number, pod in self.numbered.items()
        }
        self.make: list[Make] = []
        self.delete: list[SeenPod] = []

    @property
    def wanted(self) -> range:
        return range(self.spec.start, self.spec.start + self.spec.replicas)

    def is_available(self, number: int) -> bool:
        return _runs(self.numbered[number]) and self.waits[number] == 0

    def keep(self) -> bool:
        """Make what is missing and replace what has ended; whether to stop here."""
        stop = False
        for number in self.wanted:
            if self._keep_one(number):
                stop = True
                if self.spec.in_order:
                    return True
        return stop

    def _keep_one(self, number: int) -> bool:
        pod, in_order = self.numbered.get(number), self.spec.in_order
        if pod is None:
            old = number < self.spec.start + self.spec.partition
            chosen = self.revisions.current if old else self.revisions.update
            self.make.append(Make(number, chosen.metadata.name))
            return in_order
        if pod.over:
            if not pod.deleting:
                self.delete.append(pod)
            return True
        return in_order and (pod.deleting or not self.is_available(number))

    def give_up(self) -> bool:
        """Delete pods beyond those that are wanted, the last first; whether to stop here."""
        unhealthy = [number for number, pod in sorted(self.numbered.items()) if not _is_healthy(pod)]
        stop = False
        for number in sorted(self.numbered.keys() - set(self.wanted), reverse=True):
            pod = self.numbered[number]
            if pod.deleting:
                stop = self.spec.in_order
            elif self.spec.in_order and not self.is_available(number) and number not in unhealthy[:1]:
                stop = True
            else:
                self.delete.append(pod)
                stop = self.spec.in_order
            if stop:
                return True
        return stop

    def update(self) -> None:
        """Delete the last pod that has another template, once those after it are healthy."""
        for number in reversed(self.wanted[self.spec.partition :]):
            pod = self.numbered.get(number)
            if pod is None:
                return
            if _revision(pod) != self.revisions.update.metadata.name and not pod.deleting:
                self.delete.append(pod)
                return
            if not _is_healthy(pod) or not self.is_available(number):
                return

    def status(self) -> StatefulSetStatus:
        current, update = self.revisions.current.metadata.name, self.revisions.update.metadata.name
        pods = [pod for pod in self.numbered.values() if pod.status.phase]
        # One that is about to go is no longer counted for its revision.
        staying = [_revision(pod) for pod in pods if not pod.deleting and pod not in self.delete]
        staying += [each.revision for each in self.make]
        status = StatefulSetStatus(
            observed_generation=self.owner.metadata.generation,
            replicas=len(pods) + len(self.make),
            ready_replicas=sum(_runs(pod) for pod in pods),
            available_replicas=sum(self.is_available(number) for number in self.numbered),
            current_replicas=staying.count(current),
            updated_replicas=staying.count(update),
            current_revision=current,
            update_revision=update,
            collision_count=self.owner.status.collision_count or 0,
        )
        if self.spec.rolls and status.updated_replicas == status.replicas == status.ready_replicas:
            return msgspec.structs.replace(status, current_replicas=status.updated_replicas, current_revision=update)
        return status


def decide(owner: SeenStatefulSet, pods: Sequence[SeenPod], revisions: Revisions, now: datetime) -> Decision:
    """What to do about a stateful set, given the pods that are its own."""
    order = _Order(owner, pods, revisions, now)
    if not owner.deleting and not order.keep() and not order.give_up() and owner.spec.rolls:
        order.update()
    waits = (wait for wait in order.waits.values() if wait)
    return Decision(order.status(), tuple(order.make), tuple(order.delete), min(waits, default=None))
