"""Cluster IPs and node ports in use, counted from the services themselves."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import orjson

from rayward.local.apiserver import status
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.service.assign import Exhausted, NotAssigned, Pool, assign
from rayward.local.apiserver.builtin.service.spec import node_ports, spec_of
from rayward.local.store import Event, Store

if TYPE_CHECKING:
    from rayward.local.apiserver.core import Core

NETWORK = ipaddress.IPv4Network("10.43.0.0/16")
_PREFIX = "/services/"
_Share = tuple[frozenset[str], frozenset[int]]
"""The addresses and node ports of one service."""


class Allocation:
    """What is taken: by the services there are, and by those that are being written."""

    def __init__(self, store: Store) -> None:
        self._held: dict[str, _Share] = {}
        self._promised: dict[int, tuple[str, _Share]] = {}
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

    def give(self, core: Core, obj: Object, old: Object | None, *, dry_run: bool) -> Callable[[], None]:
        """Give a service its addresses and ports, in place; they are promised until the result is called."""
        del core
        metadata = obj["metadata"]
        key = f"{_PREFIX}{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        taken = chain(self._held.items(), self._promised.values())
        others = [share for other, share in taken if other != key]
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
        promise = id(obj)
        if not dry_run:
            # two services written in the same moment must not get one address
            self._promised[promise] = key, _share(obj)

        def release() -> None:
            self._promised.pop(promise, None)

        return release


def _share(service: Object) -> _Share:
    spec = spec_of(service)
    addresses: Sequence[str] = spec.get("clusterIPs") or ()
    return frozenset(address for address in addresses if address != "None"), frozenset(node_ports(spec))
