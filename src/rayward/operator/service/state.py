"""The values that decisions about a RayService read and return; all of them frozen.

``State`` is what was observed, reduced to what matters. ``Decision`` is everything that is to be done about it: nothing
is done that is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from rayward.kinds.effects import Code, ReleaseChange
from rayward.kube.core.objects import Condition
from rayward.operator.service.serveconfig import Surges, UserConfig, deploy_key

RUNNING: Final = "RUNNING"
DEPLOYING: Final = "DEPLOYING"
DEPLOY_FAILED: Final = "DEPLOY_FAILED"
UNHEALTHY: Final = "UNHEALTHY"
NOT_STARTED: Final = "NOT_STARTED"

DESERTION: Final = timedelta(seconds=10)
"""How long an application may have no replica before the service is not ready: replacing the only one takes seconds,
and requests wait meanwhile."""
ABORTED: Final = "Aborted"
"""The reason of an upgrade that the user gave up."""


@dataclass(frozen=True, slots=True)
class Application:
    """One Serve application, as Ray reports it."""

    name: str
    status: str
    message: str = ""
    silent: bool = False
    """It is unwell, and one of its deployments has no replica left."""
    deserted: bool = False
    """One of its deployments has no replica that is up, whether one is on its way or not."""
    unscheduled: str = ""
    """Why no Ray node has room for a replica of it while it has none."""
    reconfiguring: bool = False
    """One of its deployments has no replica that is up, and waits for ``reconfigure`` to return."""
    deployed_at: datetime | None = None
    """When Ray was last given it."""


@dataclass(frozen=True, slots=True)
class ServeState:
    """What a cluster's Serve last answered."""

    config: str
    """The hash of the config that Serve works towards; empty while it has none."""
    applications: tuple[Application, ...] = ()
    refusal: str = ""
    """Why Ray rejected the config as a whole."""


@dataclass(frozen=True, slots=True)
class ServePod:
    """A head or a worker, as far as it may take requests."""

    name: str
    uid: str = ""
    label: str = ""
    """By which the serve Services select it, as it is now."""
    is_head: bool = False
    leads: bool | None = None
    """Whether its Serve proxy leads to the applications; None where that is not known."""


@dataclass(frozen=True, slots=True)
class ChildCluster:
    """One RayCluster of the service.

    What has to outlive the operator is read from annotations of the RayCluster: its config, whether it ever took
    traffic, when it may be deleted, when it last made progress.
    """

    name: str
    cluster_hash: str
    config: str
    """The hash of the Serve config that this cluster is to run."""
    service: str = ""
    """The RayService's name."""
    good_config: str = ""
    """The hash of the last config whose applications were all RUNNING here."""
    created: datetime | None = None
    released: datetime | None = None
    """Since when it may run: when it was created, or last resumed; None while it is suspended."""
    deleting: bool = False
    promoted: bool = False
    """Traffic went to it once, or was about to."""
    delete_at: datetime | None = None
    progress: str = ""
    progressed_at: datetime | None = None
    suspended: bool = False
    """It waits for somebody: for who suspended it, or for quota."""
    quota: Condition | None = None
    """Its condition QuotaReserved; None where it is in no queue."""
    head_ready: bool = False
    ready_pods: int = 0
    problem: str = ""
    """Why its pods do not run, in one line."""
    failing: str = ""
    """The same, of a pod that will not run by itself; empty where pods only start."""
    endpoints: int = 0
    """Ready addresses behind its own serve Service."""
    unrouted: tuple[str, ...] = ()
    """Pods among them whose Serve proxy does not lead to the applications yet."""
    pods: tuple[ServePod, ...] = ()
    """Those that are not being deleted."""
    in_flight: bool = False
    """The proxy has requests in flight to its pods, or may still send some."""
    serve: ServeState | None = None
    deployed: str = ""
    """The key under which its dashboard was last sent a config."""
    refreshed: str = ""
    """The ``restartedAt`` for which its config was last sent again."""
    unreachable: str = ""
    """Why its dashboard could not be read last time."""
    rolling_since: datetime | None = None
    """When the replacement of its workers one by one last made progress; None while none is going on."""
    resizing: bool = False
    """An edit changed the sizes of its worker groups, and its pods are not yet as many."""
    missing: str = ""
    """Which of the workers that it asks for do not run; empty where all do."""
    deserted_since: datetime | None = None
    """Since when an application of it has had no replica that is up."""
    unhealthy_since: datetime | None = None
    remedies: int = 0
    """How often self-healing acted: first a redeployment, then replacements. A replacement carries the count on."""
    applications: frozenset[str] = field(default_factory=frozenset[str])
    """The names of the applications in its config."""
    served: frozenset[str] | None = None
    """Those of the config that last ran; None where none did."""
    code: Code = frozenset()
    """What is behind the routes of the config that last ran; where none did, of the one that it is to run."""
    started_in: timedelta | None = None
    """How long its first config took, from when Ray had it until all applications were RUNNING."""
    user_configs: frozenset[UserConfig] = field(default_factory=frozenset[UserConfig])
    """Of the config that last ran."""
    surges: Mapping[str, Surges] = field(default_factory=dict[str, Surges])
    """By the hash of a config, what is sent with it so that a new ``user_config`` starts another replica."""
    lone: frozenset[tuple[str, str]] = field(default_factory=frozenset[tuple[str, str]])
    """Application and deployment of those that have one replica, and of which Ray can start another one first."""
    crowded_out: frozenset[tuple[str, str]] = field(default_factory=frozenset[tuple[str, str]])
    """Those of which a replica finds no node with room."""


