"""Plans and diffs of what a server has: the operations that gather what the pure functions need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from rayward.changes import writing
from rayward.changes.capacity import free_on_nodes
from rayward.changes.costs import Budget
from rayward.changes.diffing import diff, without_defaults
from rayward.changes.operators import Operator, find_operator
from rayward.changes.planning import Plan, plan
from rayward.changes.refs import Ref
from rayward.changes.steps import Operation, Send
from rayward.changes.strategies import Strategy, is_ours, refuse_unheeded
from rayward.kinds import labels
from rayward.kinds.effects import Rules
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import errors, verbs
from rayward.kube.core.resource import PODS, RESOURCE_QUOTAS
from rayward.kube.machinery.jsonvalue import Object, entries, is_object, section
from rayward.kube.machinery.podrequests import amounts
from rayward.kube.machinery.quotausage import selectors

_MOST_PODS: Final = 500
"""Of a larger RayCluster the spec says what its pods request."""


@dataclass(frozen=True, slots=True)
class Versions:
    """An object before and after an apply that was only asked for."""

    ref: Ref
    live: Object | None
    wanted: Object


def ask(ref: Ref, wanted: Object, *, manager: str = writing.MANAGER, force: bool = False) -> Operation[Versions]:
    """What the server would make of a manifest; nothing is changed."""
    written = yield from writing.apply(ref, wanted, manager=manager, force=force, dry_run=True)
    return Versions(ref, written.before, written.object)


def predict(
    ref: Ref,
    wanted: Object,
    *,
    manager: str = writing.MANAGER,
    force: bool = False,
    rules: Rules | None = None,
    queue: Callable[[Object, str], Operation[tuple[str, ...]]] | None = None,
) -> Operation[Plan]:
    """The plan of an apply, with the limits of its namespace and what is free on the nodes.

    Whose operator acts is found out where ``rules`` is not given. ``queue`` asks why
    the quota of the object's queue would not let it run.
    """
    versions = yield from ask(ref, wanted, manager=manager, force=force)
    clusters = yield from _clusters_of(ref, versions.live)
    operator = Operator(rules) if rules is not None else (yield from _operator(ref, versions.live, clusters))
    budgets = yield from _budgets(ref)
    nodes = yield from free_on_nodes(ref.namespace, clusters.name)
    queued = (yield from queue(versions.wanted, ref.namespace)) if queue is not None else ()
    asked = (
        (operator.known, "no operator was detected: Rayward's rules are assumed"),
        (nodes is not None, "the nodes were not read: what is free on them is not known"),
        (budgets is not None, "the ResourceQuotas were not read"),
    )
    return plan(
        ref,
        versions.live,
        versions.wanted,
        rules=operator.rules,
        running=clusters.running,
        serving=clusters.serving,
        beside=clusters.beside,
        budgets=budgets or (),
        nodes=nodes,
        pods=clusters.pods,
        queued=queued,
        manifest=wanted,
        force_conflicts=force,
        unknown=[text for known, text in asked if not known],
    )


def check_strategy(
    ref: Ref, wanted: Object, strategy: Strategy | None, *, manager: str = writing.MANAGER, force: bool = False
) -> Operation[None]:
    """Ask whether the operator at work knows the strategy; ``wanted`` has it already.

    Raises:
        Invalid: It would pass over it in silence.
    """
    if strategy is None or not is_ours(strategy):
        return
    live = yield from writing.read_or_none(ref)
    rules = yield from operator_of(ref, live)
    if rules is not Rules.RAYWARD:
        predicted = yield from predict(ref, wanted, manager=manager, force=force, rules=rules)
        refuse_unheeded(ref, strategy, rules, predicted.changes)


def compare(ref: Ref, wanted: Object, *, manager: str = writing.MANAGER, show_all: bool = False) -> Operation[str]:
    """The diff between what is and what an apply would make of it."""
    versions = yield from ask(ref, wanted, manager=manager, force=True)
    after = versions.wanted if show_all else without_defaults(versions.wanted, wanted, versions.live)
    return diff(versions.live, after, old=f"live/{ref}", new=f"wanted/{ref}", show_all=show_all)


def operator_of(ref: Ref, live: Object | None) -> Operation[Rules]:
    """Whose operator acts on an object; Rayward's where nothing tells."""
    clusters = yield from _clusters_of(ref, live)
    operator = yield from _operator(ref, live, clusters)
    return operator.rules


