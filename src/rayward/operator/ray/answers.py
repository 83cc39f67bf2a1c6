"""What Ray answers, as far as an operator reads it. Names and values are Ray's; what it adds later is passed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

RUNNING: Final = "RUNNING"
DELETING: Final = "DELETING"
DEPLOY_FAILED: Final = "DEPLOY_FAILED"
UNHEALTHY: Final = "UNHEALTHY"
NOT_STARTED: Final = "NOT_STARTED"

_SETTLED: Final = frozenset({RUNNING, DEPLOY_FAILED})
_UNWELL: Final = frozenset({UNHEALTHY, DEPLOY_FAILED})
_UPDATING: Final = "UPDATING"
_NOT_UP: Final = frozenset({"STARTING", _UPDATING, "STOPPING"})
"""Ray routes to RUNNING and PENDING_MIGRATION, and leaves routes as they are while a replica is RECOVERING."""


class _Answer(msgspec.Struct, frozen=True):
    """What Ray answers; fields that nobody reads may come and go."""


def _sum(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0.0) + amount
    return total


class Version(_Answer, frozen=True):
    """Which Ray it is; the session tells one cluster from another on the same address."""

    ray_version: str
    session_name: str


class Replica(_Answer, frozen=True):
    """One copy of a deployment."""

    replica_id: str = ""
    state: str = ""
    node_id: str | None = None
    node_instance_id: str | None = None


class ActorOptions(_Answer, frozen=True):
    """What a replica asks for; what is unset is Ray's default."""

    num_cpus: float | None = None
    num_gpus: float | None = None
    memory: float | None = None
    resources: dict[str, float] | None = None


class DeploymentConfig(_Answer, frozen=True):
    """How a deployment is to run."""

    ray_actor_options: ActorOptions | None = None
    placement_group_bundles: tuple[dict[str, float], ...] | None = None
    placement_group_strategy: str | None = None
    gang_scheduling_config: dict[str, Any] | None = None
    max_replicas_per_node: int | None = None


class Deployment(_Answer, frozen=True):
    """One deployment of an application."""

    status: str
    status_trigger: str = ""
    message: str = ""
    target_num_replicas: int | None = None
    deployment_config: DeploymentConfig | None = None
    replicas: tuple[Replica, ...] = ()

    @property
    def demands(self) -> tuple[dict[str, float], ...]:
        """What one replica takes of nodes, by Ray's names, zeros left out: an item for each node that it may be on.

        The replica itself is where the first is.
        """
        config = self.deployment_config
        if config is not None and config.placement_group_bundles:
            bundles = [
                {name: amount for name, amount in each.items() if amount} for each in config.placement_group_bundles
            ]
            return (_sum(bundles),) if config.placement_group_strategy == "STRICT_PACK" else tuple(bundles)
        options = config.ray_actor_options if config else None
        if options is None:
            return ({},)
        amounts = {"CPU": options.num_cpus, "GPU": options.num_gpus, "memory": options.memory}
        return ({name: amount for name, amount in {**amounts, **(options.resources or {})}.items() if amount},)

    @property
    def placed_freely(self) -> bool:
        """Whether each of its replicas is placed by itself."""
        config = self.deployment_config
        return config is not None and not config.placement_group_bundles and config.gang_scheduling_config is None

    @property
    def per_node(self) -> int | None:
        """How many of its replicas may be on one node; None without a limit."""
        return self.deployment_config.max_replicas_per_node if self.deployment_config else None

    @property
    def unplaced(self) -> bool:
        """Whether a replica waits for a node, or for its environment there."""
        return any(replica.state == "STARTING" and not replica.node_id for replica in self.replicas)

    @property
    def deserted(self) -> bool:
        """Whether it should have replicas, and none is up."""
        return self.target_num_replicas != 0 and all(replica.state in _NOT_UP for replica in self.replicas)

    @property
    def reconfiguring(self) -> bool:
        """Whether its replicas take a new ``user_config``, and none is up meanwhile.

        Ray 2.60 ends no replica in this state, whatever config comes next: one whose ``reconfigure`` does not return
        stays for as long as its application does.
        """
        return self.deserted and any(replica.state == _UPDATING for replica in self.replicas)


class Application(_Answer, frozen=True):
    """One Serve application.

    While its code changes, and after a change that could not be built, ``deployments`` is empty though the old code
    still answers.
    """

    status: str
    message: str = ""
    route_prefix: str | None = None
    last_deployed_time_s: float = 0.0
    deployed_app_config: dict[str, Any] | None = None
    deployments: dict[str, Deployment] = {}

    @property
    def silent(self) -> bool:
        """Whether it is unwell and one of its deployments has nobody left to answer.

        Of one that is on its way nothing is said: its requests wait for it.
        """
        return self.status in _UNWELL and self.deserted

    @property
    def deserted(self) -> bool:
        """Whether one of its deployments has nobody to answer, for whatever reason."""
        return any(found.deserted for found in self.deployments.values())

    @property
    def reconfiguring(self) -> bool:
        """Whether one of its deployments has nobody to answer until ``reconfigure`` returns."""
        return any(found.reconfiguring for found in self.deployments.values())


class Proxy(_Answer, frozen=True):
    """Serve's HTTP proxy on one node."""

    status: str
    node_ip: str | None = None
    node_instance_id: str | None = None


class Serve(_Answer, frozen=True):
    """Everything Serve tells. Before the first configuration it is empty."""

    applications: dict[str, Application] = {}
    proxies: dict[str, Proxy] = {}
    target_capacity: float | None = None

    @property
    def settled(self) -> bool:
        """Whether no application is on its way to another state."""
        return all(application.status in _SETTLED for application in self.applications.values())


class Node(_Answer, frozen=True):
    node_id: str
    node_ip: str = ""
    is_head_node: bool = False
    state: str = ""
    state_message: str | None = None
    resources_total: dict[str, float] = {}


class _Result(_Answer, frozen=True):
    result: tuple[Node, ...] = ()


class _Data(_Answer, frozen=True):
    result: _Result


class Nodes(_Answer, frozen=True):
    """The answer of the state API; ``data`` is missing where it failed."""

    result: bool
    msg: str = ""
    data: _Data | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes Ray knows, dead ones included."""
        return self.data.result.result if self.data else ()
