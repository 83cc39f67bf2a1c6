"""A simulated deployment: what Serve's controller does with it in each round of its loop."""

from __future__ import annotations

from typing import Any

from tests.operator.ray.behaviour import Behaviour, Timings

STARTING, RUNNING, UPDATING, STOPPING = "STARTING", "RUNNING", "UPDATING", "STOPPING"
_TRIES = 3


class Replica:
    def __init__(self, number: int, code: Behaviour, limit: int | None, settings: Any, now: float) -> None:
        self.number = number
        self.code = code
        self.limit = limit
        """How many may be on a node when it was started: another limit is another version."""
        self.settings = settings
        self.state = STARTING
        self.since = now
        self.stops_in = 0.0

    @property
    def hangs(self) -> bool:
        """Whether its constructor, or the first ``reconfigure``, does not return."""
        return self.code.hangs or bool((self.settings or {}).get("hangs"))

    def to(self, state: str, now: float) -> None:
        self.state, self.since = state, now

    def stop(self, now: float, seconds: float) -> None:
        self.to(STOPPING, now)
        self.stops_in = seconds


class Deployment:
    """Replicas on their way to a target."""

    def __init__(self, app: str, code: Behaviour, replicas: int, settings: Any, cpus: float, timings: Timings) -> None:
        self.app = app
        self.name = code.deployment
        self.code = code
        self.target = replicas
        self.settings = settings
        self.limit: int | None = None
        self.surge = False
        """Whether replicas of another version start before those of the former end."""
        self.status = "UPDATING"
        self.trigger = "CONFIG_UPDATE_STARTED"
        self.message = ""
        self.replicas: list[Replica] = []
        self.dead: list[Replica] = []
        self.deleting = False
        self._cpus = cpus
        self._timings = timings
        self._failures = 0
        self._numbers = 0

    def aim(
        self, code: Behaviour, replicas: int, settings: Any, limit: int | None = None, *, surge: bool = False
    ) -> None:
        """Take a new target; an equal one changes nothing, not even a failure."""
        self.surge = surge
        wanted = code, replicas, settings, limit
        if not self.deleting and wanted == (self.code, self.target, self.settings, self.limit):
            return
        self.limit = limit
        self.status, self.trigger, self.message = "UPDATING", "CONFIG_UPDATE_STARTED", ""
        if self.deleting:
            self.deleting, self.trigger = False, "DELETING"
        self.code, self.target, self.settings = code, replicas, settings
        self._failures = 0

    def delete(self, now: float) -> None:
        self.deleting = True
        for replica in self._in(STARTING, RUNNING, UPDATING):
            self._stop(replica, now)

    def round(self, now: float) -> None:
        self._bury(now)
        if self.deleting:
            return
        if self.status != "DEPLOY_FAILED":
            self._start(now)
            self._check_health(now)
        if self.status != "DEPLOY_FAILED":
            self._reconcile(now)
        self._judge()

    def words(self) -> list[str]:
        """What the replicas that take requests answer."""
        return [
            (replica.settings or {}).get("word", replica.code.word)
            for replica in self.replicas
            if replica.state == RUNNING
        ]

    def _in(self, *states: str) -> list[Replica]:
        return [replica for replica in self.replicas if replica.state in states]

    def _bury(self, now: float) -> None:
        for replica in self._in(STOPPING):
            if now - replica.since >= replica.stops_in:
                self.replicas.remove(replica)
                self.dead.append(replica)

    def _start(self, now: float) -> None:
        for replica in self._in(STARTING):
            if replica.hangs or not self._has_room(replica):
                if now - replica.since > self._timings.slow_startup:
                    self.message = self._complaint(replica)
            elif now - replica.since >= replica.code.start_seconds:
                if replica.code.constructor_error:
                    self._fail(replica, now)
                else:
                    replica.to(RUNNING, now)

    def _fail(self, replica: Replica, now: float) -> None:
        replica.stop(now, 0.1)
        self._failures += 1
        limit = _TRIES * self.target
        traceback = f"Error:\nTraceback (most recent call last):\n{replica.code.constructor_error}"
        if self._failures < limit:
            left = limit - self._failures
            self.message = f"A replica failed to start with exception. Retrying {left} more time(s). {traceback}"
            return
        self.status, self.trigger = "DEPLOY_FAILED", "REPLICA_STARTUP_FAILED"
        self.message = (
            f"The deployment failed to start {limit} times in a row. This may be due to a problem with its constructor"
            f" or initial health check failing. See controller logs for details. {traceback}"
        )

    def _complaint(self, replica: Replica) -> str:
        seconds = f"{self._timings.slow_startup:.0f}s"
        slow = (
            f"Deployment '{self.name}' in application '{self.app}' has 1 replicas that have taken more than {seconds}"
        )
        if replica.hangs:
            return f"{slow} to initialize.\nThis may be caused by a slow __init__ or reconfigure method."
        return (
            f"{slow} to be scheduled. This may be due to waiting for the cluster to auto-scale or for a runtime"
            f' environment to be installed. Resources required for each replica: {{"CPU": {replica.code.cpus:.0f}}},'
            f' total resources available: {{"CPU": {self._cpus}}}. Use `ray status` for more details.'
        )

    def _check_health(self, now: float) -> None:
        for replica in self._in(RUNNING):
            if replica.code.sick_after is not None and now - replica.since >= replica.code.sick_after:
                self._stop(replica, now)
                self.status, self.trigger = "UNHEALTHY", "HEALTH_CHECK_FAILED"
                self.message = (
                    "A replica's health check failed. This deployment will be UNHEALTHY until the replica recovers or a"
                    " new deploy happens."
                )

    def _reconcile(self, now: float) -> None:
        # One that does not return from reconfigure is never ended.
        outdated = [replica for replica in self._in(RUNNING) if not self._is_of_version(replica)]
        for replica in [replica for replica in self._in(STARTING) if not self._is_of_version(replica)]:
            self._stop(replica, now)
        if outdated and self.surge:
            self._start_first(outdated, now)
            return
        if outdated and not self._in(STARTING):
            self._stop(outdated[0], now)
        alive = self._in(STARTING, RUNNING, UPDATING)
        for _ in range(self.target - len(alive)):
            self._add(now)
        for replica in alive[self.target :]:
            self._stop(replica, now)
        if not self._in(STOPPING):
            self._reconfigure(now)

    def _start_first(self, outdated: list[Replica], now: float) -> None:
        """Replicas of the new version, and an end to the former ones as they come up."""
        fresh = [replica for replica in self._in(STARTING, RUNNING, UPDATING) if self._is_of_version(replica)]
        for _ in range(self.target - len(fresh)):
            self._add(now)
        for replica in outdated[: len(self._in(RUNNING)) - self.target]:
            self._stop(replica, now)

    def _add(self, now: float) -> None:
        self._numbers += 1
        self.replicas.append(Replica(self._numbers, self.code, self.limit, self.settings, now))

    def _is_of_version(self, replica: Replica) -> bool:
        return (replica.code, replica.limit) == (self.code, self.limit)

    def _has_room(self, replica: Replica) -> bool:
        beside = sum(other.code.cpus for other in self._in(RUNNING, UPDATING)) if self.surge else 0.0
        return replica.code.cpus + beside <= self._cpus

    def _reconfigure(self, now: float) -> None:
        for replica in self._in(UPDATING):
            if not (replica.settings or {}).get("hangs"):
                replica.to(RUNNING, replica.since)
        for replica in self._in(RUNNING):
            if self._is_of_version(replica) and replica.settings != self.settings:
                replica.settings = self.settings
                replica.to(UPDATING, replica.since)

    def _judge(self) -> None:
        if self.status in ("HEALTHY", "DEPLOY_FAILED") or len(self.replicas) != self.target:
            return
        if all(replica.state == RUNNING and self._is_of_version(replica) for replica in self.replicas):
            self.trigger = "CONFIG_UPDATE_COMPLETED" if self.status == "UPDATING" else "UNSPECIFIED"
            self.status, self.message = "HEALTHY", ""
            self._failures = 0

    def _stop(self, replica: Replica, now: float) -> None:
        never_up = replica.state == STARTING and (replica.hangs or replica.code.cpus > self._cpus)
        replica.stop(now, self._timings.graceful_shutdown if never_up else replica.code.stop_seconds)
