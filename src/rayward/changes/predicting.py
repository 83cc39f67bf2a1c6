"""Plans and diffs of what a server has: the operations that gather what the pure functions need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from rayward.changes import writing
from rayward.changes.capacity import free_on_nodes
from rayward.changes.costs import Amounts, Budget
from rayward.changes.diffing import diff
from rayward.changes.planning import Plan, plan
from rayward.changes.refs import Ref
from rayward.changes.steps import Operation, Send
from rayward.changes.strategies import Strategy, is_ours, refuse_unheeded
from rayward.kinds import labels
from rayward.kinds.effects import Rules
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import errors, verbs
from rayward.kube.core.resource import PODS, RESOURCE_QUOTAS
from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, is_object, section


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

    Whose operator acts is read from the mark on the object's children where ``rules`` is not given. ``queue`` asks why
    the quota of the object's queue would not let it run.
    """
    versions = yield from ask(ref, wanted, manager=manager, force=force)
    clusters = yield from _running(ref, versions.live)
    budgets = yield from _budgets(ref)
    nodes = yield from free_on_nodes()
    queued = (yield from queue(versions.wanted, ref.namespace)) if queue is not None else ()
    return plan(
        ref,
        versions.live,
        versions.wanted,
        rules=rules or clusters.rules,
        running=clusters.running,
        serving=clusters.serving,
        beside=clusters.beside,
        budgets=budgets,
        nodes=nodes,
        queued=queued,
        manifest=wanted,
        force_conflicts=force,
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
    rules = (yield from operator_of(ref, live)) if live is not None else Rules.RAYWARD
    if rules is not Rules.RAYWARD:
        predicted = yield from predict(ref, wanted, manager=manager, force=force, rules=rules)
        refuse_unheeded(ref, strategy, rules, predicted.changes)


def compare(ref: Ref, wanted: Object, *, manager: str = writing.MANAGER, show_all: bool = False) -> Operation[str]:
    """The diff between what is and what an apply would make of it."""
    versions = yield from ask(ref, wanted, manager=manager, force=True)
    return diff(versions.live, versions.wanted, old=f"live/{ref}", new=f"wanted/{ref}", show_all=show_all)


def operator_of(ref: Ref, live: Object) -> Operation[Rules]:
    """Whose operator acts on an object, from the mark on its children."""
    clusters = yield from _running(ref, live)
    return clusters.rules


def rules_of(version: str) -> Rules:
    """Whose operator a mark of ``ray.io/kuberay-version`` names; Rayward where there is none."""
    plain = version.removeprefix("v")
    if plain in ("", "rayward"):
        return Rules.RAYWARD
    return Rules.KUBERAY_1_6 if plain.startswith("1.6") else Rules.KUBERAY_1_7


@dataclass(frozen=True, slots=True)
class _Clusters:
    """Whose operator acts; of a RayService also the cluster that serves, its last config, and those beside it."""

    rules: Rules = Rules.RAYWARD
    running: Object | None = None
    serving: Object | None = None
    beside: tuple[Object, ...] = ()


def _running(ref: Ref, live: Object | None) -> Operation[_Clusters]:
    if live is None:
        return _Clusters()
    if ref.kind == "RayCluster":
        selector = f"{labels.CLUSTER}={ref.name},{labels.NODE_TYPE}={labels.HEAD}"
        found: Object = yield Send(verbs.list_(PODS, ref.namespace, label_selector=selector, limit=1))
        heads = entries(found, "items")
        return _Clusters(rules_of(_mark(heads[0]) if heads else ""))
    if ref.kind == "RayService":
        clusters = yield from _clusters_of(ref, live)
        return clusters
    name: Any = section(live, "status").get("rayClusterName")
    if not name:
        return _Clusters()
    try:
        cluster: Object = yield Send(verbs.get(RAY_CLUSTERS, str(name), ref.namespace))
    except errors.NotFound:
        return _Clusters()
    return _Clusters(rules_of(_mark(cluster)))


def _clusters_of(ref: Ref, live: Object) -> Operation[_Clusters]:
    selector = f"{labels.ORIGIN_KIND}={ref.kind},{labels.ORIGIN_NAME}={ref.name}"
    found: Object = yield Send(verbs.list_(RAY_CLUSTERS, ref.namespace, label_selector=selector))
    uid = section(live, "metadata").get("uid")
    own = [
        cluster
        for cluster in entries(found, "items")
        if any(owner.get("uid") == uid for owner in entries(section(cluster, "metadata"), "ownerReferences"))
    ]
    status = section(live, "status")
    name = section(status, "activeServiceStatus").get("rayClusterName") or status.get("rayClusterName")
    serving = next((one for one in own if section(one, "metadata").get("name") == name), None)
    marked: Object = serving or (own[0] if own else {})
    beside = tuple(section(one, "spec") for one in own if one is not serving)
    running = None if serving is None else section(serving, "spec")
    return _Clusters(rules_of(_mark(marked)), running, _config(serving or {}), beside)


def _config(cluster: Object) -> Object | None:
    """The Serve config that last ran on a cluster, as our operator has recorded it."""
    try:
        found: Any = orjson.loads(section(section(cluster, "metadata"), "annotations")[labels.SERVE_CONFIG_RUNNING])
    except (KeyError, orjson.JSONDecodeError):
        return None
    return found if is_object(found) else None


def _mark(obj: Object) -> str:
    annotations: Any = section(section(obj, "metadata"), "annotations")
    return str(annotations.get(labels.OPERATOR_VERSION) or "")


def _budgets(ref: Ref) -> Operation[list[Budget]]:
    try:
        found: Object = yield Send(verbs.list_(RESOURCE_QUOTAS, ref.namespace, limit=100))
    except (errors.Forbidden, errors.NotFound):
        # who may not read the limits learns of them when the pods are made
        return []
    return [
        Budget(
            f"resourcequota/{section(quota, 'metadata').get('name')}",
            _amounts(section(section(quota, "spec"), "hard")),
            _amounts(section(section(quota, "status"), "used")),
        )
        for quota in entries(found, "items")
        if not section(quota, "spec").get("scopes") and not section(quota, "spec").get("scopeSelector")
    ]


def _amounts(listed: Object) -> Amounts:
    return {name: quantity.parse(value) for name, value in listed.items()}
