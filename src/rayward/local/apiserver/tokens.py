"""Service account tokens: issued on request, bound to an account and perhaps an object, valid only while both live."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.identity import User
from rayward.local.store import Store
from rayward.net.signing import SigningKey

ISSUER = "https://kubernetes.default.svc.cluster.local"
_CLAIMS_KEPT = 1024


class Tokens:
    """Issues tokens and knows whose they are."""

    def __init__(self, key: SigningKey, store: Store, clock: Callable[[], float]) -> None:
        self._key = key
        self._store = store
        self._clock = clock
        self._claims: OrderedDict[str, dict[str, Any]] = OrderedDict()

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
        claims = self._claims.get(token)
        if claims is None:
            claims = self._key.verify(token)
            if claims is None or not isinstance(claims.get("kubernetes.io"), dict):
                return None
            self._claims[token] = claims
            if len(self._claims) > _CLAIMS_KEPT:
                self._claims.popitem(last=False)
        now = self._clock()
        if not claims["nbf"] <= now + 60 or now >= claims["exp"]:
            return None
        if not set(audiences).intersection(claims["aud"]):
            return None
        identity = claims["kubernetes.io"]
        namespace, account = identity["namespace"], identity["serviceaccount"]
        if not self._lives(f"/serviceaccounts/{namespace}/{account['name']}", account["uid"]):
            return None
        extra = {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]}
        for kind, place in (("secret", f"/secrets/{namespace}/"), ("pod", f"/pods/{namespace}/"), ("node", "/nodes/")):
            bound = identity.get(kind)
            if bound is None:
                continue
            if not self._lives(place + bound["name"], bound["uid"]):
                return None
            if kind != "secret":
                extra[f"authentication.kubernetes.io/{kind}-name"] = [bound["name"]]
                extra[f"authentication.kubernetes.io/{kind}-uid"] = [bound["uid"]]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        return User(claims["sub"], account["uid"], groups, extra)

    def _lives(self, key: str, uid: str) -> bool:
        record = self._store.get(key)
        return record is not None and orjson.loads(record.value)["metadata"]["uid"] == uid
