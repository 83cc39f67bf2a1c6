"""The stored roles and bindings, indexed by whom they are for.

``RoleIndex`` follows the store; what it says of a user is a pure function of the roles and bindings it was given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from rayward.kube.machinery.gotext import quoted
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.rbac.rule import Rule
from rayward.local.store import Event, Store

_GROUP: Final = "rbac.authorization.k8s.io"
ROLES: Final = f"/roles.{_GROUP}/"
CLUSTER_ROLES: Final = f"/clusterroles.{_GROUP}/"
BINDINGS: Final = f"/rolebindings.{_GROUP}/"
CLUSTER_BINDINGS: Final = f"/clusterrolebindings.{_GROUP}/"
_PREFIXES: Final = (ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS)

_Subject = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Grant:
    """A rule that somebody has, and by which binding."""

    source: str
    rule: Rule


@dataclass(frozen=True, slots=True)
class Grants:
    """All rules of somebody in a namespace, and the roles that his bindings name and that are not there."""

    found: tuple[Grant, ...]
    errors: tuple[str, ...]

    @property
    def rules(self) -> list[Rule]:
        return [grant.rule for grant in self.found]

    @property
    def error(self) -> str:
        """The errors as Go shows several of them; empty for none."""
        distinct = list(dict.fromkeys(self.errors))
        return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""


@dataclass(frozen=True, slots=True)
class RoleRef:
    """The role that a binding gives."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class _Binding:
    name: str
    namespace: str
    """Empty for a binding of the whole cluster."""
    role: RoleRef
    subjects: tuple[tuple[_Subject, str], ...]
    """Whom it is for, each with the words that describe it."""

    def source(self, mine: frozenset[_Subject]) -> str:
        shown = next(words for subject, words in self.subjects if subject in mine)
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        return f"{kind} {quoted(name)} of {self.role.kind} {quoted(self.role.name)} to {shown}"


class RoleIndex:
    """Roles by name, and bindings by subject."""

    def __init__(self) -> None:
        self.generation = 0
        """Rises with every change, so that what was decided before can be forgotten."""
        self._roles: dict[str, tuple[Rule, ...]] = {}
        self._bindings: dict[str, _Binding] = {}
        self._by_subject: defaultdict[str, defaultdict[_Subject, dict[str, _Binding]]]
        self._by_subject = defaultdict(lambda: defaultdict(dict))

    def load(self, store: Store) -> None:
        """Read all that is stored."""
        for prefix in _PREFIXES:
            for key in store.keys(prefix):
                record = store.get(key)
                if record is not None:
                    self.put(key, orjson.loads(record.value))

    def on_commit(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.key.startswith(_PREFIXES):
                self.put(event.key, None if event.record is None else orjson.loads(event.record.value))

    def put(self, key: str, obj: Object | None) -> None:
        """A role or binding is now this; None: gone."""
        self.generation += 1
        if key.startswith((ROLES, CLUSTER_ROLES)):
            self._roles.pop(key, None)
            if obj is not None:
                self._roles[key] = tuple(Rule.from_object(rule) for rule in entries(obj, "rules"))
            return
        old = self._bindings.pop(key, None)
        if old is not None:
            for subject, _words in old.subjects:
                self._by_subject[old.namespace][subject].pop(key, None)
        if obj is not None:
            binding = self._bindings[key] = _binding(obj)
            for subject, _words in binding.subjects:
                self._by_subject[binding.namespace][subject][key] = binding

    def rules_of(self, role: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """The rules of the role that a binding in this namespace names; None: there is no such role."""
        return self._roles.get(_key(role, namespace))

    def grants(self, user: User, namespace: str) -> Grants:
        """What a user has in a namespace, and everywhere; bindings in the order of their names."""
        mine = frozenset({("User", user.name), *(("Group", group) for group in user.groups)})
        found: list[Grant] = []
        errors: list[str] = []
        for scope in ("", namespace) if namespace else ("",):
            for binding in self._bindings_of(mine, scope):
                rules = self.rules_of(binding.role, scope)
                if rules is None:
                    kind = binding.role.kind.lower()
                    errors.append(f"{kind}.{_GROUP} {quoted(binding.role.name)} not found")
                    continue
                source = binding.source(mine)
                found.extend(Grant(source, rule) for rule in rules)
        return Grants(tuple(found), tuple(errors))

    def _bindings_of(self, mine: frozenset[_Subject], scope: str) -> Iterator[_Binding]:
        known = self._by_subject.get(scope)
        if not known:
            return
        found = {key: binding for subject in mine for key, binding in (known.get(subject) or {}).items()}
        for key in sorted(found):
            yield found[key]


def _key(role: RoleRef, namespace: str) -> str:
    return f"{CLUSTER_ROLES}{role.name}" if role.kind == "ClusterRole" else f"{ROLES}{namespace}/{role.name}"


def role_ref(obj: Object) -> RoleRef:
    """The role that a binding names."""
    ref = section(obj, "roleRef")
    return RoleRef(ref.get("kind") or "", ref.get("name") or "")


def _binding(obj: Object) -> _Binding:
    namespace = obj["metadata"].get("namespace") or ""
    subjects = tuple(_subject(subject, namespace) for subject in entries(obj, "subjects"))
    return _Binding(obj["metadata"]["name"], namespace, role_ref(obj), subjects)


def _subject(subject: Object, namespace: str) -> tuple[_Subject, str]:
    kind, name = subject.get("kind") or "", subject.get("name") or ""
    if kind != "ServiceAccount":
        return (kind, name), f"{kind} {quoted(name)}"
    where = subject.get("namespace") or namespace
    return ("User", f"system:serviceaccount:{where}:{name}"), f"{kind} {quoted(f'{name}/{where}')}"
