"""What a request wants to do, in the terms that roles are written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from rayward.kube.machinery.gotext import quoted
from rayward.kube.machinery.names import check_path_segment
from rayward.kube.machinery.selectors import fields
from rayward.kube.machinery.selectors.error import SelectorError
from rayward.local.apiserver import status
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.options import flag
from rayward.local.apiserver.requestinfo import RequestInfo

_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Access:
    """A verb on a resource, or on a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    """Of a request that is for no resource; then the fields of a resource are empty."""
    of_resource: bool = True

    @property
    def part(self) -> str:
        """The resource as rules spell it: ``pods``, ``pods/log``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def asked(info: RequestInfo | None, method: str, path: str, query: bytes) -> Access:
    """What a method, path and query string ask for; ``info`` is what they parse to."""
    if info is None:
        return Access(method.lower(), path=path, of_resource=False)
    # the name of a namespace is also the namespace it is judged in
    namespace = info.name if info.resource == "namespaces" else info.namespace
    verb, name = info.verb, info.name
    if verb == "list" and query:
        verb, name = _listed(info, query)
    return Access(verb, info.group, info.resource, info.subresource, namespace, name)


def _listed(info: RequestInfo, query: bytes) -> tuple[str, str]:
    """The verb of a list or watch, and the one name that its selector asks for, if it does."""
    options = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    verb = "watch" if flag(options, "watch") else info.verb
    try:
        name = fields.parse(options.get("fieldSelector", [""])[0]).exact_value("metadata.name") or ""
    except SelectorError:
        name = ""
    return verb, "" if check_path_segment(name) else name


def forbidden(user: User, access: Access, reason: str) -> status.ApiError:
    """The refusal of a request, as kube-apiserver words it."""
    who = f"User {quoted(user.name)} cannot {access.verb}"
    if access.of_resource:
        place = f"in the namespace {quoted(access.namespace)}" if access.namespace else "at the cluster scope"
        text = f"{who} resource {quoted(access.part)} in API group {quoted(access.group)} {place}"
    else:
        text = f"{who} path {quoted(access.path)}"
    text = text.translate(_HTML)
    return refused(access.group, access.resource, access.name, f"{text}: {reason}" if reason else text)


def refused(group: str, resource: str, name: str, why: str) -> status.ApiError:
    """A Forbidden Status about an object, a resource or, without a resource, about nothing in particular."""
    qualified = f"{resource}.{group}" if group else resource
    what = f"{qualified} {quoted(name)} is forbidden" if name else f"{qualified} is forbidden"
    details = {"name": name, "group": group, "kind": resource}
    return status.ApiError(
        403,
        "Forbidden",
        f"{what if resource else 'forbidden'}: {why}",
        {field: value for field, value in details.items() if value},
    )
