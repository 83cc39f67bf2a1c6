"""Watches over WebSockets, as fabric8 opens them, and who asks for a WebSocket where there is none."""

from __future__ import annotations

from tests.contract.case import NEVER_A_SERVER_ERROR, bad_request_in, case, create, delete, get, merge, socket
from tests.contract.objects import configmap

_OLD = {"resourceVersion": "{rv}"}
_MAKE = create("configmaps", configmap("m")).keeping(rv="metadata.resourceVersion").only_of("kind")
_WATCH = "/api/v1/watch/namespaces/{ns}/configmaps"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_REFUSED = ("message", "reason", "code")

CASES = [
    case("the present state", _MAKE, socket("configmaps", 1, watch=True, labelSelector="!no")),
    case(
        "changes",
        _MAKE,
        merge("configmaps/m", {"data": {"a": "2"}}).only_of("kind"),
        delete("configmaps/m").only_of("kind"),
        socket("configmaps", 2, watch=True, **_OLD),
    ),
    case("one object", _MAKE, socket("configmaps", 1, watch=True, fieldSelector="metadata.name=m")),
    case("the old path", _MAKE, socket(_WATCH, 1)),
    case("the old path of one object", _MAKE, socket(f"{_WATCH}/m", 1)),
    case("until its time is over", _MAKE, socket("configmaps", 0, watch=True, timeoutSeconds=1)),
    case(
        "the initial events and their end",
        _MAKE,
        socket(
            "configmaps",
            2,
            watch=True,
            sendInitialEvents=True,
            allowWatchBookmarks=True,
            resourceVersionMatch="NotOlderThan",
        ),
    ),
    case("a custom resource", socket("rayclusters", 0, watch=True, timeoutSeconds=1)),
    case("as tables", _MAKE, socket("configmaps", 1, watch=True).with_headers(Accept=_TABLE)),
    case("from version 0", socket("configmaps", 0, watch=True, resourceVersion="0", timeoutSeconds=1)),
    case("a version too old", socket("rayclusters", 0, watch=True, resourceVersion="1")),
    case(
        "a version too old, as metadata",
        socket("rayclusters", 0, watch=True, resourceVersion="1").with_headers(Accept=_PARTIAL),
    ),
    case("a bad selector", socket("configmaps", 1, watch=True, labelSelector="!!").only_of(*_REFUSED)),
    case(
        "a bad version",
        socket("configmaps", 1, watch=True, resourceVersion="x").only_of(*_REFUSED),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case("no such resource", socket("nopes", 1, watch=True).only_of(*_REFUSED)),
    case("a bad token", socket("configmaps", 1, watch=True).with_headers(Authorization="Bearer x").only_of(*_REFUSED)),
    case("without an origin", socket("configmaps", 1, "", watch=True)),
    case("one subprotocol", _MAKE, socket("configmaps", 1, watch=True).with_headers(Sec_WebSocket_Protocol="a")),
    case("two subprotocols", socket("configmaps", 1, watch=True).with_headers(Sec_WebSocket_Protocol="a, b")),
    case("a list is no stream", _MAKE, socket("configmaps", 1).only_of("kind")),
    case("an object is no stream", _MAKE, socket("configmaps/m", 1).only_of("kind", "metadata.name")),
    case("nothing there is no stream", socket("configmaps/none", 1).only_of(*_REFUSED)),
    case("the version is no stream", socket("/version", 1).only_of("major")),
    case(
        "a watch that is not one",
        _MAKE,
        socket("configmaps", 1, watch=False).only_of("kind"),
        get("configmaps").only_of("kind"),
    ),
]
