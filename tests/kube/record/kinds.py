"""The built-in kinds that the embedded server knows."""

from __future__ import annotations

from typing import Final

# Resources by group; every group is served in version v1.
RESOURCES: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "bindings",
        "configmaps",
        "endpoints",
        "events",
        "limitranges",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "resourcequotas",
        "secrets",
        "serviceaccounts",
        "services",
    ),
    "admissionregistration.k8s.io": (
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    ),
    "apiextensions.k8s.io": ("customresourcedefinitions",),
    "apps": ("controllerrevisions", "deployments", "replicasets", "statefulsets"),
    "authentication.k8s.io": ("selfsubjectreviews", "tokenreviews"),
    "authorization.k8s.io": (
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
    ),
    "batch": ("jobs",),
    "coordination.k8s.io": ("leases",),
    "discovery.k8s.io": ("endpointslices",),
    "events.k8s.io": ("events",),
    "networking.k8s.io": ("ingresses", "networkpolicies"),
    "node.k8s.io": ("runtimeclasses",),
    "policy": ("poddisruptionbudgets",),
    "rbac.authorization.k8s.io": ("clusterrolebindings", "clusterroles", "rolebindings", "roles"),
    "scheduling.k8s.io": ("priorityclasses",),
    "storage.k8s.io": ("storageclasses",),
}

# Kinds that are only sent to or answered by subresources, or by every group.
OTHER_KINDS: Final = (
    ("authentication.k8s.io", "TokenRequest"),
    ("autoscaling", "Scale"),
    ("policy", "Eviction"),
    ("", "APIGroup"),
    ("", "APIGroupList"),
    ("", "APIResourceList"),
    ("", "APIVersions"),
    ("", "DeleteOptions"),
    ("", "Status"),
    ("", "WatchEvent"),
)

# Types that no kind leads to, but that requests and answers are made of.
OTHER_TYPES: Final = ("io.k8s.apimachinery.pkg.apis.meta.v1.Patch",)


def api_version(group: str) -> str:
    """``v1`` or ``GROUP/v1``."""
    return f"{group}/v1" if group else "v1"


def root_path(group: str) -> str:
    """Where a group is served, without a leading slash: ``api/v1`` or ``apis/GROUP/v1``."""
    return f"apis/{group}/v1" if group else "api/v1"
