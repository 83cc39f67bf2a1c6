"""Who may speak in another's name."""

from __future__ import annotations

from dataclasses import replace

from tests.contract.access import USER, cluster_binding, cluster_role, may, once, rule
from tests.contract.case import Step, case, create, get

_AUTHN = "authentication.k8s.io"
_SA = "system:serviceaccount:{ns}:sa"


def _by_token(step: Step, **impersonated: str) -> Step:
    """A step of the service account, in the name of another."""
    headers = {f"Impersonate-{name.replace('_', '-')}": value for name, value in impersonated.items()}
    return replace(step, headers={"Authorization": "Bearer {token}", **headers})


def _whoami(**impersonated: str) -> Step:
    step = create("selfsubjectreviews", {})
    shown = ("status.userInfo.username", "status.userInfo.groups", "status.userInfo.extra", "status.userInfo.uid")
    return _by_token(step, **impersonated).only_of(*shown, "message", "details")


def _account(*rules: object) -> list[Step]:
    """A service account with these rights in the cluster, and its token."""
    made = [
        create("serviceaccounts", {"metadata": {"name": "sa"}}).only_of("kind"),
        create("serviceaccounts/sa/token", {"spec": {}}).keeping(token="status.token").only_of("kind"),
    ]
    if not rules:
        return made
    sentinel = rule("get", "sentinels", ["example.com"])
    who = {"kind": "ServiceAccount", "name": "sa", "namespace": "{ns}"}
    made += [cluster_role(*rules, sentinel), cluster_binding(who)]
    return [*made, once(may("get", "sentinels", group="example.com", who=_SA))]


CASES = [
    case(
        "nobody by default",
        _account(),
        _whoami(User="alice"),
        _whoami(User=USER, Group="g"),
        _whoami(User="system:serviceaccount:{ns}:other"),
        _whoami(User="system:node:n"),
        _whoami(User="system:anonymous"),
        _by_token(get("pods"), User="alice"),
        _by_token(get("/version"), User="alice"),
        _by_token(get("pods"), Group="g"),
    ),
    case(
        "any user",
        _account(rule("impersonate", "users")),
        _whoami(User="alice"),
        _whoami(User="system:anonymous"),
        _whoami(User="system:node:n"),
        _whoami(User="alice", Group="g"),
        _whoami(User="alice", Uid="1"),
        _whoami(User="alice", Extra_Scopes="x"),
        _whoami(User="system:serviceaccount:{ns}:other"),
        _whoami(User="system:serviceaccount:{ns}:not_valid"),
        _by_token(get("pods"), User="alice"),
    ),
    case(
        "one user",
        _account(rule("impersonate", "users", names="alice")),
        _whoami(User="alice"),
        _whoami(User="bob"),
    ),
    case(
        "groups",
        _account(rule("impersonate", "users"), rule("impersonate", "groups", names="g system:masters")),
        _whoami(User="alice", Group="g"),
        _whoami(User="alice", Group="h"),
        _whoami(User="alice", Group="system:masters"),
        _by_token(get("nodes"), User="alice", Group="system:masters").only_of("kind"),
        _whoami(User="alice", Group="system:authenticated"),
    ),
    case(
        "service accounts",
        _account(rule("impersonate", "serviceaccounts", names="other")),
        _whoami(User="system:serviceaccount:{ns}:other"),
        _whoami(User="system:serviceaccount:default:other"),
        _whoami(User="system:serviceaccount:{ns}:third"),
        _whoami(User="alice"),
    ),
    case(
        "uids and extra",
        _account(
            rule("impersonate", "users"),
            rule("impersonate", "uids", [_AUTHN], names="1"),
            rule("impersonate", "userextras/scopes", [_AUTHN], names="read"),
        ),
        _whoami(User="alice", Uid="1"),
        _whoami(User="alice", Uid="2"),
        _whoami(User="alice", Extra_Scopes="read"),
        _whoami(User="alice", Extra_Scopes="write"),
        _whoami(User="alice", Extra_Other="read"),
    ),
    case(
        "constrained: both rights are needed",
        _account(rule("impersonate:user-info", "users", [_AUTHN]), rule("impersonate-on:user-info:list", "pods")),
        _by_token(get("pods"), User="alice"),
        _by_token(get("pods/p"), User="alice"),
        _by_token(get("secrets"), User="alice"),
        _by_token(get("pods"), User="alice", Group="g"),
        _by_token(get("pods"), User="system:node:n"),
        _by_token(get("pods"), User="system:serviceaccount:{ns}:other"),
    ),
    case(
        "constrained: without the right to be the user",
        _account(rule("impersonate-on:user-info:list", "pods")),
        _by_token(get("pods"), User="alice"),
    ),
    case(
        "constrained: a user and groups",
        _account(
            rule("impersonate:user-info", "users groups", [_AUTHN]),
            rule("impersonate-on:user-info:create", "selfsubjectreviews", [_AUTHN]),
        ),
        _whoami(User="alice", Group="g"),
        _whoami(User="alice", Group="system:masters"),
        _whoami(User="alice"),
        _whoami(User="system:anonymous"),
    ),
    case(
        "constrained: service accounts",
        _account(
            rule("impersonate:serviceaccount", "serviceaccounts", [_AUTHN]),
            rule("impersonate-on:serviceaccount:create", "selfsubjectreviews", [_AUTHN]),
        ),
        _whoami(User="system:serviceaccount:{ns}:other"),
        _whoami(User="system:serviceaccount:{ns}:other", Group="g"),
        _by_token(get("pods"), User="system:serviceaccount:{ns}:other"),
    ),
    case(
        "constrained: nodes",
        _account(
            rule("impersonate:arbitrary-node", "nodes", [_AUTHN], names="n"),
            rule("impersonate-on:arbitrary-node:create", "selfsubjectreviews", [_AUTHN]),
        ),
        _whoami(User="system:node:n"),
        _whoami(User="system:node:m"),
        _whoami(User="system:node:n", Group="g"),
    ),
]
