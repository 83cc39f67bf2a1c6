"""LimitRange and RuntimeClass, as far as they add to what a pod asks for."""

from __future__ import annotations

from rayward.kube.core.objects import KubeObject, Slim

Amounts = dict[str, str | int | float]


class LimitRangeItem(Slim, frozen=True, gc=False):
    """What containers, pods or claims of a namespace get that say nothing."""

    type: str = ""
    default: Amounts | None = None
    """Limits."""
    default_request: Amounts | None = None


class LimitRangeSpec(Slim, frozen=True, gc=False):
    limits: tuple[LimitRangeItem, ...] | None = None


class Overhead(Slim, frozen=True, gc=False):
    pod_fixed: Amounts | None = None


_NO_LIMITS = LimitRangeSpec()


class LimitRange(KubeObject, frozen=True, gc=False):
    spec: LimitRangeSpec = _NO_LIMITS


class RuntimeClass(KubeObject, frozen=True, gc=False):
    overhead: Overhead | None = None
