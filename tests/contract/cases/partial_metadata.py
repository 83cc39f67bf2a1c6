"""Partial metadata, and the finer points of tables."""

from __future__ import annotations

from tests.contract.case import case, create, delete, get, merge
from tests.contract.objects import (
    configmap,
    lease,
    pod,
    raycluster,
)

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


CASES = [
    case(
        "the object of a row: full, metadata or none",
        create("configmaps", configmap("c")),
        get("configmaps/c", TABLE, includeObject="Object").only_of("rows"),
        get("configmaps/c", TABLE, includeObject="None").only_of("rows"),
        get("configmaps/c", TABLE, includeObject="Metadata").only_of("rows"),
        get("configmaps/c", TABLE, includeObject="Odd"),
    ),
    case("an empty list", get("leases", TABLE), get("rayclusters", TABLE)),
    case(
        "a page of a list",
        *[create("leases", lease(name)) for name in "abc"],
        get("leases", TABLE, limit=2).only_of("metadata", "rows[0].cells", "rows[2]"),
    ),
    case(
        "the older version of tables",
        create("configmaps", configmap("c")),
        get("configmaps/c", "application/json;as=Table;g=meta.k8s.io;v=v1beta1").only_of(
            "kind", "apiVersion", "columnDefinitions"
        ),
    ),
    case("what does not exist is a Status", get("configmaps/nothing", TABLE)),
    case("a created object as a table", create("configmaps", configmap("c")).with_headers(Accept=TABLE)),
    case(
        "a deletion asked for as a table",
        create("configmaps", configmap("c")),
        delete("configmaps/c").with_headers(Accept=TABLE),
    ),
    case(
        "the status subresource as a table",
        create("rayclusters", raycluster("r")),
        get("rayclusters/r/status", TABLE).only_of("kind", "rows[0].cells"),
    ),
    case("partial metadata: one", create("pods", pod("p", metadata={"labels": {"a": "b"}})), get("pods/p", PARTIAL)),
    case("partial metadata: a list", create("leases", lease("l")), get("leases", PARTIAL_LIST), get("leases", PARTIAL)),
    case(
        "partial metadata: of a custom kind",
        create("rayclusters", raycluster("r")),
        get("rayclusters/r", PARTIAL),
        get("rayclusters", PARTIAL_LIST),
    ),
    case(
        "partial metadata: of a patch and a delete",
        create("configmaps", configmap("c", finalizers=["example.com/a"])),
        merge("configmaps/c", {"data": {"a": "2"}}).with_headers(Accept=PARTIAL),
        delete("configmaps/c").with_headers(Accept=PARTIAL),
        merge("configmaps/c", {"metadata": {"finalizers": None}}).with_headers(Accept=PARTIAL),
    ),
    case(
        "partial metadata: of what is no single object",
        get("leases/l", PARTIAL_LIST),
        create("leases", lease("l")),
        get("leases/l", PARTIAL_LIST),
    ),
]
