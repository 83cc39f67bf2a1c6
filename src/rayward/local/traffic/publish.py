"""What is told about a service in its own object. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from rayward.kinds.labels import DRAINING, LOAD_BALANCER, SERVING
from rayward.kube.core.service import Service
from rayward.kube.machinery.jsonvalue import Object
from rayward.local import addresses
from rayward.local.traffic.endpoints import speaks_http


class Seen(msgspec.Struct, frozen=True):
    """A backend of a service."""

    pod: str
    current: bool
    in_flight: int


def wanted_annotations(service: Service, seen: Iterable[Seen], moved: Mapping[str, int]) -> dict[str, str | None]:
    """What should stand in the annotations that are ours; None for what should not be there."""
    wanted: dict[str, str | None] = {addresses.SHELL_PORTS: addresses.moved_text(moved), SERVING: None, DRAINING: None}
    if any(speaks_http(port) for port in service.spec.ports or ()):
        known = list(seen)
        serving = {one.pod for one in known if one.current}
        draining = {one.pod for one in known if not one.current and one.in_flight} - serving
        wanted[SERVING] = ",".join(sorted(serving))
        wanted[DRAINING] = ",".join(sorted(draining)) or None
    return wanted


def metadata_patch(service: Service, wanted: Mapping[str, str | None]) -> Object | None:
    """The merge patch that makes the annotations right; None if they are."""
    have = service.metadata.annotations or {}
    wrong = {name: value for name, value in wanted.items() if have.get(name) != value}
    if not wrong:
        return None
    # One of this name that was made anew is another service.
    return {"metadata": {"uid": service.metadata.uid, "annotations": wrong}}


def status_patch(service: Service) -> Object | None:
    """The merge patch that gives a load balancer its address; None if it has one or is somebody else's."""
    spec = service.spec
    host = addresses.shell_host(service)
    if spec.type != "LoadBalancer" or host is None or spec.load_balancer_class not in (None, LOAD_BALANCER):
        return None
    balancer = service.status.load_balancer
    if balancer is not None and balancer.ingress:
        return None
    return {"metadata": {"uid": service.metadata.uid}, "status": {"loadBalancer": {"ingress": [{"ip": host}]}}}
