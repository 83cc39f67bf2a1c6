"""Discovery: which groups, versions and resources there are, in the plain and the aggregated form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from rayward.kube.machinery.jsonvalue import Object
from rayward.local.apiserver import media, status
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.options import Query
from rayward.local.apiserver.request import Response
from rayward.local.apiserver.resource import Resource, Subresource

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# groups in the order in which kube-apiserver lists them; CRDs' groups follow by name
_BUILTIN_ORDER = (
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
)


class Discovery:
    """Answers ``/api``, ``/apis`` and below from the registry, with the documents kept until it changes."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._generation = -1
        self._documents: dict[tuple[str, bool], bytes] = {}

    async def __call__(
        self, core: Core, _user: User, path: str, _query: Query, headers: Mapping[bytes, bytes], _body: bytes
    ) -> Response | None:
        """Answer a discovery path; None for any other."""
        parts = [part for part in path.split("/") if part]
        if not parts or parts[0] not in {"api", "apis"}:
            return None
        if self._generation != core.registry.generation:
            self._documents.clear()
            self._generation = core.registry.generation
        accept = headers.get(b"accept", b"").decode("latin-1")
        aggregated = len(parts) == 1 and _wants_aggregated(accept)
        if not aggregated and "as=APIGroupDiscoveryList" in accept and not _plain_will_do(accept):
            raise status.not_acceptable(media.OFFERED)
        known = self._documents.get((path, aggregated))
        if known is None:
            document = self._document(core, parts, aggregated=aggregated)
            if document is None:
                return None
            known = self._documents[path, aggregated] = orjson.dumps(document)
        return Response(200, known, _AGGREGATED.encode() if aggregated else b"application/json")

    def _document(self, core: Core, parts: list[str], *, aggregated: bool) -> Object | None:
        groups = _grouped(core)
        match parts:
            case ["api"]:
                if aggregated:
                    return _aggregated({"": groups[""]})
                clients = [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}]
                return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": clients}
            case ["apis"]:
                named = {group: versions for group, versions in groups.items() if group}
                if aggregated:
                    return _aggregated(named)
                listed = [_group(group, versions) for group, versions in named.items()]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
            case ["apis", group] if group in groups:
                return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, groups[group])}
            case ["api", version] if version in groups[""]:
                # the oldest list of all says no apiVersion
                return {k: v for k, v in _resource_list(version, groups[""][version]).items() if k != "apiVersion"}
            case ["apis", group, version] if version in groups.get(group, {}):
                return _resource_list(f"{group}/{version}", groups[group][version])
            case _:
                return None


def _wants_aggregated(accept: str) -> bool:
    return any(
        "as=APIGroupDiscoveryList" in clause and "v=v2" in clause and "v=v2beta1" not in clause
        for clause in accept.split(",")
    )


def _plain_will_do(accept: str) -> bool:
    return any(clause.strip() in {media.JSON, "*/*"} for clause in accept.split(","))


def _grouped(core: Core) -> dict[str, dict[str, list[Resource]]]:
    found: dict[str, dict[str, list[Resource]]] = {}
    for resource in core.registry:
        found.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    rank = {group: position for position, group in enumerate(_BUILTIN_ORDER)}
    ordered = sorted(found, key=lambda group: (rank.get(group, len(rank)), group))
    return {
        group: {version: found[group][version] for version in sorted(found[group], key=version_priority)}
        for group in ordered
    }


def version_priority(version: str) -> tuple[int, int, int, str]:
    """A sort key: stable versions first, newest first, then beta, then alpha, then odd names by letter."""
    digits = version[1:] if version[:1] == "v" else ""
    for rank, stage in ((1, "beta"), (2, "alpha")):
        major, found, minor = digits.partition(stage)
        if found and major.isdigit() and minor.isdigit():
            return (rank, -int(major), -int(minor), "")
    return (0, -int(digits), 0, "") if digits.isdigit() else (3, 0, 0, version)


def _group(group: str, versions: Mapping[str, Sequence[Resource]]) -> Object:
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _resource_list(group_version: str, resources: Sequence[Resource]) -> Object:
    entries = [entry for resource in resources for entry in _entries(resource)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    }


def _entries(resource: Resource) -> list[Object]:
    entry: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.storage_hash:
        entry["storageVersionHash"] = resource.storage_hash
    return [entry, *(_subresource_entry(resource, part) for part in resource.subresources.values())]


def _subresource_entry(resource: Resource, part: Subresource) -> Object:
    entry: Object = {"name": f"{resource.plural}/{part.name}", "singularName": "", "namespaced": resource.namespaced}
    if (part.group, part.version) not in {(resource.group, resource.version), ("", "")}:
        entry["group"], entry["version"] = part.group, part.version
    return {**entry, "kind": part.kind, "verbs": list(part.verbs)}


def _aggregated(groups: Mapping[str, Mapping[str, Sequence[Resource]]]) -> Object:
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "resources": [_aggregated_entry(resource) for resource in resources],
                    "freshness": "Current",
                }
                for version, resources in versions.items()
            ],
        }
        for group, versions in groups.items()
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated_entry(resource: Resource) -> Object:
    entry: Object = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": _response_kind(resource, part.group, part.version, part.kind),
                "verbs": list(part.verbs),
            }
            for part in resource.subresources.values()
        ]
    return entry


def _response_kind(resource: Resource, group: str, version: str, kind: str) -> Object:
    if resource.builtin and (group, version) == (resource.group, resource.version):
        # kube-apiserver leaves out what is the endpoint's own
        return {"group": "", "version": "", "kind": kind}
    return {"group": group, "version": version, "kind": kind}
