"""Discovery entries of the recorded resources and their subresources, and the columns of their tables."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kube.record import kinds
from tests.kube.record.server import Object, Server

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def discover(server: Server) -> list[Object]:
    """One entry per resource, in the order in which the server lists groups and resources."""
    return list(_entries(server))


def columns(server: Server) -> dict[str, list[Object]]:
    """Column definitions by ``APIVERSION/PLURAL``, of every resource that can be listed."""
    found: dict[str, list[Object]] = {}
    for entry in discover(server):
        if "list" not in entry["verbs"]:
            continue
        table = server.get(f"{kinds.root_path(entry['group'])}/{entry['plural']}", accept=_TABLE)
        for column in table["columnDefinitions"]:
            del column["description"]
        found[f"{kinds.api_version(entry['group'])}/{entry['plural']}"] = table["columnDefinitions"]
    return found


def _entries(server: Server) -> Iterator[Object]:
    for root in ("api", "apis"):
        for group in server.get(root, accept=_AGGREGATED)["items"]:
            name = group["metadata"].get("name", "")
            wanted = kinds.RESOURCES.get(name, ())
            if not wanted:
                continue
            hashes = _storage_hashes(server, name)
            for version in group["versions"]:
                if version["version"] != "v1":
                    continue
                found = [resource for resource in version["resources"] if resource["resource"] in wanted]
                if len(found) != len(wanted):
                    raise RuntimeError(f"{name}: not all of {wanted} are served")
                for resource in found:
                    yield _entry(name, resource, hashes.get(resource["resource"], ""))


def _storage_hashes(server: Server, group: str) -> dict[str, str]:
    plain = server.get(kinds.root_path(group))
    return {entry["name"]: entry.get("storageVersionHash", "") for entry in plain["resources"]}


def _entry(group: str, resource: Object, storage_hash: str) -> Object:
    return {
        "group": group,
        "version": "v1",
        "plural": resource["resource"],
        "singular": resource["singularResource"],
        "kind": resource["responseKind"]["kind"],
        "namespaced": resource["scope"] == "Namespaced",
        "verbs": resource["verbs"],
        "shortNames": resource.get("shortNames", []),
        "categories": resource.get("categories", []),
        "storageVersionHash": storage_hash,
        "subresources": [
            {"name": each["subresource"], "responseKind": each["responseKind"], "verbs": each["verbs"]}
            for each in resource.get("subresources", ())
        ],
    }
