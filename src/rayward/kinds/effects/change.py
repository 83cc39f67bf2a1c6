"""One changed field and its effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Rules(StrEnum):
    """Whose operator acts on the object."""

    RAYWARD = "rayward"
    KUBERAY_1_6 = "kuberay-1.6"
    KUBERAY_1_7 = "kuberay-1.7"

    @property
    def operator(self) -> str:
        """The operator's name, for a message."""
        return {"rayward": "Rayward", "kuberay-1.6": "KubeRay 1.6", "kuberay-1.7": "KubeRay 1.7"}[self.value]


class Effect(StrEnum):
    """What a changed field does, from what is felt least to what is felt most."""

    IGNORED = "Ignored"
    """Nothing happens, now or later."""
    NEXT_CLUSTER = "NextCluster"
    """Nothing happens now; the next cluster has it: of the next release, attempt or resume."""
    NEXT_PODS = "NextPods"
    """Running pods stay as they are; pods made from now on have it."""
    IN_PLACE = "InPlace"
    """It takes effect without replacing a pod."""
    RESUME = "Resume"
    """Pods are made again."""
    SCALE = "Scale"
    """Pods are added or removed; those that stay are left alone."""
    ROLLING_WORKERS = "RollingWorkers"
    """Workers are replaced one by one; the head stays."""
    NEW_CLUSTER = "NewCluster"
    """A second cluster is made beside the one that serves, and takes over the traffic."""
    RECREATE = "Recreate"
    """Pods are deleted at once and made anew."""
    SUSPEND = "Suspend"
    """All pods are deleted; the object stays."""
    REFUSED = "Refused"
    """The API server or the operator rejects the edit; what runs goes on."""


_ORDER = {effect: place for place, effect in enumerate(Effect)}


@dataclass(frozen=True, slots=True)
class Change:
    """One changed field.

    Attributes:
        path: Where it is: list items by name, such as ``spec.workerGroupSpecs[gpu].replicas``.
        effect: What changing it does.
        why: The reason for that effect, as a clause that starts in lower case.
        old: The value before; None where there was none.
        new: The value after; None where it was removed.
        restarts: Groups whose running pods are replaced for it; the head's is ``headgroup``.
    """

    path: str
    effect: Effect
    why: str
    old: Any = None
    new: Any = None
    restarts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Effects:
    """All changed fields of one object, in the order of their paths."""

    changes: tuple[Change, ...] = ()

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __contains__(self, effect: Effect) -> bool:
        return any(change.effect is effect for change in self.changes)

    @property
    def strongest(self) -> Effect | None:
        """The effect that is felt most; None where nothing changed."""
        return max((change.effect for change in self.changes), key=_ORDER.__getitem__, default=None)

    @property
    def restarts(self) -> tuple[str, ...]:
        """Every group of which running pods are replaced, each once."""
        return tuple(dict.fromkeys(group for change in self.changes for group in change.restarts))