@dataclass(frozen=True, slots=True)
class _Clusters:
    """What an object has: the name of its RayCluster, the pods of a RayCluster, the clusters of a RayService.

    Of a RayService also the spec of the cluster that serves, and the Serve config that last ran there.
    """

    name: str = ""
    children: tuple[Object, ...] = ()
    pods: tuple[Object, ...] | None = None
    running: Object | None = None
    serving: Object | None = None
    beside: tuple[Object, ...] = ()


def _operator(ref: Ref, live: Object | None, clusters: _Clusters) -> Operation[Operator]:
    found = yield from find_operator(ref, live, clusters.children)
    return found


def _clusters_of(ref: Ref, live: Object | None) -> Operation[_Clusters]:
    if live is None:
        return _Clusters()
    if ref.kind == "RayCluster":
        found = yield from _cluster_pods(ref)
        return found
    if ref.kind == "RayService":
        found = yield from _service_clusters(ref, live)
        return found
    name: Any = section(live, "status").get("rayClusterName")
    if not name:
        return _Clusters()
    try:
        cluster: Object = yield Send(verbs.get(RAY_CLUSTERS, str(name), ref.namespace))
    except errors.NotFound:
        return _Clusters()
    return _Clusters(str(name), (cluster,))


def _cluster_pods(ref: Ref) -> Operation[_Clusters]:
    selector = f"{labels.CLUSTER}={ref.name}"
    try:
        found: Object = yield Send(verbs.list_(PODS, ref.namespace, label_selector=selector, limit=_MOST_PODS))
    except errors.Forbidden:
        return _Clusters(ref.name)
    pods = tuple(entries(found, "items"))
    whole = not section(found, "metadata").get("continue")
    return _Clusters(ref.name, pods, pods if whole else None)


def _service_clusters(ref: Ref, live: Object) -> Operation[_Clusters]:
    selector = f"{labels.ORIGIN_KIND}={ref.kind},{labels.ORIGIN_NAME}={ref.name}"
    found: Object = yield Send(verbs.list_(RAY_CLUSTERS, ref.namespace, label_selector=selector))
    uid = section(live, "metadata").get("uid")
    own = [
        cluster
        for cluster in entries(found, "items")
        if any(owner.get("uid") == uid for owner in entries(section(cluster, "metadata"), "ownerReferences"))
    ]
    status = section(live, "status")
    name: Any = section(status, "activeServiceStatus").get("rayClusterName") or status.get("rayClusterName")
    serving = next((one for one in own if section(one, "metadata").get("name") == name), None)
    others = tuple(one for one in own if one is not serving)
    return _Clusters(
        "" if serving is None else str(name),
        others if serving is None else (serving, *others),
        running=None if serving is None else section(serving, "spec"),
        serving=_config(serving or {}),
        beside=tuple(section(one, "spec") for one in others),
    )


def _config(cluster: Object) -> Object | None:
    """The Serve config that last ran on a cluster, as our operator has recorded it."""
    try:
        found: Any = orjson.loads(section(section(cluster, "metadata"), "annotations")[labels.SERVE_CONFIG_RUNNING])
    except (KeyError, orjson.JSONDecodeError):
        return None
    return found if is_object(found) else None


def _budgets(ref: Ref) -> Operation[list[Budget] | None]:
    """The limits of a namespace; None where they may not be read: then the pods that are made tell of them."""
    try:
        found: Object = yield Send(verbs.list_(RESOURCE_QUOTAS, ref.namespace, limit=100))
    except (errors.Forbidden, errors.NotFound):
        return None
    return [
        Budget(
            f"resourcequota/{section(quota, 'metadata').get('name')}",
            amounts(section(section(quota, "spec"), "hard")),
            amounts(section(section(quota, "status"), "used")),
            selectors(section(quota, "spec")),
        )
        for quota in entries(found, "items")
    ]
