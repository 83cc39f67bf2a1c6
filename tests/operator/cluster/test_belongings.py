"""What a cluster has beside its pods follows the spec, and only the spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

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
from rayward.operator.cluster.belongings import plan_belongings
from rayward.operator.cluster.observe import Observed
from rayward.operator.cluster.plan import Make, Mend, NewSecret, Remove, Write
from tests.operator.cluster.world import World, cluster, settled
from tests.operator.stage import Object, manifest, template


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
    found = plan_belongings(world.cluster, world.observed())
    return [*found.before_pods, *found.beside_pods]


def _made(writes: tuple[Write, ...]) -> set[Resource]:
    return {
        SECRETS if isinstance(write, NewSecret) else write.resource
        for write in writes
        if isinstance(write, Make | NewSecret)
    }


def test_what_pods_need_comes_before_them() -> None:
    found = plan_belongings(cluster(_EVERYTHING), Observed())
    assert _made(found.before_pods) == {SECRETS, SERVICE_ACCOUNTS, NETWORK_POLICIES}
    assert _made(found.beside_pods) == {SERVICES, ROLES, ROLE_BINDINGS, INGRESSES}


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
    removed = [write for write in _writes(world) if isinstance(write, Remove)]
    assert [write.resource for write in removed] == [resource] * count


def test_what_others_gave_to_the_cluster_stays() -> None:
    world = settled()
    world.children[SERVICES, "mine"] = KubeObject(ObjectMeta(name="mine", uid="u"))
    assert _writes(world) == []


def test_a_changed_policy_is_mended() -> None:
    world = settled(_EVERYTHING)
    world.edit(network_policy=NetworkPolicyOptions(mode="DenyAllIngress"))
    mended = [write for write in _writes(world) if isinstance(write, Mend)]
    assert {write.name for write in mended} == {"plain-head", "plain-workers-small"}
    assert all(write.body["metadata"]["annotations"][APPLIED.annotation] for write in mended)


def test_a_service_that_gets_an_address_is_made_anew() -> None:
    world = settled()
    world.edit(head_group_spec=msgspec.structs.replace(world.cluster.spec.head_group_spec, service_type="NodePort"))
    assert [type(write) for write in _writes(world)] == [Remove]
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
    assert isinstance(mended, Mend)
    assert mended.body["spec"].keys() == {"selector", "ports"}
    assert mended.body["metadata"]["labels"]
    world.settle()
    world.edit(head_service_annotations={"a": "1"})
    (mended,) = _writes(world)
    assert isinstance(mended, Mend)
    assert mended.body["spec"].keys() == {"selector", "ports"}
    assert mended.body["metadata"]["annotations"]["a"] == "1"


def test_an_address_that_the_spec_asks_for_later_comes() -> None:
    world = World(cluster())
    _others_head_service(world, _ADDRESSES["an address of its own"])
    world.settle()
    world.edit(head_group_spec=msgspec.structs.replace(world.cluster.spec.head_group_spec, service_type="NodePort"))
    (mended,) = _writes(world)
    assert isinstance(mended, Mend)
    assert mended.body["spec"]["type"] == "NodePort"
    # What the server chose is never taken away.
    assert "clusterIP" not in mended.body["spec"]
    world.settle()
    world.edit(head_group_spec=msgspec.structs.replace(world.cluster.spec.head_group_spec, service_type=""))
    assert [type(write) for write in _writes(world)] == [Remove]


def test_a_service_that_an_older_version_of_ours_made_follows_the_spec() -> None:
    world = World(cluster())
    _others_head_service(world, _ADDRESSES["a node port"])
    found = world.children[SERVICES, "plain-head-svc"]
    hashed = msgspec.structs.replace(found.metadata, annotations={APPLIED.annotation: "0123456789abcdef"})
    world.children[SERVICES, "plain-head-svc"] = msgspec.structs.replace(found, metadata=hashed)
    assert [type(write) for write in _writes(world)] == [Remove]


def test_what_the_spec_takes_back_is_taken_away() -> None:
    head = _head(enableIngress=True, ingressOptions={"host": "h", "tls": [{"hosts": ["h"]}]})
    annotations = {"kubernetes.io/ingress.class": "nginx", "nginx/x": "1"}
    world = settled(
        manifest(headGroupSpec=head, headServiceAnnotations={"a": "1"}, metadata={"annotations": annotations})
    )
    bare = cluster(manifest(headGroupSpec=_head(enableIngress=True, ingressOptions={"host": "h"})), generation=2)
    world.cluster = bare
    mended = {write.resource: write.body for write in _writes(world) if isinstance(write, Mend)}
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
        found = plan_belongings(cluster(manifest(gcsFaultToleranceOptions=options)), Observed(claim=claim))
        return [write for write in found.before_pods if getattr(write, "resource", None) == PERSISTENT_VOLUME_CLAIMS]

    def _claim(self, owned: bool) -> KubeObject:
        owners = (OwnerReference(kind="RayCluster", uid="c", controller=True),) if owned else None
        return KubeObject(ObjectMeta(name="plain-gcs-pvc", uid="p", owner_references=owners))

    def test_it_is_made(self) -> None:
        assert [type(write) for write in self._writes("Retain", None)] == [Make]

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
        assert [type(write) for write in self._writes(policy, self._claim(owned))] == ([Mend] if mended else [])
