"""Cluster roles that gather the rules of others, such as ``admin``, ``edit`` and ``view``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Never

from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.core.objects import Key, KubeObject, Slim
from rayward.kube.core.resource import CLUSTER_ROLES
from rayward.kube.machinery.selectors import labels
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result

_MANAGER: Final = "clusterrole-aggregation-controller"


class AggregationRule(Slim, frozen=True, gc=False):
    """Which cluster roles are gathered."""

    cluster_role_selectors: list[dict[str, Any]] | None = None


class ClusterRole(KubeObject, frozen=True, gc=False):
    rules: list[dict[str, Any]] | None = None
    aggregation_rule: AggregationRule | None = None


def aggregated(role: ClusterRole, roles: Iterable[ClusterRole]) -> list[dict[str, Any]] | None:
    """The rules that a cluster role should have, in the order of its selectors and of names; None: its own."""
    if role.aggregation_rule is None:
        return None
    others = sorted((other for other in roles if other.key != role.key), key=lambda other: other.metadata.name)
    rules: list[dict[str, Any]] = []
    for declared in role.aggregation_rule.cluster_role_selectors or ():
        selector = labels.from_object(declared)
        for other in others:
            if selector.matches(other.metadata.labels or {}):
                rules += [rule for rule in other.rules or () if rule not in rules]
    return rules


class RoleAggregation:
    """Keeps the rules of aggregating cluster roles."""

    def __init__(self, client: Client, roles: Cache[ClusterRole], *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._client = client
        self._roles = roles
        self._controller = Controller("cluster role aggregation", self._reconcile, workers=1, clock=clock)
        self._controller.watch(roles, self._aggregating)

    async def run(self) -> Never:
        await self._controller.run()

    def _aggregating(self, _old: ClusterRole | None, _new: ClusterRole | None) -> Iterable[Key]:
        # any role may be gathered by any: they are few
        return [role.key for role in self._roles if role.aggregation_rule is not None]

    async def _reconcile(self, key: Key) -> Result:
        role = self._roles.get(key)
        rules = None if role is None else aggregated(role, self._roles)
        if role is None or rules is None or rules == (role.rules or []):
            return DONE
        identity = {"apiVersion": CLUSTER_ROLES.api_version, "kind": CLUSTER_ROLES.kind}
        wanted = {**identity, "metadata": {"name": key.name}, "rules": rules}
        try:
            await self._client.apply(CLUSTER_ROLES, wanted, field_manager=_MANAGER, force=True)
        except NotFound:
            return DONE
        return DONE
