"""Cluster IPs and node ports in use, counted from the services themselves."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson

from rayward.local.apiserver import status
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.serviceassign import Exhausted, NotAssigned, Pool, assign
from rayward.local.apiserver.builtin.servicerules import node_ports, spec_of
from rayward.local.store import Event, Store

if TYPE_CHECKING:
    from rayward.local.apiserver.core import Core

NETWORK = ipaddress.IPv4Network("10.43.0.0/16")
_PREFIX = "/services/"


class Allocation:
    """What is taken. A service that is being written holds its share before it is committed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[str, tuple[frozenset[str], frozenset[int]]] = {}
        for key in store.keys(_PREFIX):
            record = store.get(key)
            if record is not None:
                self._held[key] = _share(orjson.loads(record.value))

    def on_commit(self, events: Sequence[Event]) -> None:
        """Follow the services that come, change and go."""
        for event in events:
            if event.key.startswith(_PREFIX):
                if event.record is None:
                    self._held.pop(event.key, None)
                else:
                    self._held[event.key] = _share(orjson.loads(event.record.value))

    def give(self, core: Core, obj: Object, old: Object | None, *, dry_run: bool) -> None:
        """Give a service its addresses and ports, in place."""
        del core
        metadata = obj["metadata"]
        key = f"{_PREFIX}{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        others = [share for other, share in self._held.items() if other != key]
        pool = Pool(
            NETWORK,
            secrets.randbelow,
            frozenset[str]().union(*(ips for ips, _ in others)),
            frozenset[int]().union(*(ports for _, ports in others)),
            dry_run,
        )
        try:
            assign(obj, old, pool)
        except NotAssigned as error:
            raise status.invalid("", "Service", metadata.get("name", ""), error.errors) from None
        except Exhausted as error:
            raise status.internal(f"failed to allocate a serviceIP: {error}") from None
        if not dry_run and self._store.newest(key) is None and old is None:
            # held at once: two services created in the same moment must not get one address
            self._held[key] = _share(obj)


def _share(service: Object) -> tuple[frozenset[str], frozenset[int]]:
    spec = spec_of(service)
    addresses: Sequence[str] = spec.get("clusterIPs") or ()
    return frozenset(address for address in addresses if address != "None"), frozenset(node_ports(spec))
