"""Whose an object is that was found under the name of one that was to be made."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from rayward.kinds import labels
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import (
    INGRESSES,
    PERSISTENT_VOLUME_CLAIMS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from rayward.operator.cluster import children, services
from rayward.operator.cluster.namesake import Taken, deal_with
from rayward.operator.cluster.plan import Mend
from tests.operator.cluster.world import cluster
from tests.operator.stage import Object, group, manifest, template

_CLUSTER: Final = cluster(
    manifest(
        groups=[group(numOfHosts=2)],
        headGroupSpec={"rayStartParams": {}, "template": template(), "enableIngress": True},
        enableInTreeAutoscaling=True,
        authOptions={"mode": "token"},
        gcsFaultToleranceOptions={"backend": "rocksdb", "storage": {"deletionPolicy": "Retain"}},
    )
)
_OURS: Final = {"kind": "RayCluster", "name": "plain", "uid": "c", "controller": True}
_EARLIER: Final = {**_OURS, "uid": "earlier"}
_ANOTHERS: Final = {"kind": "ExternalSecret", "name": "vault", "uid": "v", "controller": True}
_SHARED: Final = {"apiVersion": "v1", "kind": "ConfigMap", "name": "shared", "uid": "s"}
_LABELS: Final = {labels.CLUSTER: "plain"}


def _found(owner: Object | None = None, its_labels: Object | None = None, **more: Any) -> KubeObject:
    owners = [owner] if owner else None
    metadata = {"name": "x", "uid": "u", "labels": its_labels, "ownerReferences": owners, **more}
    return msgspec.convert({"metadata": metadata}, KubeObject)


def _verdict(resource: Resource, body: Object | None, found: KubeObject) -> Mend | Taken | None:
    assert body is not None
    return deal_with(_CLUSTER, resource, body, found)


_USED: Final[dict[str, tuple[Resource, Object | None, KubeObject]]] = {
    "ours, as made": (SECRETS, children.auth_secret(_CLUSTER, ""), _found(_OURS, _LABELS)),
    "a user's secret": (SECRETS, children.auth_secret(_CLUSTER, ""), _found()),
    "a user's account": (SERVICE_ACCOUNTS, children.service_account(_CLUSTER), _found()),
    "a secret that another operator keeps": (SECRETS, children.auth_secret(_CLUSTER, ""), _found(_ANOTHERS)),
    "a claim that is to be retained": (PERSISTENT_VOLUME_CLAIMS, children.storage_claim(_CLUSTER), _found()),
}


@pytest.mark.parametrize(("resource", "body", "found"), _USED.values(), ids=_USED)
def test_it_is_used_as_it_is(resource: Resource, body: Object | None, found: KubeObject) -> None:
    assert _verdict(resource, body, found) is None


_LEFT_ALONE: Final[dict[str, tuple[Resource, Object | None, KubeObject, str]]] = {
    "a user's role": (ROLES, children.role(_CLUSTER), _found(), "kubectl label role x -n ns ray.io/cluster=plain"),
    "a user's ingress": (INGRESSES, children.ingress(_CLUSTER), _found(), "was not made for this cluster"),
    "another cluster's": (ROLES, children.role(_CLUSTER), _found(None, {labels.CLUSTER: "other"}), "was not made for"),
    "owned by another": (ROLES, children.role(_CLUSTER), _found(_ANOTHERS), "belongs to ExternalSecret vault"),
    "an earlier cluster's secret": (
        SECRETS,
        children.auth_secret(_CLUSTER, ""),
        _found(_EARLIER, _LABELS),
        "belongs to RayCluster plain (earlier)",
    ),
    "an earlier cluster's claim": (
        PERSISTENT_VOLUME_CLAIMS,
        children.storage_claim(_CLUSTER),
        _found(_EARLIER, _LABELS),
        "belongs to RayCluster plain (earlier)",
    ),
    "on its way out": (
        SECRETS,
        children.auth_secret(_CLUSTER, ""),
        _found(None, _LABELS, deletionTimestamp="2026-01-01T00:00:00Z"),
        "is being deleted",
    ),
}


@pytest.mark.parametrize(("resource", "body", "found", "why"), _LEFT_ALONE.values(), ids=_LEFT_ALONE)
def test_it_is_left_alone_and_told(resource: Resource, body: Object | None, found: KubeObject, why: str) -> None:
    verdict = _verdict(resource, body, found)
    assert isinstance(verdict, Taken)
    assert why in verdict.why


_LEFT_BEHIND: Final[dict[str, tuple[Resource, Object | None, KubeObject]]] = {
    "a role": (ROLES, children.role(_CLUSTER), _found(None, _LABELS)),
    "a secret": (SECRETS, children.auth_secret(_CLUSTER, ""), _found(None, _LABELS)),
    "the workers' service": (
        SERVICES,
        services.headless_service(_CLUSTER),
        _found(None, {labels.HEADLESS_WORKERS: "plain"}),
    ),
}


@pytest.mark.parametrize(("resource", "body", "found"), _LEFT_BEHIND.values(), ids=_LEFT_BEHIND)
def test_what_an_earlier_cluster_left_behind_gets_an_owner(
    resource: Resource, body: Object | None, found: KubeObject
) -> None:
    verdict = _verdict(resource, body, found)
    assert isinstance(verdict, Mend)
    assert verdict.body.keys() == {"metadata"}
    assert [owner["uid"] for owner in verdict.body["metadata"]["ownerReferences"]] == ["c"]


def test_owners_that_do_not_control_stay() -> None:
    verdict = _verdict(ROLES, children.role(_CLUSTER), _found(_SHARED, _LABELS))
    assert isinstance(verdict, Mend)
    first, second = verdict.body["metadata"]["ownerReferences"]
    assert first == _SHARED
    assert second["uid"] == "c"


def test_a_lost_label_comes_back() -> None:
    body = children.role(_CLUSTER)
    assert body is not None
    verdict = _verdict(ROLES, body, _found(_OURS))
    assert isinstance(verdict, Mend)
    assert verdict.body == {"metadata": {"uid": "u", "labels": body["metadata"]["labels"]}}
