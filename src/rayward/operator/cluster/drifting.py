"""Which pods were made from another template than the spec has now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import drift, is_outdated, template_record
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.status import NO_DRIFT, Drift

_SHOWN: Final = 10


def drift_of(cluster: RayCluster, pods: Iterable[RayPod]) -> Drift:
    """Pods and field paths, as far as a message can hold them."""
    records = records_of(cluster)
    names: list[str] = []
    paths: dict[str, None] = {}
    for pod in pods:
        recorded = pod.metadata.annotation(labels.TEMPLATE)
        place = where(pod)
        current = records.get(place)
        if pod.deleting or not recorded or current is None or recorded == current:
            continue
        differing = drift(recorded, current)
        if differing:
            names.append(pod.metadata.name)
            paths.update((f"{place}.{path}", None) for path in differing)
    return Drift(_first(sorted(names)), _first(list(paths))) if names else NO_DRIFT


def outdated_workers(cluster: RayCluster, workers: Iterable[RayPod]) -> frozenset[str]:
    """The uids of the workers among them."""
    records = records_of(cluster)
    found: set[str] = set()
    for pod in workers:
        recorded = pod.metadata.annotation(labels.TEMPLATE)
        current = records.get(where(pod))
        if current is not None and recorded and recorded != current and is_outdated(recorded, current):
            found.add(pod.metadata.uid)
    return frozenset(found)


def records_of(cluster: RayCluster) -> dict[str, str]:
    """What pods are made from now, by their place in the spec."""
    records = {_HEAD: template_record(cluster.spec.head_group_spec, cluster)}
    for group in cluster.groups:
        records[_group_path(group.group_name)] = template_record(group, cluster)
    return records


def where(pod: RayPod) -> str:
    """The place in the spec that a pod comes from."""
    return _HEAD if pod.is_head else _group_path(pod.group)


def _group_path(name: str) -> str:
    return f"workerGroupSpecs[{name}]"


def _first(items: Sequence[str]) -> tuple[str, ...]:
    more = len(items) - _SHOWN
    return (*items[:_SHOWN], f"{more} more") if more > 0 else tuple(items)


_HEAD: Final = "headGroupSpec"
