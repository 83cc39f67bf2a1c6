"""What a URL asks for: Kubernetes' one path grammar, resolved without routes because resources are data."""

from __future__ import annotations

from dataclasses import dataclass

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """A resource request: whose object, and what is to be done with it."""

    group: str
    version: str
    resource: str
    namespace: str
    name: str
    subresource: str
    rest: tuple[str, ...]
    """Path segments behind the subresource, as ``proxy`` has them."""
    verb: str


def parse(method: str, path: str) -> RequestInfo | None:
    """The resource request that a method and path are; None for all other paths."""
    parts = path.split("/")[1:]
    if parts and parts[-1] == "":
        parts.pop()
    if len(parts) > 2 and parts[0] == "api":
        group, version, parts = "", parts[1], parts[2:]
    elif len(parts) > 3 and parts[0] == "apis":
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return None
    watched = parts[0] == "watch" and len(parts) > 1
    if watched:
        # the old way to ask for a watch: /api/v1/watch/pods
        parts = parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        # else the namespace object itself: /api/v1/namespaces/NAME[/status|/finalize]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    resource = parts[0]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 else ""
    if resource == "namespaces" and not group:
        namespace = ""
    verb = _VERBS.get(method, "")
    if watched:
        # whatever the method and what follows: so kube-apiserver asks for the right to it, and then serves GET alone
        return RequestInfo(group, version, resource, namespace, name, subresource, tuple(parts[3:]), "watch")
    if not name:
        verb = {"get": "list", "delete": "deletecollection"}.get(verb, verb)
    return RequestInfo(group, version, resource, namespace, name, subresource, tuple(parts[3:]), verb)
