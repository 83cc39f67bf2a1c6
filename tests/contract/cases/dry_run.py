"""dryRun=All: everything is checked, nothing is stored."""

from __future__ import annotations

from tests.contract.case import case, create, get, json_patch, merge, strategic, update
from tests.contract.objects import configmap, pod, raycluster, service

CASES = [
    case("create", create("configmaps", configmap("c"), dryRun="All"), get("configmaps/c")),
    case("create of a Pod", create("pods", pod("p"), dryRun="All"), get("pods/p")),
    case("create of a Service", create("services", service("s"), dryRun="All"), get("services/s")),
    case("create of a custom object", create("rayclusters", raycluster("r"), dryRun="All"), get("rayclusters/r")),
    case(
        "create of what exists",
        create("configmaps", configmap("c")),
        create("configmaps", configmap("c"), dryRun="All"),
    ),
    case("create of what is invalid", create("configmaps", configmap("C"), dryRun="All")),
    case(
        "update",
        create("configmaps", configmap("c")),
        update("configmaps/c", configmap("c", {"a": "2"}), dryRun="All"),
        get("configmaps/c"),
    ),
    case(
        "update with a stale resource version",
        create("configmaps", configmap("c")),
        update("configmaps/c", configmap("c", {"a": "2"}, resourceVersion="1"), dryRun="All"),
    ),
    case(
        "patches",
        create("configmaps", configmap("c")),
        merge("configmaps/c", {"data": {"b": "2"}}, dryRun="All"),
        strategic("configmaps/c", {"data": {"b": "2"}}, dryRun="All"),
        json_patch("configmaps/c", {"op": "remove", "path": "/data"}, dryRun="All"),
        get("configmaps/c"),
    ),
    case(
        "patch of a status",
        create("rayclusters", raycluster("r")),
        merge("rayclusters/r/status", {"status": {"state": "ready"}}, dryRun="All"),
        get("rayclusters/r").only_of("status"),
    ),
    case(
        "removing the last finalizer of what is being deleted",
        create("configmaps", configmap("c", finalizers=["example.com/a"])),
        merge("configmaps/c", {"metadata": {"finalizers": None}}, dryRun="All"),
        get("configmaps/c").only_of("metadata.finalizers"),
    ),
    case("given twice", create("configmaps?dryRun=All&dryRun=All", configmap("c"))),
]
