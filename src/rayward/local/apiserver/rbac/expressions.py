"""``authorizer`` and ``authorizer.requestResource`` of CEL expressions, over the roles of this server."""

from __future__ import annotations

from rayward.kube.machinery.cel import authorization as cel
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.rbac.access import Access
from rayward.local.apiserver.rbac.authorizer import Authorizer


def variables(authorizer: Authorizer, attributes: Attributes) -> dict[str, object]:
    """The two variables for a request that admission looks at."""

    def ask(account: cel.Account | None, verb: str, asked: cel.PathCheck | cel.ResourceCheck) -> cel.Verdict:
        user = attributes.user if account is None else _account(*account)
        decision = authorizer.authorize(user, _access(verb, asked))
        return cel.Verdict(decision.allowed, decision.reason)

    root = cel.Authorizer(ask)
    resource = attributes.resource
    place = (resource.group, resource.plural, attributes.subresource, attributes.namespace, attributes.name)
    return {"authorizer": root, "authorizer.requestResource": cel.ResourceCheck(root, *place)}


def _account(namespace: str, name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups=groups)


def _access(verb: str, asked: cel.PathCheck | cel.ResourceCheck) -> Access:
    if isinstance(asked, cel.PathCheck):
        return Access(verb, path=asked.path, of_resource=False)
    # roles know no selectors
    return Access(verb, asked.group, asked.resource, asked.subresource, asked.namespace, asked.name)