@dataclass(frozen=True, slots=True)
class Release:
    """What belongs together: a cluster spec and the Serve config made for it, by their hashes."""

    cluster_hash: str
    config: str
    code: Code = frozenset()
    """The code of that config."""
    user_configs: frozenset[UserConfig] = field(default_factory=frozenset[UserConfig])


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a generation of the spec was rejected or given up; the message is one line."""

    reason: str
    message: str
    detail: str = ""
    """The whole traceback, where there is one."""


@dataclass(frozen=True, slots=True)
class Healing:
    """``deploymentUnhealthySecondThreshold`` and ``deploymentUnhealthyRestartThreshold``; None switches it off."""

    unhealthy_after: timedelta | None = None
    new_clusters: int = 0


@dataclass(frozen=True, slots=True)
class Policy:
    """How the service may change, as its spec and annotations say."""

    in_place_only: bool = False
    """Upgrade strategy None: a changed cluster spec waits."""
    rolls_workers: bool = False
    """With upgrade strategy None a change of workers alone replaces them one by one."""
    new_cluster_for_config: bool = False
    """An edit of the Serve config alone makes a new cluster too, and is not sent to the one that serves."""
    code_in_place: bool = False
    """So does one that replaces the code of an application, unless this is set."""
    reconfigures: bool = False
    """A new ``user_config`` goes to the replica that serves, also where it is the only one."""
    deletion_delay: timedelta = timedelta(seconds=60)
    progress_deadline: timedelta = timedelta(minutes=30)
    drain_timeout: timedelta = timedelta(minutes=10)
    initializing_timeout: timedelta | None = None
    scheduling_timeout: timedelta = timedelta(seconds=10)
    """How long a config given in place may leave an application without a replica that fits on a node."""
    start_timeout: timedelta | None = None
    """How long after that it may leave an application without a replica that has started; None where what the
    cluster's first config took tells."""
    wait_for_workers: bool = True
    """An upgrade switches when all workers that the new cluster asks for run."""
    paused: bool = False
    stopped: bool = False
    """Kueue's own integration has stopped the whole service: nothing runs, and nothing is replaced, until it may."""
    promote: str = ""
    abort: str = ""
    restarted_at: str = ""
    """Another value has each config sent again."""
    excludes_heads: bool = False
    """Heads take no requests."""
    healing: Healing = field(default_factory=Healing)


@dataclass(frozen=True, slots=True)
class State:
    """A service and its clusters."""

    desired: Release | None
    """None while the spec is rejected: what runs goes on."""
    policy: Policy
    clusters: Sequence[ChildCluster]
    serving: str = ""
    """The cluster that the serve Service selects: the one truth about traffic."""
    failure: Failure | None = None
    """Why this very generation was given up; it is not tried again until the spec changes."""
    change: ReleaseChange | None = None
    """What the desired cluster spec asks of the cluster that serves; None without either."""
    serve_service: str = ""
    """The name of the serve Service, as the spec has it."""
    serve_services: tuple[str, ...] = ()
    """The serve Services that exist and are not being deleted; of another name after it was changed."""


