"""Where a collection, an object or a subresource is on the server."""

from __future__ import annotations

from functools import cache
from urllib.parse import quote

from rayward.kube.core.resource import Resource


def collection_path(resource: Resource, namespace: str | None) -> str:
    """The path of a collection; ``namespace`` None or empty means all namespaces."""
    root = _root(resource)
    if namespace and resource.namespaced:
        return f"{root}/namespaces/{_segment(namespace, 'namespace')}/{resource.plural}"
    return f"{root}/{resource.plural}"


def object_path(resource: Resource, namespace: str | None, name: str, subresource: str | None = None) -> str:
    """The path of one object, or of a subresource of it.

    Raises:
        ValueError: The name cannot be part of a path, or a namespace is missing.
    """
    path = f"{home_path(resource, namespace)}/{_segment(name, 'name')}"
    return f"{path}/{subresource}" if subresource else path


def home_path(resource: Resource, namespace: str | None) -> str:
    """The path of the collection that one object of ``resource`` is written to.

    Raises:
        ValueError: A namespace is missing.
    """
    if resource.namespaced and not namespace:
        raise ValueError(f"{resource} are namespaced: a namespace is needed")
    return collection_path(resource, namespace)


@cache
def _root(resource: Resource) -> str:
    return f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"


def _segment(text: str, what: str) -> str:
    # The rule of apimachinery's IsPathSegmentName: these would change which path is meant.
    if not text or text in (".", "..") or "/" in text or "%" in text:
        raise ValueError(
            f"{text!r} cannot be the {what} of an object: it may not be empty, '.', '..' or hold '/' or '%'"
        )
    return quote(text, safe=":@!$&'()*+,;=~-._")
