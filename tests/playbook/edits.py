"""Random edits of up to three fields."""

from __future__ import annotations

import random
from typing import Any, Final

from tests.kinds.clusters import changed
from tests.operator.stage import Object, group

_GONE: Final = "no such item"
CLUSTER_EDITS: Final[dict[str, tuple[Any, ...]]] = {
    "spec.workerGroupSpecs.0.replicas": (0, 1, 2),
    "spec.workerGroupSpecs.0.minReplicas": (0, 99),
    "spec.workerGroupSpecs.0.maxReplicas": (1, 5, 10),
    "spec.workerGroupSpecs.0.template.spec.containers.0.image": ("rayproject/ray:2.52.0", "rayproject/ray:2.53.0"),
    "spec.workerGroupSpecs.0.template.spec.tolerations": ([], [{"operator": "Exists"}]),
    "spec.workerGroupSpecs.0.template.spec.containers.0.env": ([], [{"name": "A", "value": "1"}]),
    "spec.workerGroupSpecs.0.template.spec.containers.0.resources": (
        {"requests": {"cpu": "1", "memory": "1Gi"}},
        {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"cpu": "2"}},
    ),
    "spec.workerGroupSpecs.0.rayStartParams": ({}, {"num-cpus": "1"}),
    "spec.workerGroupSpecs.1": (group("medium", 1), group("medium", 2), group("other", 1), _GONE),
    "spec.headGroupSpec.template.spec.containers.0.resources": (
        {"requests": {"cpu": "1", "memory": "1Gi"}},
        {"requests": {"cpu": "2", "memory": "1Gi"}},
    ),
    "spec.headGroupSpec.template.spec.containers.0.image": ("rayproject/ray:2.52.0", "rayproject/ray:2.54.0"),
    "spec.headGroupSpec.serviceType": ("ClusterIP", "NodePort"),
    "spec.rayVersion": ("2.52.0", "2.53.0"),
    "spec.suspend": (True, False),
    "spec.tlsOptions": ({"enabled": True},),
}


def drawn(chance: random.Random, live: Object, table: dict[str, tuple[Any, ...]]) -> tuple[tuple[str, ...], Object]:
    """An edit of up to three fields that changes each of them."""
    paths: list[str] = []
    wanted = live
    count = chance.choice((1, 1, 1, 2, 3))
    while len(paths) < count:
        path = chance.choice(sorted(table))
        edited = _edited(wanted, path, chance.choice(table[path]))
        if path not in paths and edited != wanted:
            paths.append(path)
            wanted = edited
    return tuple(paths), wanted


def _edited(live: Object, path: str, value: Any) -> Object:
    if not path.endswith("workerGroupSpecs.1"):
        return changed(live, path, value)
    first = live["spec"]["workerGroupSpecs"][:1]
    return changed(live, "spec.workerGroupSpecs", first if value == _GONE else [*first, value])


def replacement(wanted: Object) -> list[Object]:
    """A patch that makes an object of this spec: a merge patch would leave fields that came with another one."""
    metadata = {part: wanted["metadata"].get(part) or {} for part in ("annotations", "labels")}
    parts = {"/spec": wanted["spec"], **{f"/metadata/{part}": value for part, value in metadata.items()}}
    return [{"op": "add", "path": path, "value": value} for path, value in parts.items()]
