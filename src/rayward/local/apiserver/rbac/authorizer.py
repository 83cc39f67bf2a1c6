"""The decision: may this user do this. Members of ``system:masters`` may do all; everybody else what roles give."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from rayward.local.apiserver.identity import PART, User
from rayward.local.apiserver.rbac.access import Access, forbidden
from rayward.local.apiserver.rbac.policy import Grants, RoleIndex

_log = logging.getLogger(__name__)
MASTERS: Final = "system:masters"
_MOST_KEPT: Final = 8192


@dataclass(frozen=True, slots=True)
class Decision:
    """Allowed or not, and why."""

    allowed: bool
    reason: str = ""


_MASTER: Final = Decision(allowed=True)


def decide(grants: Grants, access: Access) -> Decision:
    """The first rule that allows it, in words; else what went wrong while looking."""
    for grant in grants.found:
        if grant.rule.allows(access):
            return Decision(allowed=True, reason=f"RBAC: allowed by {grant.source}")
    return Decision(allowed=False, reason=f"RBAC: {grants.error}" if grants.errors else "")


class Authorizer:
    """Decides by the roles of the index, and keeps what it found until one of them changes.

    Kept are the rules that fit a request but for its object's name: names are many, the rest of a request is not.
    """

    def __init__(self, index: RoleIndex) -> None:
        self.index = index
        self._generation = index.generation
        self._kept: dict[tuple[object, ...], Grants] = {}
        self._held: dict[tuple[object, ...], Grants] = {}

    def authorize(self, user: User, access: Access) -> Decision:
        """Whether the user may."""
        if MASTERS in user.groups:
            return _MASTER
        return decide(self._fitting(user, access), access)

    def require(self, user: User, access: Access) -> None:
        """Refuse what the user may not. Raises ApiError."""
        if MASTERS in user.groups:
            return
        for grant in self._fitting(user, access).found:
            # every request passes here: what allows it needs no words
            if not grant.rule.names or grant.rule.allows(access):
                return
        decision = self.authorize(user, access)
        refusal = forbidden(user, access, decision.reason)
        if user.name.startswith(PART):
            # what a part lacks is a mistake of ours, not of anybody who could read the answer
            _log.warning("a part of the stack was refused: %s", refusal.message)
        raise refusal

    def _fitting(self, user: User, access: Access) -> Grants:
        if self._generation != self.index.generation or len(self._kept) > _MOST_KEPT:
            self._kept.clear()
            self._held.clear()
            self._generation = self.index.generation
        what = (access.verb, access.group, access.resource, access.subresource, access.namespace, access.path)
        key = (user.name, user.groups, what, access.of_resource)
        kept = self._kept.get(key)
        if kept is None:
            held = self._grants(user, access.namespace)
            found = tuple(grant for grant in held.found if grant.rule.matches(access))
            kept = self._kept[key] = Grants(found, held.errors)
        return kept

    def _grants(self, user: User, namespace: str) -> Grants:
        key = (user.name, user.groups, namespace)
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = self.index.grants(user, namespace)
        return held
