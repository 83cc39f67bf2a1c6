"""What a RayCluster's spec asks for, computed at most once for each version of it.

A reconcile runs far more often than a spec changes, and most runs only compare. So of each child the hash is kept, not
the body, which is built again where it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rayward.kinds.hashing import hash_version, release_hash
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import Totals, desired_workers, pod_set_shapes, resources_of, template_record
from rayward.kinds.validation import Problem, cluster_problems, cluster_warnings
from rayward.kube.core.resource import (
    INGRESSES,
    NETWORK_POLICIES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from rayward.kube.machinery.jsonvalue import Object
from rayward.operator.base.writing import APPLIED
from rayward.operator.cluster import children, services
from rayward.operator.cluster.pod import RayPod

HEAD: str = "headGroupSpec"

Build = Callable[[RayCluster], Object | None]


@dataclass(frozen=True, slots=True)
class Child:
    """An object that should exist beside the pods."""

    resource: Resource
    name: str
    digest: str
    """Of the body, as the mark on the object has it."""
    build: Build
    before_pods: bool = False
    """Whether pods would be rejected, could not start, or would be open to everyone without it."""


class Desired:
    """What follows from a cluster's spec, labels and annotations alone."""

    def __init__(self, cluster: RayCluster, dropped_groups: tuple[str, ...] = ()) -> None:
        """``dropped_groups``: those of the spec before that asked for no pods, and are not in this one."""
        self.dropped_groups = dropped_groups
        self._cluster = cluster
        self._releases: dict[str, str] = {}

    def renewed(self, cluster: RayCluster) -> Desired:
        """This, if ``cluster`` asks for the same; else what it asks for."""
        before, now = self._cluster.metadata, cluster.metadata
        if (before.generation, before.labels, before.annotations) != (now.generation, now.labels, now.annotations):
            same = before.generation == now.generation
            return Desired(cluster, self.dropped_groups if same else _dropped_groups(self._cluster, cluster))
        # The cache has decoded another copy of the same spec: only one is kept alive.
        self._cluster = cluster
        return self

    @cached_property
    def problems(self) -> Sequence[Problem]:
        """Why the spec is rejected; what else is asked for can only be said where there are none."""
        return cluster_problems(self._cluster)

    @cached_property
    def warnings(self) -> Sequence[Problem]:
        """What works otherwise than its author may expect."""
        return cluster_warnings(self._cluster)

    @cached_property
    def release(self) -> str:
        """The hash of everything that pods are made from."""
        return release_hash(self._cluster.spec)

    def is_release(self, stored: str) -> bool:
        """Whether a stored hash, of whichever version, is the one of this spec."""
        version = hash_version(stored)
        if version is None:
            return False
        if version not in self._releases:
            self._releases[version] = release_hash(self._cluster.spec, version=version)
        return stored == self._releases[version]

    @cached_property
    def records(self) -> dict[str, str]:
        """What pods are made from, by their place in the spec."""
        cluster = self._cluster
        records = {HEAD: template_record(cluster.spec.head_group_spec, cluster)}
        for group in cluster.groups:
            records[group_path(group.group_name)] = template_record(group, cluster)
        return records

    @cached_property
    def totals(self) -> Totals:
        """The resources of all pods."""
        return resources_of(self._cluster)

    @cached_property
    def shapes(self) -> dict[str, str]:
        """The digest of each group's shape, which the quota gate admits."""
        return {shape.group: shape.digest for shape in pod_set_shapes(self._cluster)}

    @cached_property
    def workers(self) -> int:
        """The number of worker pods."""
        return sum(map(desired_workers, self._cluster.groups))

    @cached_property
    def children(self) -> tuple[Child, ...]:
        """The objects that are compared by their marks; the secret and the claim are not."""
        found: list[Child] = []
        for resource, build, before_pods in _builders(self._cluster):
            body = build(self._cluster)
            if body is not None:
                digest = APPLIED.digest(body)
                found.append(Child(resource, body["metadata"]["name"], digest, build, before_pods))
        return tuple(found)


def _dropped_groups(before: RayCluster, now: RayCluster) -> tuple[str, ...]:
    kept = {group.group_name for group in now.groups}
    return tuple(
        group.group_name for group in before.groups if group.group_name not in kept and not desired_workers(group)
    )


def place_of(pod: RayPod) -> str:
    """The place in the spec that a pod comes from."""
    return HEAD if pod.is_head else group_path(pod.group)


def group_path(name: str) -> str:
    """The place of a worker group in the spec."""
    return f"workerGroupSpecs[{name}]"


def _builders(cluster: RayCluster) -> list[tuple[Resource, Build, bool]]:
    # A binding to a role that is not there yet is refused.
    found: list[tuple[Resource, Build, bool]] = [
        (SERVICE_ACCOUNTS, children.service_account, True),
        (ROLES, children.role, True),
    ]
    found += [(NETWORK_POLICIES, _network_policy(at), True) for at in range(children.network_policy_count(cluster))]
    found += [
        (SERVICES, services.head_service, False),
        (SERVICES, services.headless_service, False),
        (SERVICES, services.serve_service, False),
        (ROLE_BINDINGS, children.role_binding, False),
        (INGRESSES, children.ingress, False),
    ]
    return found


def _network_policy(at: int) -> Build:
    def build(cluster: RayCluster) -> Any:
        return children.network_policies(cluster)[at]

    return build
