"""What the API server adds to the pods of a template: LimitRange defaults and the overhead of a RuntimeClass.

Workloads have the templates as users wrote them, and Kueue counts the additions when it reads a Workload; so does the
engine. What is admitted already keeps the amounts in its status: pods that run are not changed either.
"""

from __future__ import annotations

from typing import Final

from rayward.kube.core.objects import Key
from rayward.kube.core.poddefaults import Amounts, LimitRange, RuntimeClass
from rayward.kube.machinery.jsonvalue import Object, entries, section

_CONTAINERS: Final = ("containers", "initContainers")


class PodDefaults:
    """LimitRanges and RuntimeClasses there are."""

    def __init__(self) -> None:
        self._amounts: dict[Key, Amounts] = {}
        """What a LimitRange has containers ask for that say nothing, and the overhead of a RuntimeClass."""
        self.revision = 0
        """Changes with every change: what was computed before may be wrong."""

    def put(self, found: LimitRange | RuntimeClass, *, gone: bool = False) -> bool:
        """Whether it makes a difference that an object is new, changed or gone."""
        added = {} if gone else _added(found)
        if self._amounts.get(found.key, {}) == added:
            return False
        if added:
            self._amounts[found.key] = added
        else:
            del self._amounts[found.key]
        self.revision += 1
        return True

    def applied(self, namespace: str, spec: Object) -> Object:
        """The pod spec with the additions; the same object where there are none."""
        if not self._amounts:
            return spec
        overhead = self._amounts.get(Key("", str(spec.get("runtimeClassName") or "")))
        if overhead and not spec.get("overhead"):
            spec = {**spec, "overhead": overhead}
        asked: Amounts = {}
        for key in sorted(self._amounts):
            if key.namespace == namespace:
                asked = {**self._amounts[key], **asked}
        if not asked:
            return spec
        return {**spec, **{part: [_filled(one, asked) for one in entries(spec, part)] for part in _CONTAINERS}}


def _added(found: LimitRange | RuntimeClass) -> Amounts:
    if isinstance(found, RuntimeClass):
        return (found.overhead.pod_fixed if found.overhead else None) or {}
    asked: Amounts = {}
    for item in found.spec.limits or ():
        if item.type == "Container":
            # a limit stands in for the request that is missing
            asked = {**(item.default or {}), **(item.default_request or {}), **asked}
    return asked


def _filled(container: Object, asked: Amounts) -> Object:
    # A container's own limit is its request before LimitRanges are looked at: defaults of the API come first.
    own = section(container, "resources")
    requests = {**asked, **section(own, "limits"), **section(own, "requests")}
    return {**container, "resources": {"requests": requests}}
