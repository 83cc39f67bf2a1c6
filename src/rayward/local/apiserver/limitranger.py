"""Admission by LimitRanges: what a pod gets that asks for nothing, and what is too little or too much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from rayward.kube.machinery import podamounts
from rayward.kube.machinery.jsonvalue import entries, section
from rayward.kube.machinery.quantity import ZERO, Quantity, parse
from rayward.local.apiserver import status
from rayward.local.apiserver.behaviour import Object

if TYPE_CHECKING:
    from rayward.local.apiserver.attributes import Attributes
    from rayward.local.apiserver.core import Core

PREFIX = "/limitranges/"
_ANNOTATION = "kubernetes.io/limit-ranger"
_PODS, _CLAIMS = "pods", "persistentvolumeclaims"
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))

Amounts = Mapping[str, Quantity]


class LimitRanger:
    """Applies the limit ranges of a namespace; each is decoded once per version."""

    def __init__(self) -> None:
        self._decoded: dict[str, tuple[int, list[Object]]] = {}

    def fill(self, core: Core, attributes: Attributes) -> None:
        """Give a new pod what the limit ranges say of pods that say nothing."""
        if attributes.operation == "CREATE" and attributes.obj is not None:
            for limits in self._limits(core, attributes.namespace):
                fill(attributes.obj, limits)

    def check(self, core: Core, attributes: Attributes) -> None:
        """Refuse what asks for too little or too much."""
        obj, old, kind = attributes.obj, attributes.old, attributes.resource.qualified_name
        resized = kind == _PODS and attributes.subresource == "resize" and attributes.operation == "UPDATE"
        if obj is None or kind not in (_PODS, _CLAIMS) or (attributes.subresource and not resized):
            return
        if kind == _PODS and attributes.operation == "UPDATE" and not resized:
            return
        if old is not None and section(old, "metadata").get("deletionTimestamp"):
            return
        for limits in self._limits(core, attributes.namespace):
            why = refusal(pod_problems(obj, limits) if kind == _PODS else claim_problems(obj, limits))
            if why:
                raise status.forbidden(attributes.resource, attributes.name, why)

    def _limits(self, core: Core, namespace: str) -> Iterator[list[Object]]:
        store = core.objects.store
        for key in store.keys(f"{PREFIX}{namespace}/"):
            record = store.newest(key)
            if record is None:
                self._decoded.pop(key, None)
                continue
            known = self._decoded.get(key)
            if known is None or known[0] != record.revision:
                limits: list[Object] = entries(section(orjson.loads(record.value), "spec"), "limits")
                known = self._decoded[key] = (record.revision, limits)
            yield known[1]


def fill(pod: Object, limits: Sequence[Object]) -> None:
    """Add the usual requests and limits to the containers that have none, and note it on the pod."""
    usual: dict[str, dict[str, str]] = {"limits": {}, "requests": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            usual["requests"] |= section(limit, "defaultRequest")
            usual["limits"] |= section(limit, "default")
    notes: list[str] = []
    spec = section(pod, "spec")
    for field, what in _CONTAINERS:
        for container in entries(spec, field):
            given = {part: section(section(container, "resources"), part) for part in usual}
            added = {part: sorted(usual[part].keys() - given[part].keys()) for part in usual}
            for part in ("limits", "requests"):
                if added[part]:
                    resources = container.setdefault("resources", {})
                    resources[part] = {**given[part], **{name: usual[part][name] for name in added[part]}}
            for part, said in (("requests", "request"), ("limits", "limit")):
                if added[part]:
                    notes.append(f"{', '.join(added[part])} {said} for {what} {container.get('name') or ''}")
    if notes:
        annotations = section(pod["metadata"], "annotations")
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        pod["metadata"]["annotations"] = {**annotations, _ANNOTATION: text}


def pod_problems(pod: Object, limits: Sequence[Object]) -> Iterator[str]:
    """What of a pod and its containers is outside the limits."""
    spec = section(pod, "spec")
    for limit in limits:
        if limit.get("type") == "Container":
            for field, _what in _CONTAINERS:
                for container in entries(spec, field):
                    requests, most = (podamounts.amounts_in(container, part) for part in ("requests", "limits"))
                    yield from _problems(limit, "Container", requests, most)
        elif limit.get("type") == "Pod":
            requests, most = (podamounts.declared(pod, part) for part in ("requests", "limits"))
            yield from _problems(limit, "Pod", requests, most)


def claim_problems(claim: Object, limits: Sequence[Object]) -> Iterator[str]:
    """What of a claim's request is outside the limits."""
    asked = podamounts.amounts_in(section(claim, "spec"), "requests")
    kind = "PersistentVolumeClaim"
    for limit in limits:
        if limit.get("type") == kind:
            for name, least in _sorted(limit, "min"):
                yield _too_little(kind, name, least, asked, {})
            for name, most in _sorted(limit, "max"):
                yield _too_much(kind, name, most, asked, asked, said="request")


def refusal(problems: Iterator[str]) -> str:
    """All problems in one text, each once."""
    found = list(dict.fromkeys(problem for problem in problems if problem))
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _sorted(limit: Object, field: str) -> list[tuple[str, Quantity]]:
    # the real order is that of a Go map: random
    return [(name, parse(value)) for name, value in sorted(section(limit, field).items())]


def _problems(limit: Object, kind: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in _sorted(limit, "min"):
        yield _too_little(kind, name, least, requests, limits)
    for name, most in _sorted(limit, "max"):
        yield _too_much(kind, name, most, limits, requests, said="limit")
    for name, ratio in _sorted(limit, "maxLimitRequestRatio"):
        yield _too_far_apart(kind, name, ratio, requests, limits)


def _too_little(kind: str, name: str, least: Quantity, requests: Amounts, limits: Amounts) -> str:
    text = f"minimum {name} usage per {kind} is {least}"
    if name not in requests:
        return f"{text}.  No request is specified"
    if requests[name] < least:
        return f"{text}, but request is {requests[name]}"
    if name in limits and limits[name] < least:
        return f"{text}, but limit is {limits[name]}"
    return ""


def _too_much(kind: str, name: str, most: Quantity, first: Amounts, requests: Amounts, said: str) -> str:
    text = f"maximum {name} usage per {kind} is {most}"
    if name not in first:
        return f"{text}.  No {said} is specified"
    if first[name] > most:
        return f"{text}, but {said} is {first[name]}"
    if name in requests and requests[name] > most:
        return f"{text}, but request is {requests[name]}"
    return ""


def _too_far_apart(kind: str, name: str, most: Quantity, requests: Amounts, limits: Amounts) -> str:
    text = f"{name} max limit to request ratio per {kind} is {most}, but"
    request, limit = requests.get(name, ZERO), limits.get(name, ZERO)
    if request.is_zero:
        return f"{text} no request is specified or request is 0"
    if limit.is_zero:
        return f"{text} no limit is specified or limit is 0"
    ratio = limit.milli() / request.milli()
    return f"{text} provided ratio is {ratio:f}" if ratio * 1000 > most.milli() else ""
