"""What a request may ask for besides its object, as keyword arguments."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal, TypedDict
from urllib.parse import urlencode

import orjson


class PatchType(StrEnum):
    """The four patch types; the value is the content type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


VersionMatch = Literal["Exact", "NotOlderThan"]
Propagation = Literal["Foreground", "Background", "Orphan"]
FieldValidation = Literal["Strict", "Warn", "Ignore"]


class GetOptions(TypedDict, total=False):
    resource_version: str


class Selectors(TypedDict, total=False):
    """Which objects of a collection."""

    label_selector: str
    field_selector: str


class ListOptions(Selectors, total=False):
    limit: int
    continue_token: str
    resource_version: str
    resource_version_match: VersionMatch
    timeout_seconds: int


class WatchOptions(Selectors, total=False):
    """For changes of a collection."""

    resource_version: str
    resource_version_match: VersionMatch
    allow_watch_bookmarks: bool
    send_initial_events: bool
    timeout_seconds: int


class WriteOptions(TypedDict, total=False):
    """For create and update."""

    field_manager: str
    field_validation: FieldValidation
    dry_run: bool


class PatchOptions(WriteOptions, total=False):
    """For patch; ``force`` is for server-side apply alone."""

    force: bool


class DeleteOptions(TypedDict, total=False):
    """For delete; ``uid`` and ``resource_version`` are preconditions."""

    grace_period_seconds: int
    propagation_policy: Propagation
    dry_run: bool
    uid: str
    resource_version: str


class DeleteCollectionOptions(DeleteOptions, Selectors, total=False):
    """For delete of many."""


_NAMES: Final = {
    "resource_version": "resourceVersion",
    "resource_version_match": "resourceVersionMatch",
    "label_selector": "labelSelector",
    "field_selector": "fieldSelector",
    "limit": "limit",
    "continue_token": "continue",
    "timeout_seconds": "timeoutSeconds",
    "allow_watch_bookmarks": "allowWatchBookmarks",
    "send_initial_events": "sendInitialEvents",
    "field_manager": "fieldManager",
    "field_validation": "fieldValidation",
    "force": "force",
}


def query(options: Mapping[str, Any], **more: str) -> str:
    """The options as a query string with its question mark, or nothing."""
    pairs = [(_NAMES[name], _text(value)) for name, value in options.items() if name in _NAMES and value is not None]
    if options.get("dry_run"):
        pairs.append(("dryRun", "All"))
    pairs.extend(more.items())
    return "?" + urlencode(pairs) if pairs else ""


def delete_body(options: DeleteOptions | DeleteCollectionOptions) -> bytes | None:
    """The DeleteOptions object that a delete sends, if it has anything to say."""
    body: dict[str, Any] = {}
    if "grace_period_seconds" in options:
        body["gracePeriodSeconds"] = options["grace_period_seconds"]
    if "propagation_policy" in options:
        body["propagationPolicy"] = options["propagation_policy"]
    if options.get("dry_run"):
        body["dryRun"] = ["All"]
    preconditions = {"uid": options.get("uid"), "resourceVersion": options.get("resource_version")}
    if any(preconditions.values()):
        body["preconditions"] = {name: value for name, value in preconditions.items() if value}
    return orjson.dumps({"kind": "DeleteOptions", "apiVersion": "v1", **body}) if body else None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
