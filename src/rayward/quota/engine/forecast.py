"""What the engine would say to a workload: its own search for flavors, with nothing decided and nobody evicted."""

from __future__ import annotations

from dataclasses import replace

from rayward.quota.engine.amounts import FlavorResource, Usage
from rayward.quota.engine.assign import Assigner, Assignment, Mode
from rayward.quota.engine.cycle import MOST_RESUMED, World
from rayward.quota.engine.item import Item


def now(item: Item, world: World, freed: Usage) -> str:
    """Why it does not fit beside what is held now, ``freed`` given up for it; empty where it fits."""
    return _why_not(_settled(item, world, freed))


def alone(item: Item, world: World, held: Usage) -> str:
    """Why it does not fit beside ``held`` alone, and what a slice replaces; empty where it fits."""
    node = world.queues[item.cluster_queue]
    with node.root.idle():
        node.add(held)
        if (replaced := _replaced(item, world)) is not None:
            node.add(replaced.usage)
        return _why_not(_settled(item, world, {}))


def fit_together(first: Item, second: Item, world: World) -> bool:
    """Whether two fit that nobody else stands in the way of, whichever comes first."""
    return _fits_behind(first, second, world) or _fits_behind(second, first, world)


def _fits_behind(first: Item, second: Item, world: World) -> bool:
    before, after = world.queues[first.cluster_queue], world.queues[second.cluster_queue]
    with before.root.idle(), after.root.idle():
        found = _settled(first, world, {})
        before.add(found.usage)
        return found.mode is Mode.FIT and _settled(second, world, {}).mode is Mode.FIT


def _settled(item: Item, world: World, freed: Usage) -> Assignment:
    """The flavors it ends with: a round begins where the one before stopped, until all were tried."""
    node = world.queues[item.cluster_queue]
    replaced = _replaced(item, world)
    trial = replace(item, tried=(), tried_generation=node.generation, resumed=0)
    counts = None
    if replaced is not None and [one.name for one in replaced.grants] != [one.name for one in item.demands]:
        return Assignment([], {})
    if item.reducible and replaced is None:
        counts = [min(one.count if one.min_count is None else one.min_count, one.count) for one in item.demands]
    rules = world.rules[node.name]
    while True:
        assigner = Assigner(trial, node, rules, world.flavors, _evict_nobody, replaced=replaced, freed=freed)
        found = assigner.assign(counts)
        trial.tried = found.tried
        trial.resumed += 1
        if found.mode is Mode.FIT or not trial.has_untried_flavors or trial.resumed > MOST_RESUMED:
            return found


def _replaced(item: Item, world: World) -> Item | None:
    return world.holders[item.cluster_queue].get(item.replaces) if item.replaces else None


def _evict_nobody(item: Item, fr: FlavorResource, amount: int) -> tuple[Mode, int]:
    del item, fr, amount
    return Mode.NO_CANDIDATES, 0


def _why_not(found: Assignment) -> str:
    return "" if found.mode is Mode.FIT else found.message or "the pod sets are not those of the slice that is replaced"
