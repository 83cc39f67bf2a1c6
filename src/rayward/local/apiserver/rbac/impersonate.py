"""Whether somebody may speak in another's name: constrained impersonation first, the plain ``impersonate`` verb last.

A constrained mode asks two things: may the caller do this request in that mode (``impersonate-on:MODE:VERB``), and may
he be this user (``impersonate:MODE``). The first mode that says yes decides the groups.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rayward.kube.machinery.gotext import quoted
from rayward.kube.machinery.names import check_dns1123_label, check_dns1123_subdomain
from rayward.local.apiserver.identity import ANONYMOUS, EVERYBODY, NOBODY, User
from rayward.local.apiserver.rbac.access import Access, forbidden
from rayward.local.apiserver.rbac.authorizer import MASTERS, Authorizer
from rayward.local.apiserver.status import ApiError

_GROUP: Final = "authentication.k8s.io"
_ACCOUNT: Final = "system:serviceaccount:"
_NODE: Final = "system:node:"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
_MANY: Final = 4
_REMEMBERED: Final = 10_000
_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


class Impersonation:
    """Decides who may be whom. It remembers in which mode a caller last was another, and tries that one first."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._last: OrderedDict[str, str] = OrderedDict()

    def permitted(self, caller: User, wanted: User, access: Access) -> User:
        """The wanted user, completed with the groups that go with the name.

        Raises:
            ApiError: No mode allows it; the first one's refusal.
        """
        last = self._last.get(caller.name)
        first: ApiError | None = None
        for mode in sorted(_modes(caller, wanted), key=lambda mode: mode.name != last):
            try:
                user = mode.check(self._authorizer, caller, wanted, access)
            except ApiError as error:
                first = first or error
                continue
            self._remember(caller.name, mode.name)
            return user
        assert first is not None
        raise first

    def _remember(self, caller: str, mode: str) -> None:
        self._last[caller] = mode
        self._last.move_to_end(caller)
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)


def _modes(caller: User, wanted: User) -> Iterator[_Mode]:
    node, account = _node_of(wanted.name), _account_of(wanted.name)
    alone = not (wanted.uid or wanted.groups or wanted.extra)
    if node and alone:
        if _account_of(caller.name) and list(caller.extra.get(_NODE_NAME, ())) == [node]:
            yield _Mode("associated-node")
        yield _Mode("arbitrary-node")
    if account and alone:
        yield _Mode("serviceaccount")
    if not node and not account:
        yield _Mode("user-info")
    yield _Mode("")


@dataclass(frozen=True, slots=True)
class _Mode:
    name: str
    """Empty for the plain verb."""

    @property
    def _verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"

    def check(self, authorizer: Authorizer, caller: User, wanted: User, access: Access) -> User:
        if self.name:
            authorizer.require(caller, replace(access, verb=f"impersonate-on:{self.name}:{access.verb}"))
        groups = self._check_name(authorizer, caller, wanted)
        if wanted.uid:
            authorizer.require(caller, Access(self._verb, _GROUP, "uids", name=wanted.uid))
        self._check_groups(authorizer, caller, wanted.groups)
        self._check_extra(authorizer, caller, wanted.extra)
        return replace(wanted, groups=_complete(wanted.name, groups))

    def _check_name(self, authorizer: Authorizer, caller: User, wanted: User) -> tuple[str, ...]:
        group = _GROUP if self.name else ""
        asked, groups = Access(self._verb, group, "users", name=wanted.name), wanted.groups
        node, account = _node_of(wanted.name), _account_of(wanted.name)
        if self.name and node:
            # which node is no matter where it is the caller's own
            shown = "*" if self.name == "associated-node" else node
            asked, groups = Access(self._verb, group, "nodes", name=shown), ("system:nodes",)
        if account:
            namespace, name = account
            asked = Access(self._verb, group, "serviceaccounts", namespace=namespace, name=name)
            groups = groups or ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        authorizer.require(caller, asked)
        return groups

    def _check_groups(self, authorizer: Authorizer, caller: User, groups: Sequence[str]) -> None:
        if not groups:
            return
        asked = Access(self._verb, _GROUP if self.name else "", "groups")
        if self.name:
            if "" in groups:
                raise forbidden(caller, asked, "impersonating the empty string group is not allowed")
            if MASTERS in groups:
                masters = replace(asked, name=MASTERS)
                raise forbidden(caller, masters, "impersonating the system:masters group is not allowed")
            if len(groups) >= _MANY and authorizer.authorize(caller, replace(asked, name="*")).allowed:
                return
        for group in groups:
            authorizer.require(caller, replace(asked, name=group))

    def _check_extra(self, authorizer: Authorizer, caller: User, extra: Mapping[str, Sequence[str]]) -> None:
        asked = Access(self._verb, _GROUP, "userextras")
        if self.name and extra:
            why = next(filter(None, (_extra_problem(key, extra[key]) for key in sorted(extra))), "")
            if why:
                raise forbidden(caller, asked, why)
            everything = replace(asked, subresource="*", name="*")
            many = len(extra) >= _MANY or sum(map(len, extra.values())) >= _MANY
            if many and authorizer.authorize(caller, everything).allowed:
                return
        for key in sorted(extra):
            for value in extra[key]:
                authorizer.require(caller, replace(asked, subresource=key, name=value))


def _extra_problem(key: str, values: Sequence[str]) -> str:
    if not key:
        return "impersonating the empty string key in extra is not allowed"
    wrong = _path_problem(key)
    if wrong:
        return f"impersonating an invalid key in extra is not allowed: {wrong}"
    if key != key.lower():
        return f"impersonating a non-lowercase key in extra is not allowed: {quoted(key)}"
    return "impersonating the empty string value in extra is not allowed" if "" in values else ""


def _path_problem(key: str) -> str:
    host, slash, path = key.partition("/")
    if not slash or not host or not path:
        return f'extra.key: Invalid value: {quoted(key)}: must be a domain-prefixed path (such as "acme.io/foo")'
    problems = check_dns1123_subdomain(host)
    if problems:
        return f"extra.key: Invalid value: {quoted(host)}: {problems[0]}"
    if not _PATH.fullmatch(path):
        return f"extra.key: Invalid value: {quoted(path)}: Invalid path"
    return ""


def _node_of(name: str) -> str:
    node = name.removeprefix(_NODE)
    return node if node != name and not check_dns1123_subdomain(node) else ""


def _account_of(name: str) -> tuple[str, str] | None:
    if not name.startswith(_ACCOUNT):
        return None
    namespace, _, account = name.removeprefix(_ACCOUNT).partition(":")
    return None if check_dns1123_label(namespace) or check_dns1123_subdomain(account) else (namespace, account)


def _complete(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    if name == ANONYMOUS:
        return groups if NOBODY in groups else (*groups, NOBODY)
    return groups if {EVERYBODY, NOBODY} & set(groups) else (*groups, EVERYBODY)
