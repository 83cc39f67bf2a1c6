"""Service account tokens: issued on request, bound to an account and perhaps an object, valid only while both live."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.identity import User
from rayward.local.store import Record, Store
from rayward.net.signing import SigningKey

ISSUER = "https://kubernetes.default.svc.cluster.local"
_KNOWN_KEPT = 1024


@dataclass(slots=True)
class _Known:
    """What a token that was verified says; only its time and what it is bound to are looked at again."""

    user: User
    audiences: frozenset[str]
    begins: float
    ends: float
    bound: tuple[tuple[str, str], ...]
    """Keys of objects that must exist, with their uids."""
    seen: list[Record | None]
    """The records in which these uids were found: the same record needs no second look."""


class Tokens:
    """Issues tokens and knows whose they are."""

    def __init__(self, key: SigningKey, store: Store, clock: Callable[[], float]) -> None:
        self._key = key
        self._store = store
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def issue(self, account: Object, audiences: Sequence[str], seconds: int, bound: Object | None) -> tuple[str, int]:
        """A token for a service account and the time it ends."""
        now = int(self._clock())
        namespace, name = account["metadata"]["namespace"], account["metadata"]["name"]
        identity: dict[str, Any] = {
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": account["metadata"]["uid"]},
        }
        if bound is not None:
            identity[bound["kind"].lower()] = {"name": bound["metadata"]["name"], "uid": bound["metadata"]["uid"]}
        claims = {
            "aud": list(audiences) or [ISSUER],
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": str(uuid.uuid4()),
            "kubernetes.io": identity,
            "nbf": now,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        return self._key.sign(claims), now + seconds

    def user(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> User | None:
        """Whose token this is, if it is ours, for one of these audiences, in time, and what it is bound to exists."""
        known = self._known.get(token) or self._read(token)
        if known is None or known.audiences.isdisjoint(audiences):
            return None
        now = self._clock()
        if not known.begins <= now + 60 or now >= known.ends:
            return None
        for place, (key, uid) in enumerate(known.bound):
            record = self._store.get(key)
            if record is not known.seen[place]:
                if record is None or orjson.loads(record.value)["metadata"]["uid"] != uid:
                    return None
                known.seen[place] = record
        return known.user

    def _read(self, token: str) -> _Known | None:
        claims = self._key.verify(token)
        if claims is None or not isinstance(claims.get("kubernetes.io"), dict):
            return None
        identity = claims["kubernetes.io"]
        namespace, account = identity["namespace"], identity["serviceaccount"]
        bound = [(f"/serviceaccounts/{namespace}/{account['name']}", account["uid"])]
        extra = {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]}
        for kind, place in (("secret", f"/secrets/{namespace}/"), ("pod", f"/pods/{namespace}/"), ("node", "/nodes/")):
            holder = identity.get(kind)
            if holder is None:
                continue
            bound.append((place + holder["name"], holder["uid"]))
            if kind != "secret":
                extra[f"authentication.kubernetes.io/{kind}-name"] = [holder["name"]]
                extra[f"authentication.kubernetes.io/{kind}-uid"] = [holder["uid"]]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        user = User(claims["sub"], account["uid"], groups, extra)
        known = _Known(user, frozenset(claims["aud"]), claims["nbf"], claims["exp"], tuple(bound), [None] * len(bound))
        self._known[token] = known
        if len(self._known) > _KNOWN_KEPT:
            self._known.popitem(last=False)
        return known
