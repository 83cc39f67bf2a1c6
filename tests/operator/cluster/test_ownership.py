"""Which children are created, patched and deleted, and whose an object is that has the name of one to create."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest

from rayward.kinds import labels
from rayward.kinds.raycluster import NetworkPolicyOptions
from rayward.kube.core.objects import KubeObject, ObjectMeta, OwnerReference
from rayward.kube.core.resource import (
    INGRESSES,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from rayward.kube.core.service import Service
from rayward.operator.base.writing import APPLIED
from rayward.operator.cluster import children, services
from rayward.operator.cluster.ownership import NameConflict, decide_children, resolve_conflict
from rayward.operator.cluster.state import Create, CreateSecret, Delete, Observed, Patch, Write
from tests.operator.cluster.world import World, cluster, settled, state
from tests.operator.stage import Object, group, manifest, template


def _head(**more: Any) -> Object:
    return {"rayStartParams": {}, "template": template(), **more}


_EVERYTHING = manifest(
    headGroupSpec=_head(enableIngress=True),
    enableInTreeAutoscaling=True,
    authOptions={"mode": "token"},
    networkPolicy={"mode": "DenyAll"},
    metadata={"annotations": {"ray.io/enable-serve-service": "true"}},
)


def _writes(world: World) -> list[Write]:
    found = decide_children(world.state())
    return [*found.before_pods, *found.beside_pods]


def _made(writes: tuple[Write, ...]) -> set[Resource]:
    return {
        SECRETS if isinstance(write, CreateSecret) else write.resource
        for write in writes
        if isinstance(write, Create | CreateSecret)
    }


def test_what_pods_need_comes_before_them() -> None:
    found = decide_children(state(cluster(_EVERYTHING)))
    assert _made(found.before_pods) == {SECRETS, SERVICE_ACCOUNTS, ROLES, NETWORK_POLICIES}
    assert _made(found.beside_pods) == {SERVICES, ROLE_BINDINGS, INGRESSES}


def test_nothing_is_written_twice() -> None:
    assert _writes(settled(_EVERYTHING)) == []


def _ingress_off(world: World) -> None:
    world.edit(head_group_spec=msgspec.structs.replace(world.cluster.spec.head_group_spec, enable_ingress=False))


_GOES: dict[str, tuple[Callable[[World], None], Resource, int]] = {
    "ingress": (_ingress_off, INGRESSES, 1),
    "network policies": (lambda world: world.edit(network_policy=None), NETWORK_POLICIES, 2),
}


@pytest.mark.parametrize(("edit", "resource", "count"), _GOES.values(), ids=_GOES)
def test_what_the_spec_no_longer_asks_for_goes(edit: Callable[[World], None], resource: Resource, count: int) -> None:
    world = settled(_EVERYTHING)
    edit(world)
    removed = [write for write in _writes(world) if isinstance(write, Delete)]
    assert [write.resource for write in removed] == [resource] * count


def test_what_others_gave_to_the_cluster_stays() -> None:
    world = settled()
    world.children[SERVICES, "mine"] = KubeObject(ObjectMeta(name="mine", uid="u"))
    assert _writes(world) == []


def test_a_changed_policy_is_mended() -> None:
    world = settled(_EVERYTHING)
    world.edit(network_policy=NetworkPolicyOptions(mode="DenyAllIngress"))
    mended = [write for write in _writes(world) if isinstance(write, Patch)]
    assert {write.name for write in mended} == {"plain-head", "plain-workers-small"}
    assert all(write.body["metadata"]["annotations"][APPLIED.annotation] for write in mended)


def test_a_service_that_gets_an_address_is_made_anew() -> None:
    world = settled()
    world.edit(head_group_spec=msgspec.structs.replace(world.cluster.spec.head_group_spec, service_type="NodePort"))
    assert [type(write) for write in _writes(world)] == [Delete]
    world.settle()
    assert _writes(world) == []


_ADDRESSES: dict[str, Object] = {
    "an address of its own": {"type": "ClusterIP", "clusterIP": "10.0.0.7"},
    "a node port": {"type": "NodePort", "clusterIP": "10.0.0.7"},
    "none": {"type": "ClusterIP", "clusterIP": "None"},
}


def _others_head_service(world: World, spec: Object) -> None:
    metadata = {"name": "plain-head-svc", "namespace": "ns", "uid": "s"}
    world.children[SERVICES, "plain-head-svc"] = msgspec.convert({"metadata": metadata, "spec": spec}, Service)


@pytest.mark.parametrize("spec", _ADDRESSES.values(), ids=_ADDRESSES)
@pytest.mark.parametrize("service_type", ["", "ClusterIP", "NodePort"])
def test_a_service_of_another_operators_making_keeps_its_address(spec: Object, service_type: str) -> None:
    world = World(cluster(manifest(headGroupSpec=_head(serviceType=service_type))))
    _others_head_service(world, spec)
    (mended,) = _writes(world)
    assert isinstance(mended, Patch)
    assert mended.body["spec"].keys() == {"selector", "ports"}
    assert mended.body["metadata"]["labels"]
    world.settle()
    world.edit(head_service_annotations={"a": "1"})
    (mended,) = _writes(world)
    assert isinstance(mended, Patch)
    assert mended.body["spec"].keys() == {"selector", "ports"}
    assert mended.body["metadata"]["annotations"]["a"] == "1"


def test_an_address_that_the_spec_asks_for_later_comes() -> None:
    world = World(cluster())
    _others_head_service(world, _ADDRESSES["an address of its own"])
    world.settle()
    world.edit(head_group_spec=msgspec.structs.replace(world.cluster.spec.head_group_spec, service_type="NodePort"))
    (mended,) = _writes(world)
    assert isinstance(mended, Patch)
    assert mended.body["spec"]["type"] == "NodePort"
    # What the server chose is never taken away.
    assert "clusterIP" not in mended.body["spec"]
    world.settle()
    world.edit(head_group_spec=msgspec.structs.replace(world.cluster.spec.head_group_spec, service_type=""))
    assert [type(write) for write in _writes(world)] == [Delete]


def test_a_service_that_an_older_version_of_ours_made_follows_the_spec() -> None:
    world = World(cluster())
    _others_head_service(world, _ADDRESSES["a node port"])
    found = world.children[SERVICES, "plain-head-svc"]
    hashed = msgspec.structs.replace(found.metadata, annotations={APPLIED.annotation: "0123456789abcdef"})
    world.children[SERVICES, "plain-head-svc"] = msgspec.structs.replace(found, metadata=hashed)
    assert [type(write) for write in _writes(world)] == [Delete]


def test_what_the_spec_takes_back_is_taken_away() -> None:
    head = _head(enableIngress=True, ingressOptions={"host": "h", "tls": [{"hosts": ["h"]}]})
    annotations = {"kubernetes.io/ingress.class": "nginx", "nginx/x": "1"}
    world = settled(
        manifest(headGroupSpec=head, headServiceAnnotations={"a": "1"}, metadata={"annotations": annotations})
    )
    bare = cluster(manifest(headGroupSpec=_head(enableIngress=True, ingressOptions={"host": "h"})), generation=2)
    world.cluster = bare
    mended = {write.resource: write.body for write in _writes(world) if isinstance(write, Patch)}
    assert mended[SERVICES]["metadata"]["annotations"]["a"] is None
    assert mended[INGRESSES]["metadata"]["annotations"]["nginx/x"] is None
    assert mended[INGRESSES]["spec"].keys() == {"rules", "tls", "ingressClassName"}
    assert mended[INGRESSES]["spec"]["tls"] is mended[INGRESSES]["spec"]["ingressClassName"] is None


def test_a_namesake_on_its_way_out_is_waited_for() -> None:
    world = settled()
    found = world.children[SERVICES, "plain-head-svc"]
    leaving = msgspec.structs.replace(found.metadata, deletion_timestamp="2026-01-01T00:00:00Z", annotations=None)
    world.children[SERVICES, "plain-head-svc"] = msgspec.structs.replace(found, metadata=leaving)
    assert _writes(world) == []


class TestClaim:
    def _writes(self, policy: str, claim: KubeObject | None) -> list[Write]:
        options = {"backend": "rocksdb", "storage": {"deletionPolicy": policy}}
        found = decide_children(state(cluster(manifest(gcsFaultToleranceOptions=options)), Observed(claim=claim)))
        return [write for write in found.before_pods if getattr(write, "resource", None) == PERSISTENT_VOLUME_CLAIMS]

    def _claim(self, owned: bool) -> KubeObject:
        owners = (OwnerReference(kind="RayCluster", uid="c", controller=True),) if owned else None
        return KubeObject(ObjectMeta(name="plain-gcs-pvc", uid="p", owner_references=owners))

    def test_it_is_made(self) -> None:
        assert [type(write) for write in self._writes("Retain", None)] == [Create]

    @pytest.mark.parametrize(
        ("policy", "owned", "mended"),
        [
            ("Retain", False, False),
            ("Retain", True, True),
            ("DeleteWithCluster", True, False),
            ("DeleteWithCluster", False, True),
        ],
    )
    def test_whether_it_goes_with_the_cluster_follows_the_spec(self, policy: str, owned: bool, mended: bool) -> None:
        assert [type(write) for write in self._writes(policy, self._claim(owned))] == ([Patch] if mended else [])


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


def _verdict(resource: Resource, body: Object | None, found: KubeObject) -> Patch | NameConflict | None:
    assert body is not None
    return resolve_conflict(_CLUSTER, resource, body, found)


_USED: Final[dict[str, tuple[Resource, Object | None, KubeObject]]] = {
    "ours, as made": (SECRETS, children.auth_secret(_CLUSTER, ""), _found(_OURS, _LABELS)),
    "a user's secret": (SECRETS, children.auth_secret(_CLUSTER, ""), _found()),
    "a user's account": (SERVICE_ACCOUNTS, children.service_account(_CLUSTER), _found()),
    "a secret that another operator keeps": (SECRETS, children.auth_secret(_CLUSTER, ""), _found(_ANOTHERS)),
    "a claim that is to be retained": (PERSISTENT_VOLUME_CLAIMS, children.storage_claim(_CLUSTER), _found()),
}


@pytest.mark.parametrize(("resource", "body", "found"), _USED.values(), ids=_USED)
def test_what_has_the_name_is_used_as_it_is(resource: Resource, body: Object | None, found: KubeObject) -> None:
    assert _verdict(resource, body, found) is None


_LEFT_ALONE: Final[dict[str, tuple[Resource, Object | None, KubeObject, str]]] = {
    "a user's role": (ROLES, children.role(_CLUSTER), _found(), "kubectl label role x -n ns ray.io/cluster=plain"),
    "a user's ingress": (INGRESSES, children.ingress(_CLUSTER), _found(), "is not owned by this RayCluster"),
    "another cluster's": (ROLES, children.role(_CLUSTER), _found(None, {labels.CLUSTER: "other"}), "is not owned by"),
    "owned by another": (ROLES, children.role(_CLUSTER), _found(_ANOTHERS), "is owned by ExternalSecret vault"),
    "an earlier cluster's secret": (
        SECRETS,
        children.auth_secret(_CLUSTER, ""),
        _found(_EARLIER, _LABELS),
        "is owned by RayCluster plain (uid earlier)",
    ),
    "an earlier cluster's claim": (
        PERSISTENT_VOLUME_CLAIMS,
        children.storage_claim(_CLUSTER),
        _found(_EARLIER, _LABELS),
        "is owned by RayCluster plain (uid earlier)",
    ),
    "on its way out": (
        SECRETS,
        children.auth_secret(_CLUSTER, ""),
        _found(None, _LABELS, deletionTimestamp="2026-01-01T00:00:00Z"),
        "is being deleted",
    ),
}


@pytest.mark.parametrize(("resource", "body", "found", "why"), _LEFT_ALONE.values(), ids=_LEFT_ALONE)
def test_what_has_the_name_is_left_alone_and_reported(
    resource: Resource, body: Object | None, found: KubeObject, why: str
) -> None:
    verdict = _verdict(resource, body, found)
    assert isinstance(verdict, NameConflict)
    assert why in verdict.reason


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
    assert isinstance(verdict, Patch)
    assert verdict.body.keys() == {"metadata"}
    assert [owner["uid"] for owner in verdict.body["metadata"]["ownerReferences"]] == ["c"]


def test_owners_that_do_not_control_stay() -> None:
    verdict = _verdict(ROLES, children.role(_CLUSTER), _found(_SHARED, _LABELS))
    assert isinstance(verdict, Patch)
    first, second = verdict.body["metadata"]["ownerReferences"]
    assert first == _SHARED
    assert second["uid"] == "c"


def test_a_lost_label_comes_back() -> None:
    body = children.role(_CLUSTER)
    assert body is not None
    verdict = _verdict(ROLES, body, _found(_OURS))
    assert isinstance(verdict, Patch)
    assert verdict.body == {"metadata": {"uid": "u", "labels": body["metadata"]["labels"]}}
