"""The variable ``authorizer``: what an expression builds of it is a question, and ``check`` asks it.

Who answers is handed in: a function of the user (None: who makes the request), and of what is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from rayward.kube.machinery.cel.declarations import AUTHORIZER, RESOURCE_CHECK
from rayward.kube.machinery.cel.overloads import Overloads, binary, unary
from rayward.kube.machinery.cel.values import EvaluationError
from rayward.kube.machinery.names import check_dns1123_label, check_dns1123_subdomain

Account = tuple[str, str]

VARIABLES: Final = {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}
"""How the variables are declared; the second is a name with a dot in it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a check."""

    allowed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Authorizer:
    ask: Callable[[Account | None, str, PathCheck | ResourceCheck], Verdict]
    account: Account | None = None
    """Namespace and name of a service account that is asked about in place of the caller."""


@dataclass(frozen=True, slots=True)
class PathCheck:
    """A path that is no resource."""

    authorizer: Authorizer
    path: str


@dataclass(frozen=True, slots=True)
class GroupCheck:
    authorizer: Authorizer
    group: str


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """A resource, or a part or an object of it."""

    authorizer: Authorizer
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


def _account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if check_dns1123_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if check_dns1123_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    return replace(authorizer, account=(namespace, name))


def _resource(group: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return ResourceCheck(group.authorizer, group.group, resource)


def _check(asked: PathCheck | ResourceCheck, verb: str) -> Verdict:
    return asked.authorizer.ask(asked.authorizer.account, verb, asked)


def _with(field: str) -> list[Any]:
    return [binary(ResourceCheck, str, lambda asked, value: replace(asked, **{field: value}))]


OVERLOADS: Final[Overloads] = {
    "path": [binary(Authorizer, str, PathCheck)],
    "group": [binary(Authorizer, str, GroupCheck)],
    "serviceAccount": [((Authorizer, str, str), _account)],
    "resource": [binary(GroupCheck, str, _resource)],
    "subresource": _with("subresource"),
    "namespace": _with("namespace"),
    "name": _with("name"),
    "fieldSelector": _with("field_selector"),
    "labelSelector": _with("label_selector"),
    "check": [binary((PathCheck, ResourceCheck), str, _check)],
    "allowed": [unary(Verdict, lambda verdict: verdict.allowed)],
    "reason": [unary(Verdict, lambda verdict: verdict.reason)],
    # the roles of this server are read from memory: looking at them does not fail
    "errored": [unary(Verdict, lambda _verdict: False)],
    "error": [unary(Verdict, lambda _verdict: "")],
}
