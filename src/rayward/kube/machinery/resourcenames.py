"""What kind of resource a name is of."""

from __future__ import annotations

from rayward.kube.machinery.names import check_qualified_name


def is_huge_page(name: str) -> bool:
    """Whether this counts huge pages."""
    return name.startswith("hugepages-")


def is_native(name: str) -> bool:
    """Whether Kubernetes itself defines the resource."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether a device plugin offers the resource."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not check_qualified_name(f"requests.{name}")
