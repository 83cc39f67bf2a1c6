"""What to do about a deployment: which replica set is the new one, and how large each of them should be. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from rayward.kube.machinery.jsonvalue import Object
from rayward.local.controllers.workloads.common import Event
from rayward.local.controllers.workloads.deployment import (
    DESIRED,
    MOST,
    REVISION,
    DeploymentStatus,
    SeenDeployment,
)
from rayward.local.controllers.workloads.progress import (
    PROGRESSING,
    counted,
    is_complete,
    seconds_left,
    with_condition,
    with_pause,
    with_progress,
)
from rayward.local.controllers.workloads.replicaset import SeenReplicaSet
from rayward.local.controllers.workloads.revisions import mark, new_set, number, revision_of, same_template, set_object


class Change(msgspec.Struct, frozen=True):
    """What a replica set becomes."""

    name: str
    replicas: int
    min_ready_seconds: int
    annotations: dict[str, str]


class Decision(msgspec.Struct, frozen=True):
    """Carried out in this order: a replica set is made, others are changed and deleted, then the status is written."""

    status: DeploymentStatus
    revision: str | None = None
    create: Object | None = None
    change: tuple[Change, ...] = ()
    delete: tuple[SeenReplicaSet, ...] = ()
    events: tuple[Event, ...] = ()
    again_after: float | None = None


class _Set:
    """A replica set while its size is being decided."""

    def __init__(self, seen: SeenReplicaSet) -> None:
        self.seen = seen
        self.replicas = seen.spec.replicas
        self.min_ready_seconds = seen.spec.min_ready_seconds
        self.annotations = dict(seen.metadata.annotations or {})
        self.is_new = False

    @property
    def name(self) -> str:
        return self.seen.metadata.name

    @property
    def age(self) -> tuple[str, str]:
        return self.seen.metadata.creation_timestamp or "", self.name

    @property
    def available(self) -> int:
        return self.seen.status.available_replicas

    @property
    def changed(self) -> bool:
        return not self.is_new and (
            self.replicas != self.seen.spec.replicas
            or self.min_ready_seconds != self.seen.spec.min_ready_seconds
            or self.annotations != (self.seen.metadata.annotations or {})
        )

    def now(self) -> SeenReplicaSet:
        spec = msgspec.structs.replace(self.seen.spec, replicas=self.replicas)
        return msgspec.structs.replace(self.seen, spec=spec)


class _Rollout:
    def __init__(self, owner: SeenDeployment, sets: Sequence[SeenReplicaSet], now: datetime) -> None:
        self.owner = owner
        self.spec = owner.spec
        self.now = now
        self.sets = sorted((_Set(each) for each in sets), key=lambda each: each.age)
        self.new = next((each for each in self.sets if same_template(owner, each.seen)), None)
        self.events: list[Event] = []
        self.delete: list[SeenReplicaSet] = []
        self.revision: str | None = None
        self.status = owner.status

    @property
    def old(self) -> list[_Set]:
        return [each for each in self.sets if each is not self.new]

    def scale(self, chosen: _Set, replicas: int) -> bool:
        """Give a replica set a size; whether it had another."""
        chosen.annotations |= _sizes(self.owner)
        if chosen.replicas == replicas:
            return False
        direction = "up" if replicas > chosen.replicas else "down"
        text = f"Scaled {direction} replica set {chosen.name} from {chosen.replicas} to {replicas}"
        self.events.append(Event("Normal", "ScalingReplicaSet", text))
        chosen.replicas = replicas
        return True

    def find_new(self, *, make: bool) -> None:
        """Find the replica set of the template and give it the next revision, or make it."""
        revision = max((revision_of(each.annotations) for each in self.old), default=0) + 1
        if self.new is not None:
            mark(self.owner, self.new.annotations, revision)
            self.new.min_ready_seconds = self.spec.min_ready_seconds
            if self.status.condition(PROGRESSING) is None:
                self._say("FoundNewReplicaSet", f'Found new replica set "{self.new.name}"')
        elif make:
            self.new = _Set(new_set(self.owner, revision))
            self.new.is_new = True
            self.sets.append(self.new)
            self.scale(self.new, self.room())
            self._say("NewReplicaSetCreated", f'Created new replica set "{self.new.name}"')
        else:
            return
        self.revision = self.new.annotations[REVISION]

    def _say(self, reason: str, text: str) -> None:
        if self.spec.has_deadline:
            self.status = with_condition(self.status, PROGRESSING, "True", reason, text, self.now)

    def room(self) -> int:
        """How large the new replica set may be now."""
        assert self.new is not None
        if not self.spec.rolls:
            return self.spec.replicas
        left = self.spec.replicas + self.spec.surge - sum(each.replicas for each in self.sets)
        return self.new.replicas + min(max(0, left), max(0, self.spec.replicas - self.new.replicas))

    def scale_all(self) -> None:
        """Another number of pods: each replica set gets its share."""
        active = [each for each in self.sets if each.replicas > 0]
        if len(active) <= 1:
            latest = active[0] if active else self.new or (self.sets[-1] if self.sets else None)
            if latest is not None:
                self.scale(latest, self.spec.replicas)
        elif self.new is not None and _is_saturated(self.owner, self.new):
            for each in active:
                if each is not self.new:
                    self.scale(each, 0)
        elif self.spec.rolls:
            self._share_out(active)

    def _share_out(self, active: list[_Set]) -> None:
        most = self.spec.replicas + self.spec.surge if self.spec.replicas > 0 else 0
        missing = most - sum(each.replicas for each in active)
        active.sort(key=lambda each: each.age, reverse=missing > 0)
        active.sort(key=lambda each: each.replicas, reverse=True)
        sizes: list[int] = []
        added = 0
        for each in active:
            part = 0
            if missing not in (0, added):
                part, left = self._fraction(each), missing - added
                part = min(part, left) if missing > 0 else max(part, left)
            added += part
            sizes.append(each.replicas + part)
        if missing:
            sizes[0] = max(0, sizes[0] + missing - added)
        for each, size in zip(active, sizes, strict=True):
            self.scale(each, size)

    def _fraction(self, chosen: _Set) -> int:
        if self.spec.replicas == 0:
            return -chosen.replicas
        before = number(chosen.annotations, MOST) or self.owner.status.replicas
        if before == 0:
            return 0
        # Rounded half away from zero, without a float.
        return (2 * chosen.replicas * (self.spec.replicas + self.spec.surge) + before) // (2 * before) - chosen.replicas

    def roll(self) -> bool:
        """One step of a rolling update; whether anything changed."""
        assert self.new is not None
        if self.new.is_new or self.scale(self.new, min(self.spec.replicas, self.room())):
            return True
        allowed = (
            sum(each.replicas for each in self.sets)
            - (self.spec.replicas - self.spec.unavailable)
            - (self.new.replicas - self.new.available)
        )
        if not any(each.replicas for each in self.old) or allowed <= 0:
            return False
        return self._drop_unhealthy(allowed) + self._drop_available() > 0

    def _drop_unhealthy(self, allowed: int) -> int:
        dropped = 0
        for each in self.old:
            unhealthy = each.replicas - each.available
            fewer = min(allowed - dropped, unhealthy)
            if each.replicas and fewer > 0:
                self.scale(each, each.replicas - fewer)
                dropped += fewer
        return dropped

    def _drop_available(self) -> int:
        spare = sum(each.available for each in self.sets) - (self.spec.replicas - self.spec.unavailable)
        dropped = 0
        for each in self.old:
            fewer = min(each.replicas, spare - dropped)
            if fewer > 0:
                self.scale(each, each.replicas - fewer)
                dropped += fewer
        return dropped

    def recreate(self, *, old_pods: bool) -> None:
        """All old pods go before the first new one comes."""
        going = [self.scale(each, 0) for each in self.old if each.replicas]
        if going or old_pods:
            return
        self.find_new(make=True)
        assert self.new is not None
        if not self.new.is_new:
            self.scale(self.new, self.spec.replicas)

    def clean_up(self) -> None:
        """Delete old replica sets beyond the history that is kept."""
        limit = self.spec.revision_history_limit
        old = [each for each in self.old if not each.seen.deleting]
        if limit is None or len(old) <= limit:
            return
        old.sort(key=lambda each: (revision_of(each.annotations), each.age))
        for each in old[: len(old) - limit]:
            seen = each.seen
            settled = seen.metadata.generation <= seen.status.observed_generation
            if settled and not seen.status.replicas and not seen.spec.replicas and not each.replicas:
                self.delete.append(seen)


def decide(
    owner: SeenDeployment, sets: Sequence[SeenReplicaSet], now: datetime, busy: Collection[str] = ()
) -> Decision:
    """What to do about a deployment, given its replica sets; ``busy`` are the names of those that have pods left."""
    rollout = _Rollout(owner, sets, now)
    if owner.deleting:
        return Decision(_counted(rollout))
    rollout.status = with_pause(owner, rollout.status, now)
    scaled = any(
        each.replicas and (desired := number(each.annotations, DESIRED)) is not None and desired != owner.spec.replicas
        for each in rollout.sets
    )
    if owner.spec.paused or scaled:
        rollout.find_new(make=False)
        rollout.scale_all()
        status = _counted(rollout)
        if owner.spec.paused and is_complete(owner, status):
            rollout.clean_up()
        return _decision(rollout, status)
    moved = False
    if owner.spec.rolls:
        rollout.find_new(make=True)
        moved = rollout.roll()
    else:
        rollout.find_new(make=False)
        old_pods = any(each.name in busy or each.seen.status.replicas for each in rollout.old)
        rollout.recreate(old_pods=old_pods)
    status = _counted(rollout)
    if not moved and is_complete(owner, status):
        rollout.clean_up()
    present = [each.now() for each in rollout.sets if not each.is_new]
    return _decision(rollout, with_progress(owner, status, present, _new_of(rollout), now))


def _new_of(rollout: _Rollout) -> SeenReplicaSet | None:
    return rollout.new.now() if rollout.new is not None else None


def _counted(rollout: _Rollout) -> DeploymentStatus:
    owner = msgspec.structs.replace(rollout.owner, status=rollout.status)
    return counted(owner, [each.now() for each in rollout.sets], _new_of(rollout), rollout.now)


def _decision(rollout: _Rollout, status: DeploymentStatus) -> Decision:
    new = rollout.new
    left = seconds_left(rollout.owner, status, rollout.now)
    return Decision(
        status,
        rollout.revision,
        set_object(rollout.owner, new.seen, new.replicas, new.annotations) if new is not None and new.is_new else None,
        tuple(
            Change(each.name, each.replicas, each.min_ready_seconds, each.annotations)
            for each in rollout.sets
            if each.changed
        ),
        tuple(rollout.delete),
        tuple(rollout.events),
        left + 1 if left else None,
    )


def _sizes(owner: SeenDeployment) -> dict[str, str]:
    return {DESIRED: str(owner.spec.replicas), MOST: str(owner.spec.replicas + owner.spec.surge)}


def _is_saturated(owner: SeenDeployment, new: _Set) -> bool:
    wanted = owner.spec.replicas
    return number(new.annotations, DESIRED) == new.replicas == new.available == wanted
