"""The routes of all services, kept equal to what the API server shows."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from rayward.kube.core.objects import Key
from rayward.kube.core.service import EndpointSlice, Service, ServicePort
from rayward.kube.runtime.cache import Cache
from rayward.local.traffic import endpoints
from rayward.local.traffic.endpoints import Found
from rayward.local.traffic.place import Place
from rayward.local.traffic.route import Group, Route, Target

SERVICE_NAME: Final = "kubernetes.io/service-name"
API_SERVER: Final = Key("default", "kubernetes")
_PODS: Final = ipaddress.ip_network("10.42.0.0/16")
_LONGEST_AFFINITY: Final = 86400
_USUAL_AFFINITY: Final = 10800


class Table:
    """Every port of every service."""

    def __init__(
        self,
        services: Cache[Service],
        slices: Cache[EndpointSlice],
        places: tuple[Place, Place],
        api_server: tuple[str, int],
        changed: Callable[[Key], None],
        now: Callable[[], float],
    ) -> None:
        self._services = services
        self._slices = slices
        self._host, self._pod_network = places
        self._api_server = api_server
        self._changed = changed
        self._now = now
        self._routes: dict[Key, dict[tuple[str, int], Route]] = {}
        self._followers: dict[Key, set[Key]] = {}

    def follow(self) -> None:
        """Be up to date from now on."""
        self._services.subscribe(self._service_changed)
        self._slices.subscribe(self._slice_changed)

    def __iter__(self) -> Iterator[Route]:
        return (route for routes in self._routes.values() for route in routes.values())

    def routes_of(self, service: Key) -> Iterable[Route]:
        """The routes of one service."""
        return self._routes.get(service, {}).values()

    def route(self, service: Key, protocol: str, port: int) -> Route:
        """The route of one port; one that nothing is behind if there is no such port."""
        routes = self._routes.setdefault(service, {})
        found = routes.get((protocol, port))
        if found is None:
            found = routes[protocol, port] = Route(str(service), str(port), lambda: self._changed(service), self._now)
        return found

    def drop(self, service: Key) -> None:
        """Forget a service that is gone; its frontends, which hold its routes, must be closed."""
        if self._services.get(service) is None:
            self._routes.pop(service, None)

    def _service_changed(self, old: Service | None, new: Service | None) -> None:
        found = new or old
        assert found is not None
        for followed in self._divided(old):
            self._followers.get(followed, set()).discard(found.key)
        for followed in self._divided(new):
            self._followers.setdefault(followed, set()).add(found.key)
        self._refresh(found.key)
        self._changed(found.key)

    def _slice_changed(self, old: EndpointSlice | None, new: EndpointSlice | None) -> None:
        for found in {one.metadata.label(SERVICE_NAME): one for one in (old, new) if one is not None}.values():
            self._refresh(Key(found.metadata.namespace, found.metadata.label(SERVICE_NAME)))

    def _divided(self, service: Service | None) -> list[Key]:
        divided = endpoints.shares(service) if service is not None else None
        if service is None or divided is None or isinstance(divided, str):
            return []
        return [Key(service.metadata.namespace, share.service) for share in divided]

    def _refresh(self, key: Key) -> None:
        self._refresh_one(key)
        for follower in self._followers.get(key, ()):
            if follower != key:
                self._refresh_one(follower)

    def _refresh_one(self, key: Key) -> None:
        service = self._services.get(key)
        ports = service.spec.ports or () if service is not None else ()
        wanted = {(port.protocol, port.port) for port in ports}
        for name, route in self._routes.get(key, {}).items():
            if name not in wanted:
                route.update(())
        if service is None:
            return
        for port in ports:
            route = self.route(key, port.protocol, port.port)
            route.http = endpoints.speaks_http(port)
            route.sticky_seconds = _affinity(service)
            route.update(self._groups(service, port))

    def _groups(self, service: Service, port: ServicePort) -> list[Group]:
        if service.key == API_SERVER:
            host, number = self._api_server
            return [Group(1, (Target(host, host, number, self._host),))]
        divided = endpoints.shares(service)
        if divided is None or isinstance(divided, str):
            return [Group(1, self._targets(service.key, port))]
        groups: list[Group] = []
        for share in divided:
            other = self._services.get(Key(service.metadata.namespace, share.service))
            match = endpoints.counterpart(port, other.spec.ports or ()) if other is not None else None
            targets = self._targets(other.key, match) if other is not None and match is not None else ()
            groups.append(Group(share.weight, targets))
        return groups

    def _targets(self, service: Key, port: ServicePort) -> tuple[Target, ...]:
        slices = self._slices.find("service", f"{service.namespace}/{service.name}")
        return tuple(
            Target(found.pod or found.address, found.address, found.port, self._place(found))
            for found in endpoints.find(port, slices)
        )

    def _place(self, found: Found) -> Place:
        address = ipaddress.ip_address(found.address)
        # A pod in the node's own network has the node's address: this machine's loopback, seen from inside.
        inside = address in _PODS or (bool(found.pod) and address.is_loopback)
        return self._pod_network if inside else self._host


def _affinity(service: Service) -> int:
    spec = service.spec
    if spec.session_affinity != "ClientIP":
        return 0
    config = spec.session_affinity_config.client_ip if spec.session_affinity_config is not None else None
    seconds = config.timeout_seconds if config is not None else None
    return min(seconds or _USUAL_AFFINITY, _LONGEST_AFFINITY)
