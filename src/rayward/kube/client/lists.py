"""A collection as the server lists it."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec
import orjson

from rayward.kube.client.options import ListOptions
from rayward.kube.client.values import as_dict, as_list
from rayward.kube.core.resource import Resource
from rayward.net.errors import ProtocolError

PAGE_SIZE: Final = 500


class ObjectList(msgspec.Struct, frozen=True):
    """Objects, and the version of the collection at which they are true."""

    items: list[dict[str, Any]]
    resource_version: str
    continue_token: str = ""
    remaining: int | None = None


def next_page(options: ListOptions, continue_token: str) -> ListOptions:
    """What to ask for after a page. The token carries the version: servers refuse to be told it twice."""
    following = options.copy()
    following["continue_token"] = continue_token
    following.pop("resource_version", None)
    following.pop("resource_version_match", None)
    return following


def in_one_go(options: ListOptions) -> ListOptions:
    """What to ask for after the server compacted the version that the pages are of."""
    whole = options.copy()
    whole.pop("continue_token", None)
    whole["limit"] = 0
    return whole


def decode_object(body: bytes) -> dict[str, Any]:
    """An answer that is one object.

    Raises:
        ProtocolError: It is none.
    """
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ProtocolError(f"the answer is not JSON: {error}: {body[:200]!r}") from error
    if not isinstance(found, dict):
        raise ProtocolError(f"the answer is no object: {body[:200]!r}")
    return as_dict(found)


def decode_list(body: bytes, resource: Resource) -> ObjectList:
    """A list or a page of one. Servers leave out what the list says of its items: apiVersion and kind are put back.

    Raises:
        ProtocolError: The answer is no list.
    """
    answer = decode_object(body)
    metadata = as_dict(answer.get("metadata"))
    items: Any = answer.get("items")
    if items is None and not str(answer.get("kind", "")).endswith("List"):
        raise ProtocolError(f"the answer for {resource} is no list")
    objects = cast("list[dict[str, Any]]", as_list(items))
    for item in objects:
        item.setdefault("apiVersion", resource.api_version)
        item.setdefault("kind", resource.kind)
    remaining = metadata.get("remainingItemCount")
    return ObjectList(
        objects,
        str(metadata.get("resourceVersion") or ""),
        str(metadata.get("continue") or ""),
        remaining if isinstance(remaining, int) else None,
    )