class Stage(Enum):
    """How far a cluster is."""

    WAITING = "Waiting"
    READY = "Ready"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Readiness:
    """A stage, its reason in a condition, and its message."""

    stage: Stage
    reason: str
    message: str
    detail: str = ""
    """The whole traceback, where there is one."""


@dataclass(frozen=True, slots=True)
class AnnotationChange:
    """What to remember on a cluster; None and False leave a value as it is."""

    cluster: str
    config: str | None = None
    good_config: str | None = None
    promoted: bool = False
    delete_at: datetime | None = None
    keep: bool = False
    """Cancel a planned deletion."""
    progress: str | None = None
    unhealthy_since: datetime | None = None
    healthy: bool = False
    """Clear ``unhealthy_since``."""
    remedies: int | None = None
    deserted_since: datetime | None = None
    answered: bool = False
    """Clear ``deserted_since``."""
    started_in: timedelta | None = None
    surges: Mapping[str, Surges] | None = None


@dataclass(frozen=True, slots=True)
class ServeConfigTarget:
    """Which config the Serve of a cluster is to run.

    It is sent where Serve does not have it, and anew for every ``redeployment``. A config is recorded on the cluster by
    one decision and sent by the next, so that another operator knows what this one may have sent.
    """

    cluster: str
    config: str
    redeployment: int = 0
    refresh: str = ""
    """The ``restartedAt`` for which it is sent."""
    anew: bool = False
    """That one changed since the config was last sent, be it while no operator was there."""
    surges: Surges = frozenset()
    """The deployments whose replicas are of another version than the config says."""

    @property
    def key(self) -> str:
        """Names this sending."""
        return deploy_key(self.config, self.redeployment, self.refresh, self.surges)


@dataclass(frozen=True, slots=True)
class PodLabel:
    """What the serve label of a pod becomes."""

    pod: str
    uid: str
    label: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do; ``apply`` says in which order."""

    active: ChildCluster | None = None
    pending: ChildCluster | None = None
    annotate: tuple[AnnotationChange, ...] = ()
    create: Release | None = None
    remedies: int = 0
    """Not zero where the created cluster replaces an unhealthy one: it is a copy of the active cluster, and carries
    this count."""
    traffic: Mapping[str, int] = field(default_factory=dict[str, int])
    """The weight of each cluster, of 100; empty while none serves."""
    pod_labels: tuple[PodLabel, ...] = ()
    """The pods that begin or cease to take requests."""
    cluster_services: tuple[str, ...] = ()
    """The clusters that are to have a serve Service of their own."""
    delete_services: tuple[str, ...] = ()
    """Serve Services of a former name, once the one of today's exists."""
    delete: tuple[str, ...] = ()
    serve_configs: tuple[ServeConfigTarget, ...] = ()
    """The dashboards to poll, and what each is sent; no other cluster is sent anything."""
    refreshed: tuple[str, ...] = ()
    """The clusters whose config was sent for this ``restartedAt``, which is to be recorded."""
    scale: str = ""
    """The cluster whose group sizes follow the spec."""
    roll: str = ""
    """The cluster whose workers get the templates of the spec, to be replaced one by one."""
    suspend: tuple[str, ...] = ()
    """The clusters that follow ``rayClusterConfig.suspend``."""
    clear_annotations: tuple[str, ...] = ()
    """Annotations of the RayService that were acted upon and are to be removed."""
    redeploy: str = ""
    """The cluster whose applications are redeployed though their config is the same."""
    failure: Failure | None = None
    readiness: Readiness | None = None
    """Of the pending cluster, else of the active one."""
    drifted: bool = False
    """The spec asks for another cluster, and the upgrade strategy keeps the one that serves."""
    exhausted: bool = False
    """Self-healing acted as often as it may."""
    requeue_at: datetime | None = None

    @property
    def switch_to(self) -> str:
        """The cluster that traffic moves to; empty where it stays."""
        before = self.active.name if self.active is not None else ""
        return next((name for name, weight in self.traffic.items() if weight and name != before), "")

    @property
    def settled(self) -> bool:
        """No other cluster is being made or waited for."""
        return self.active is not None and self.pending is None and self.create is None
