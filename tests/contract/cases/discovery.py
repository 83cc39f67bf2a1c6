"""Discovery, OpenAPI, version and health: the parts that concern our kinds."""

from __future__ import annotations

from tests.contract.case import case, get

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_CORE = [
    "bindings",
    "configmaps",
    "endpoints",
    "events",
    "namespaces",
    "namespaces/finalize",
    "namespaces/status",
    "nodes",
    "nodes/status",
    "persistentvolumeclaims",
    "persistentvolumeclaims/status",
    "pods",
    "pods/binding",
    "pods/eviction",
    "pods/status",
    "resourcequotas",
    "resourcequotas/status",
    "secrets",
    "serviceaccounts",
    "serviceaccounts/token",
    "services",
    "services/status",
]
_GROUPS = {
    "apps/v1": ["controllerrevisions", "deployments", "deployments/scale", "deployments/status"],
    "batch/v1": ["jobs", "jobs/status"],
    "coordination.k8s.io/v1": ["leases"],
    "discovery.k8s.io/v1": ["endpointslices"],
    "events.k8s.io/v1": ["events"],
    "networking.k8s.io/v1": ["ingresses", "ingresses/status", "networkpolicies"],
    "policy/v1": ["poddisruptionbudgets", "poddisruptionbudgets/status"],
    "scheduling.k8s.io/v1": ["priorityclasses"],
    "rbac.authorization.k8s.io/v1": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
    "apiextensions.k8s.io/v1": ["customresourcedefinitions", "customresourcedefinitions/status"],
    "admissionregistration.k8s.io/v1": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    "authentication.k8s.io/v1": ["tokenreviews", "selfsubjectreviews"],
    "authorization.k8s.io/v1": ["selfsubjectaccessreviews"],
    "ray.io/v1": ["rayclusters", "rayclusters/status"],
}
_HEAD = ("kind", "apiVersion", "groupVersion")


def _only(group: str, names: list[str]) -> list[str]:
    versions = f"items[metadata.name={group}].versions[0]"
    return [
        f"{versions}.version",
        f"{versions}.freshness",
        *(f"{versions}.resources[resource={name}]" for name in names if "/" not in name),
    ]


CASES = [
    case("/api", get("/api").only_of("kind", "versions")),
    case("/api/v1", *[get("/api/v1").only_of(*_HEAD, *(f"resources[name={name}]" for name in _CORE))]),
    *[
        case(f"/apis/{group}", get(f"/apis/{group}").only_of(*_HEAD, *(f"resources[name={name}]" for name in names)))
        for group, names in _GROUPS.items()
    ],
    case(
        "/apis names our groups",
        get("/apis").only_of(
            "kind",
            "apiVersion",
            *(f"groups[name={group.split('/')[0]}].preferredVersion" for group in _GROUPS if group != "ray.io/v1"),
        ),
    ),
    case(
        "/apis/GROUP",
        *[
            get(f"/apis/{name}").only_of("kind", "apiVersion", "name", "preferredVersion")
            for name in ("apps", "batch", "apiextensions.k8s.io")
        ],
    ),
    case("/apis/GROUP of a custom group", get("/apis/ray.io")),
    case(
        "aggregated: the core group",
        get("/api", AGGREGATED).only_of(
            "kind",
            "apiVersion",
            *[f"items[0].versions[0].resources[resource={name}]" for name in _CORE if "/" not in name],
        ),
    ),
    case(
        "aggregated: the named groups",
        get("/apis", AGGREGATED).only_of(
            "kind",
            "apiVersion",
            *[path for group, names in _GROUPS.items() for path in _only(group.split("/")[0], names)],
        ),
    ),
    case(
        "aggregated: another version is not to be had",
        get("/apis", "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList").only_of("kind"),
    ),
    case("/version", get("/version").only_of("major", "minor")),
    case(
        "/healthz, /livez and /readyz",
        get("/healthz"),
        get("/livez"),
        get("/readyz"),
        get("/healthz/ping"),
        get("/livez/nothing").only_of("kind"),
    ),
    case(
        "/openapi/v3 names our groups",
        get("/openapi/v3").only_of(
            *(f'paths["{path}"]' for path in ("version", "api/v1", *(f"apis/{group}" for group in _GROUPS)))
        ),
    ),
    case(
        "/openapi/v3 of a custom group",
        get("/openapi/v3/apis/ray.io/v1")
        .only_of(
            "openapi",
            'components.schemas["io.ray.v1.RayCluster"].x-kubernetes-group-version-kind',
            'components.schemas["io.ray.v1.RayCluster"].required',
            'components.schemas["io.ray.v1.RayCluster"].properties.metadata.allOf',
            'components.schemas["io.ray.v1.RayCluster"].properties.spec.properties.suspend',
            'paths["/apis/ray.io/v1/namespaces/{namespace}/rayclusters/{name}"].get.operationId',
            'paths["/apis/ray.io/v1/namespaces/{namespace}/rayclusters/{name}"].get.x-kubernetes-action',
            'paths["/apis/ray.io/v1/namespaces/{namespace}/rayclusters/{name}"].get.x-kubernetes-group-version-kind',
        )
        .polled(code=200),
    ),
    case("/openapi/v3 of what does not exist", get("/openapi/v3/apis/nothing.example.com/v1")),
    case("/apis/GROUP/VERSION that does not exist", get("/apis/apps/v7"), get("/apis/ray.io/v7")),
    case("trailing slashes", get("/api/"), get("/apis/apps/v1/").only_of("kind", "groupVersion")),
    case("a wrong method", get("/version/x")),
]
