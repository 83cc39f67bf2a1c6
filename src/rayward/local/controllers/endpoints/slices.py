"""Which EndpointSlices a service should have, changed as little as possible.

As kube-controller-manager places them: endpoints stay in the slice they are in; slices that change anyway are filled
first, then one with room for all that is left, then new ones. A slice that would go is reused for one that would come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from rayward.kube.core.meta import controller_reference
from rayward.kube.core.resource import SERVICES
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.controllers.endpoints.endpoint import endpoint_of, has_place, ports_of
from rayward.local.controllers.endpoints.service import HEADLESS_LABEL, SelectingService
from rayward.local.controllers.endpoints.trigger import stamped
from rayward.local.controllers.pods import SeenPod

_Ports = frozenset[tuple[str, int | None, str, str | None]]
_Identity = tuple[tuple[str, ...], str, str, str]

SERVICE_LABEL: Final = "kubernetes.io/service-name"
MANAGER_LABEL: Final = "endpointslice.kubernetes.io/managed-by"
MANAGER: Final = "endpointslice-controller.k8s.io"
LARGEST: Final = 100
_RESERVED: Final = frozenset({SERVICE_LABEL, MANAGER_LABEL, HEADLESS_LABEL})
_LONGEST_NAME: Final = 253


class Plan(msgspec.Struct, frozen=True):
    """What to write: whole objects, and names."""

    create: tuple[Object, ...] = ()
    update: tuple[Object, ...] = ()
    delete: tuple[str, ...] = ()


class _Group(msgspec.Struct):
    """Endpoints that have the same ports."""

    ports: list[Object]
    endpoints: dict[_Identity, Object]


class _Changes(msgspec.Struct):
    create: list[Object]
    update: list[Object]
    delete: list[Object]


def plan(
    service: SelectingService,
    pods: Sequence[SeenPod],
    zones: Mapping[str, str],
    slices: Iterable[Object],
    trigger: str | None,
) -> Plan:
    """The writes that make ``slices``, all there are of this service, true.

    ``zones`` has every node by its name; ``trigger`` is the time that the writes tell.
    """
    present = [found for found in slices if "deletionTimestamp" not in found["metadata"]]
    changes = _Changes([], [], [found for found in present if found["addressType"] not in service.families])
    for family in service.families:
        of_family = [found for found in present if found["addressType"] == family]
        _plan_family(service, _groups(service, pods, zones, family), of_family, family, changes)
    _reuse(service, changes)
    return Plan(
        () if service.deleting else tuple(_stamp(made, trigger) for made in changes.create),
        tuple(_stamp(made, trigger) for made in changes.update),
        tuple(found["metadata"]["name"] for found in changes.delete),
    )


def _groups(
    service: SelectingService, pods: Iterable[SeenPod], zones: Mapping[str, str], family: str
) -> dict[_Ports, _Group]:
    groups: dict[_Ports, _Group] = {}
    for pod in pods:
        if not has_place(pod, terminating=True):
            continue
        ports = ports_of(service, pod)
        group = groups.setdefault(_key(ports), _Group(ports, {}))
        # A pod on a node that is gone is no longer there either.
        if pod.spec.node_name not in zones and not service.spec.publish_not_ready_addresses:
            continue
        endpoint = endpoint_of(service, pod, zones.get(pod.spec.node_name, ""), family)
        if endpoint["addresses"]:
            group.endpoints[_identity(endpoint)] = endpoint
    return groups


def _plan_family(
    service: SelectingService, groups: dict[_Ports, _Group], present: list[Object], family: str, changes: _Changes
) -> None:
    by_ports: dict[_Ports, list[Object]] = {}
    made = _Changes([], [], [])
    for found in present:
        if _is_of(found, service):
            by_ports.setdefault(_key(entries(found, "ports")), []).append(found)
        else:
            made.delete.append(found)
    for key, group in groups.items():
        _place(service, by_ports.pop(key, []), group, family, made)
    for left in by_ports.values():
        made.delete.extend(left)
    gone = len(made.delete)
    if gone == len(present) and not made.create:
        # A service that leads nowhere has one empty slice.
        empty = _new(service, [], family)
        if gone == 1 and _is_empty_one(made.delete[0], empty):
            made.delete.clear()
        else:
            made.create.append(empty)
    changes.create.extend(made.create)
    changes.update.extend(made.update)
    changes.delete.extend(made.delete)


def _place(service: SelectingService, present: list[Object], group: _Group, family: str, changes: _Changes) -> None:
    wanted = dict(group.endpoints)
    changed: list[Object] = []
    same: list[Object] = []
    labels = slice_labels(service)
    for found in present:
        before = entries(found, "endpoints")
        identities = [_identity(endpoint) for endpoint in before]
        pairs = [(old, wanted.pop(known)) for old, known in zip(before, identities, strict=True) if known in wanted]
        if len(pairs) == len(before) and all(_is_same(old, new) for old, new in pairs):
            if found["metadata"].get("labels") == labels:
                same.append(found)
            else:
                changed.append(_relabelled(found, labels))
        elif pairs:
            changed.append({**_relabelled(found, labels), "endpoints": [new for _, new in pairs]})
        else:
            changes.delete.append(found)
    left = list(wanted.values())
    changed.sort(key=lambda found: -len(entries(found, "endpoints")))
    changed = [_filled(found, left) for found in changed]
    while left:
        roomy = _with_room(same, len(left))
        if roomy is None:
            changes.create.append(_filled(_new(service, group.ports, family), left))
        else:
            same.remove(roomy)
            changed.append(_filled(roomy, left))
    changes.update.extend(changed)


def _filled(found: Object, left: list[Object]) -> Object:
    """The slice with as many of ``left`` as fit, which are taken from there."""
    present = entries(found, "endpoints")
    room = LARGEST - len(present)
    taken, left[:] = left[:room], left[room:]
    return {**found, "endpoints": [*present, *taken]}


def _with_room(slices: list[Object], count: int) -> Object | None:
    """The slice that is the fullest once all are in it."""
    fitting = [found for found in slices if len(entries(found, "endpoints")) + count <= LARGEST]
    return max(fitting, key=lambda found: len(entries(found, "endpoints")), default=None)


def _reuse(service: SelectingService, changes: _Changes) -> None:
    for going in list(changes.delete):
        coming = next((made for made in changes.create if made["addressType"] == going["addressType"]), None)
        if coming is None or not _is_of(going, service):
            continue
        changes.create.remove(coming)
        changes.delete.remove(going)
        metadata = {**going["metadata"], "labels": coming["metadata"]["labels"]}
        changes.update.append({**coming, "metadata": metadata})


def slice_labels(service: SelectingService) -> dict[str, str]:
    """The labels of its slices: its own, and those that name it."""
    own = {name: value for name, value in (service.metadata.labels or {}).items() if name not in _RESERVED}
    if not service.has_address:
        own[HEADLESS_LABEL] = ""
    return {**own, SERVICE_LABEL: service.metadata.name, MANAGER_LABEL: MANAGER}


def _new(service: SelectingService, ports: list[Object], family: str) -> Object:
    prefix = f"{service.metadata.name}-"
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": prefix if len(prefix) <= _LONGEST_NAME else service.metadata.name,
            "namespace": service.metadata.namespace,
            "labels": slice_labels(service),
            "ownerReferences": [msgspec.to_builtins(controller_reference(service, SERVICES))],
        },
        "addressType": family,
        "endpoints": [],
        "ports": ports,
    }


def _key(ports: Iterable[Object]) -> _Ports:
    return frozenset(
        (port.get("name") or "", port.get("port"), port.get("protocol") or "TCP", port.get("appProtocol"))
        for port in ports
    )


def _identity(endpoint: Object) -> _Identity:
    target = section(endpoint, "targetRef")
    hostname = endpoint.get("hostname") or ""
    return tuple(endpoint["addresses"]), hostname, target.get("namespace") or "", target.get("name") or ""


def _is_same(old: Object, new: Object) -> bool:
    return all(old.get(name) == new.get(name) for name in ("nodeName", "zone", "conditions", "targetRef"))


def _is_of(found: Object, service: SelectingService) -> bool:
    owners = entries(found["metadata"], "ownerReferences")
    return any(owner["uid"] == service.metadata.uid and owner["kind"] == "Service" for owner in owners)


def _is_empty_one(found: Object, empty: Object) -> bool:
    return (
        not found.get("endpoints")
        and not found.get("ports")
        and found["metadata"].get("labels") == empty["metadata"]["labels"]
    )


def _relabelled(found: Object, labels: dict[str, str]) -> Object:
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


def _stamp(made: Object, trigger: str | None) -> Object:
    metadata = made["metadata"]
    return {**made, "metadata": {**metadata, "annotations": stamped(metadata.get("annotations"), trigger)}}
