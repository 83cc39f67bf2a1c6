"""One rule and one question each: every way in which a request can fit a rule or miss it.

The real server notices a role a moment later, so every role here also lets its user look at ``canaries``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.contract.access import (
    binding,
    cluster_binding,
    cluster_role,
    may,
    may_path,
    once,
    role,
    rule,
    subject,
)
from tests.contract.case import Case, Step, case

_CANARY = rule("get", "canaries")
_SEEN = once(may("get", "canaries"))
_GROUPS = {"pods": "", "secrets": "", "deployments": "apps", "rayclusters": "ray.io", "rayjobs": "ray.io"}


def _verbs() -> Iterator[Case]:
    """A rule of one verb, and requests of every other."""
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    for granted in verbs:
        for asked in verbs:
            if granted == asked or (granted, asked) in (("get", "list"), ("list", "watch"), ("update", "patch")):
                question = may(asked, "rayclusters", group="ray.io", name="r" if asked in ("get", "delete") else "")
                yield _of(f"{granted} granted, {asked} asked", [rule(granted, "rayclusters", ["ray.io"])], question)


def _places() -> Iterator[Case]:
    """A Role and a ClusterRole, bound in a namespace or everywhere, asked here, elsewhere and without a namespace."""
    for made, bound in (("role", "binding"), ("cluster role", "binding"), ("cluster role", "cluster binding")):
        for resource, group in _GROUPS.items():
            for place in ("{ns}", "elsewhere", ""):
                granted = [rule("get", resource, [group])]
                name = f"{resource} of a {made} by a {bound}, asked in {place.strip('{}') or 'no namespace'}"
                yield case(name, _made(made, bound, granted), _SEEN, may("get", resource, group=group, namespace=place))


def _made(kind: str, bound: str, rules: list[dict[str, object]]) -> list[Step]:
    if kind == "role":
        return [role(*rules, _CANARY), binding()]
    tied = cluster_binding() if bound == "cluster binding" else binding(kind="ClusterRole", role="r-{ns}")
    return [cluster_role(*rules, _CANARY), tied]


def _parts() -> Iterator[Case]:
    """Resources, parts of them and wildcards."""
    for granted in ("pods", "pods/log", "pods/*", "*/log", "*", "*/*"):
        for part in ("", "log", "exec"):
            question = may("get", "pods", sub=part)
            yield _of(f"{granted} granted, pods{'/' if part else ''}{part} asked", [rule("get", granted)], question)


def _names() -> Iterator[Case]:
    """Rules for some names."""
    for names in ("a", "a b", "c"):
        for asked in ("a", ""):
            question = may("update", "configmaps", name=asked)
            name = f"names {names} granted, {asked or 'no name'} asked"
            yield _of(name, [rule("update", "configmaps", names=names)], question)


def _paths() -> Iterator[Case]:
    for granted in ("/metrics", "/metrics/*", "/*", "*"):
        for asked in ("/metrics", "/metrics/a", "/metricsandmore", "/"):
            yield _of(f"path {granted} granted, {asked} asked", [rule("get", urls=granted)], may_path("get", asked))


def _subjects() -> Iterator[Case]:
    """Who is bound, and who asks."""
    bound = {
        "a user": subject("User", "u-{ns}"),
        "a group": subject("Group", "team-{ns}"),
        "everybody who is known": subject("Group", "system:authenticated"),
    }
    for name, bound_to in bound.items():
        for groups in ((), ("team-{ns}",), ("other",), ("system:authenticated",)):
            asked = ", ".join(groups).replace("{ns}", "x") or "no group"
            seen = once(may("get", "canaries", groups=["system:authenticated", "team-{ns}"]))
            made = [role(rule("get", "pods"), _CANARY), binding(bound_to)]
            yield case(f"bound to {name}, asked with {asked}", made, seen, may("get", "pods", groups=groups))


def _of(name: str, rules: list[dict[str, object]], question: Step) -> Case:
    return case(name, cluster_role(*rules, _CANARY), cluster_binding(), _SEEN, question)


CASES = [*_verbs(), *_places(), *_parts(), *_names(), *_paths(), *_subjects()]
