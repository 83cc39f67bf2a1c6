"""ResourceQuota: how many objects a namespace may hold, and how much they may ask for together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from rayward.kube.machinery.jsonvalue import section
from rayward.kube.machinery.quantity import ZERO, Quantity, parse
from rayward.kube.machinery.quotausage import (
    CLAIMS,
    PODS,
    SERVICES,
    Selector,
    Share,
    counts_all,
    kind_counted,
    selectors,
    share_of,
    unsaid,
)
from rayward.local.apiserver import status
from rayward.local.store import Event, Record, Store

if TYPE_CHECKING:
    from rayward.local.apiserver.attributes import Attributes
    from rayward.local.apiserver.core import Core

PREFIX = "/resourcequotas/"


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of one ResourceQuota."""

    key: str
    hard: Mapping[str, str]
    selectors: tuple[Selector, ...]
    kinds: frozenset[str]
    """The resources whose objects it counts."""

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    def matches(self, share: Share) -> bool:
        """Whether it counts an object."""
        return all(selector.matches(share) for selector in self.selectors)


def quota_in(record: Record) -> Quota:
    spec = section(orjson.loads(record.value), "spec")
    hard = section(spec, "hard")
    kinds = frozenset(kind_counted(name) for name in hard) - {""}
    return Quota(record.key, hard, selectors(spec), kinds)


class Quotas:
    """All quotas there are, and what is used of them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: defaultdict[str, dict[str, Quota]] = defaultdict(dict)
        self._shares: dict[str, tuple[int, Share]] = {}
        for key in store.keys(PREFIX):
            record = store.get(key)
            if record is not None:
                self._held[namespace_of(key)][key] = quota_in(record)

    def on_commit(self, events: Sequence[Event]) -> None:
        """Follow the quotas that come, change and go."""
        for event in events:
            if event.record is None:
                self._shares.pop(event.key, None)
            if event.key.startswith(PREFIX):
                here = self._held[namespace_of(event.key)]
                if event.record is not None:
                    here[event.key] = quota_in(event.record)
                else:
                    here.pop(event.key, None)
                    if not here:
                        del self._held[namespace_of(event.key)]

    @property
    def namespaces(self) -> Collection[str]:
        """Where there are quotas."""
        return self._held.keys()

    def of(self, namespace: str) -> Collection[Quota]:
        """The quotas of a namespace."""
        return self._held[namespace].values() if namespace in self._held else ()

    def check(self, core: Core, attributes: Attributes) -> None:
        """Refuse a write that a quota of the namespace does not allow."""
        obj, old, namespace = attributes.obj, attributes.old, attributes.namespace
        kind = attributes.resource.qualified_name
        if obj is None or namespace not in self._held:
            return
        share, now = share_of(kind, obj), core.clock()
        before = share_of(kind, old) if old is not None else None
        if not _takes_part(attributes, share, before):
            return
        matching = [quota for quota in self.of(namespace) if kind in quota.kinds and quota.matches(share)]
        for quota in matching:
            why = unsaid(obj, quota.hard) if kind == PODS else ""
            if why:
                text = f"failed quota: {quota.name}: {why}"
                raise status.forbidden(attributes.resource, attributes.name, text)
        for quota in matching:
            had: Mapping[str, Quantity] = before.at(now) if before is not None and quota.matches(before) else {}
            asked = {name: amount - had.get(name, ZERO) for name, amount in share.at(now).items() if name in quota.hard}
            asked = {name: amount for name, amount in asked.items() if amount > ZERO}
            if asked:
                self._check_amounts(quota, attributes, asked, now)

    def _check_amounts(self, quota: Quota, attributes: Attributes, asked: Mapping[str, Quantity], now: float) -> None:
        used = self.used(quota, attributes.namespace, tuple(asked), now)
        exceeded = sorted(name for name in asked if used[name] + asked[name] > parse(quota.hard[name]))
        if exceeded:
            why = (
                f"exceeded quota: {quota.name}, requested: {_shown(asked, exceeded)}, "
                f"used: {_shown(used, exceeded)}, "
                f"limited: {','.join(f'{name}={quota.hard[name]}' for name in exceeded)}"
            )
            raise status.forbidden(attributes.resource, attributes.name, why)

    def used(self, quota: Quota, namespace: str, names: Sequence[str], now: float) -> dict[str, Quantity]:
        """How much of these limits is used, with the writes that are on their way."""
        amounts: dict[str, Quantity] = dict.fromkeys(names, ZERO)
        for kind in {kind_counted(name) for name in names}:
            own = [name for name in names if kind_counted(name) == kind]
            scope = f"/{kind}/{namespace}/"
            if not quota.selectors and counts_all(own):
                amounts |= dict.fromkeys(own, Quantity(self._store.newest_count(scope)))
                continue
            for share in self._all_shares(kind, scope):
                if quota.matches(share):
                    taken = share.at(now)
                    for name in own:
                        amounts[name] = amounts[name] + taken.get(name, ZERO)
        return amounts

    def _all_shares(self, kind: str, scope: str) -> Sequence[Share]:
        records = (self._store.newest(key) for key in self._store.newest_keys(scope))
        return [self._share(kind, record) for record in records if record is not None]

    def _share(self, kind: str, record: Record) -> Share:
        known = self._shares.get(record.key)
        if known is None or known[0] != record.revision:
            known = self._shares[record.key] = record.revision, share_of(kind, orjson.loads(record.value))
        return known[1]


def namespace_of(key: str) -> str:
    """The namespace in a key; empty for what is in none."""
    parts = key.split("/")
    return parts[2] if len(parts) > 3 else ""


def _takes_part(attributes: Attributes, share: Share, before: Share | None) -> bool:
    """Whether a write can take more of a quota: new objects, and changes of the few kinds whose amounts can grow."""
    kind, part = attributes.resource.qualified_name, attributes.subresource
    if attributes.operation == "CREATE":
        return not part
    if kind == PODS:
        moved = before is not None and ("Terminating" in share.scopes) != ("Terminating" in before.scopes)
        return part == "resize" or (not part and moved)
    return not part and kind in (SERVICES, CLAIMS)


def _shown(amounts: Mapping[str, Quantity], names: Sequence[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)
