"""Watches: where they start, what selectors do to them, how they end."""

from __future__ import annotations

from dataclasses import replace

from tests.contract.case import NEVER_A_SERVER_ERROR, bad_request_in, case, create, delete, get, merge, watch
from tests.contract.objects import configmap, lease, pod, raycluster

_PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def _start():
    return get("leases").keeping(rv="metadata.resourceVersion").only_of("kind")


CASES = [
    case(
        "a watch from a resource version tells all that came after",
        _start(),
        create("leases", lease("l", holderIdentity="a")),
        merge("leases/l", {"spec": {"holderIdentity": "b"}}),
        delete("leases/l"),
        watch("leases?resourceVersion={rv}", 3),
    ),
    case(
        "a watch without a resource version starts with what exists",
        create("leases", lease("a")),
        create("leases", lease("b")),
        watch("leases", 2),
    ),
    case(
        "a watch from 0 starts with what exists",
        create("leases", lease("a")),
        get("leases").only_of("kind"),
        watch("leases?resourceVersion=0", 1),
    ),
    case(
        "a watch resumes after the last event seen",
        _start(),
        create("leases", lease("a")),
        create("leases", lease("b")).keeping(seen="metadata.resourceVersion"),
        create("leases", lease("c")),
        watch("leases?resourceVersion={seen}", 1),
    ),
    case("a watch ends after its timeout", create("leases", lease("a")), watch("leases?timeoutSeconds=1", 0)),
    case(
        "an update that changes nothing is no event",
        create("leases", lease("l", holderIdentity="a")).keeping(rv="metadata.resourceVersion"),
        merge("leases/l", {"spec": {"holderIdentity": "a"}}),
        watch("leases?resourceVersion={rv}&timeoutSeconds=1", 0),
    ),
    case(
        "an object that comes to match a label selector is ADDED, one that ceases is DELETED",
        create("configmaps", configmap("c", labels={"on": "no"})).keeping(rv="metadata.resourceVersion"),
        merge("configmaps/c", {"metadata": {"labels": {"on": "yes"}}}),
        merge("configmaps/c", {"data": {"a": "2"}}),
        merge("configmaps/c", {"metadata": {"labels": {"on": "no"}}}),
        merge("configmaps/c", {"data": {"a": "3"}}),
        watch("configmaps?resourceVersion={rv}&labelSelector=on%3Dyes&timeoutSeconds=2", 0),
    ),
    case(
        "an object that ceases to match a field selector is DELETED",
        create("pods", pod("p")).keeping(rv="metadata.resourceVersion"),
        merge("pods/p/status", {"status": {"phase": "Running"}}),
        merge("pods/p/status", {"status": {"phase": "Succeeded"}}),
        watch("pods?resourceVersion={rv}&fieldSelector=status.phase%3DRunning&timeoutSeconds=2", 0),
    ),
    case(
        "one object is watched by its name",
        create("configmaps", configmap("c")).keeping(rv="metadata.resourceVersion"),
        create("configmaps", configmap("d")),
        merge("configmaps/d", {"data": {"a": "2"}}),
        merge("configmaps/c", {"data": {"a": "2"}}),
        watch("configmaps?resourceVersion={rv}&fieldSelector=metadata.name%3Dc", 1),
    ),
    case(
        "the old watch paths still serve",
        create("configmaps", configmap("c", labels={"mine": "yes"})).keeping(rv="metadata.resourceVersion"),
        merge("configmaps/c", {"data": {"a": "2"}}),
        watch("/api/v1/watch/namespaces/{ns}/configmaps?resourceVersion={rv}", 1),
        watch("/api/v1/watch/namespaces/{ns}/configmaps/c?resourceVersion={rv}", 1),
    ),
    case(
        "one object is watched through its own path",
        create("configmaps", configmap("c")).keeping(rv="metadata.resourceVersion"),
        create("configmaps", configmap("d")),
        merge("configmaps/c", {"data": {"a": "2"}}),
        watch("configmaps/c?resourceVersion={rv}", 1),
    ),
    case(
        "the initial events end with a bookmark when asked for",
        create("leases", lease("a")),
        create("leases", lease("b")),
        watch("leases?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", 3),
    ),
    case(
        "the initial events of an empty collection are a bookmark",
        watch("leases?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", 1),
    ),
    case(
        "initial events without bookmarks just start",
        create("leases", lease("a")),
        watch("leases?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1", 0),
    ),
    case(
        "no initial events when they are turned off",
        create("leases", lease("a")),
        watch("leases?sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=&timeoutSeconds=1", 0),
    ),
    case(
        "initial events need a match of NotOlderThan",
        watch("leases?sendInitialEvents=true&allowWatchBookmarks=true", 0),
        watch("leases?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=Exact", 0),
    ),
    case(
        "a match without initial events is refused",
        watch("leases?resourceVersionMatch=NotOlderThan&resourceVersion=1", 0),
    ),
    case(
        "a resource version that is no number is refused",
        watch("leases?resourceVersion=abc", 0),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case("a watch from the future waits", watch("leases?resourceVersion=999999999&timeoutSeconds=5", 0)),
    case(
        "a bad selector is refused",
        watch("leases?labelSelector=a%3D%3D%3D", 0),
        watch("leases?fieldSelector=spec.x%3D1", 0),
    ),
    case("a bad timeout is refused", watch("leases?timeoutSeconds=soon", 0)),
    case(
        "any value of the watch flag but 0 and false means yes",
        replace(get("leases?watch=perhaps&timeoutSeconds=1"), events=0),
        get("leases?watch=0").only_of("kind"),
        get("leases?watch=false").only_of("kind"),
    ),
    case(
        "a watch of metadata alone",
        create("configmaps", configmap("c", labels={"a": "b"})).keeping(rv="metadata.resourceVersion"),
        merge("configmaps/c", {"data": {"a": "2"}}),
        watch("configmaps?resourceVersion={rv}", 1, _PARTIAL),
    ),
    case(
        "a watch of table rows names the columns once",
        _start(),
        create("leases", lease("l", holderIdentity="a")),
        merge("leases/l", {"spec": {"holderIdentity": "b"}}),
        watch("leases?resourceVersion={rv}", 2, _TABLE),
    ),
    case(
        "a custom kind is watched like any other",
        get("rayclusters").keeping(rv="metadata.resourceVersion").only_of("kind"),
        create("rayclusters", raycluster("r")),
        merge("rayclusters/r", {"spec": {"suspend": True}}),
        merge("rayclusters/r/status", {"status": {"state": "ready"}}),
        delete("rayclusters/r"),
        watch("rayclusters?resourceVersion={rv}", 4),
    ),
    case("a custom kind from before its definition: list again", watch("rayclusters?resourceVersion=1", 0)),
    case(
        "a custom kind's metadata from before its definition: list again",
        watch("rayclusters?resourceVersion=1", 0, _PARTIAL),
    ),
    case(
        "a custom kind from before its definition, with the state first",
        create("rayclusters", raycluster("r")),
        watch(
            "rayclusters?resourceVersion=1&sendInitialEvents=true&allowWatchBookmarks=true"
            "&resourceVersionMatch=NotOlderThan",
            2,
        ),
    ),
    case(
        "deletion with a finalizer is a change, its removal the end",
        create("configmaps", configmap("c", finalizers=["example.com/hold"])).keeping(rv="metadata.resourceVersion"),
        delete("configmaps/c"),
        merge("configmaps/c", {"metadata": {"finalizers": []}}),
        watch("configmaps?resourceVersion={rv}", 2),
    ),
    case(
        "deleting a collection tells of each object",
        [create("leases", lease(name)) for name in ("a", "b")],
        _start(),
        delete("leases"),
        watch("leases?resourceVersion={rv}", 2).only_of(),
    ),
    case(
        "a watch over all namespaces",
        create("configmaps", configmap("c", labels={"case": "{ns}"})).keeping(rv="metadata.resourceVersion"),
        merge("configmaps/c", {"data": {"a": "2"}}),
        watch("/api/v1/configmaps?resourceVersion={rv}&labelSelector=case%3D{ns}", 1),
    ),
    case(
        "a watch that accepts only tables of another version is refused",
        watch("leases", 1, "application/json;as=Table;g=meta.k8s.io;v=v9"),
    ),
]
