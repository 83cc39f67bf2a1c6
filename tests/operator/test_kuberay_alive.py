"""How a KubeRay operator is recognised, and which namespaces it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from rayward.kube.client.api import Client
from rayward.kube.client.errors import Forbidden
from rayward.kube.client.lists import ObjectList
from rayward.kube.core.meta import rfc3339_micro
from rayward.kube.core.resource import DEPLOYMENTS, Resource
from rayward.operator.base.takeover import LEASE, Holder, find_kuberay, overlaps, watched_namespaces
from tests.runtime import virtual


def _deployment(*words: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"command": ["/manager"], "args": list(words)}]}}}}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), None),
        (("--watch-namespace=",), None),
        (("--watch-namespace=a",), {"a"}),
        (("--watch-namespace=a,b",), {"a", "b"}),
        (("--watch-namespace", "a, b"), {"a", "b"}),
        (("-watch-namespace=a", "--qps=1"), {"a"}),
    ],
)
def test_its_flags_say_what_it_watches(words: tuple[str, ...], expected: set[str] | None) -> None:
    assert watched_namespaces(_deployment(*words)) == expected


@pytest.mark.parametrize(
    ("theirs", "ours", "meet"),
    [
        (None, [], True),
        (None, ["a"], True),
        (frozenset("a"), [], True),
        (frozenset("a"), ["a", "b"], True),
        (frozenset("a"), ["b"], False),
    ],
)
def test_two_operators_meet_in_a_common_namespace(theirs: frozenset[str] | None, ours: list[str], meet: bool) -> None:
    assert overlaps(theirs, ours) is meet


def test_the_refusal_says_how_to_hand_over() -> None:
    told = Holder("Deployment", "ray-system", "my-kuberay").refusal()
    assert "Deployment ray-system/my-kuberay" in told.why
    assert told.following.startswith("kubectl -n ray-system scale deployment my-kuberay --replicas=0")


def test_the_refusal_for_a_lease_says_what_to_do_if_its_holder_watches_other_namespaces() -> None:
    told = Holder("Lease", "ray-system", LEASE).refusal()
    assert "Lease ray-system/ray-operator-leader" in told.why
    assert "--beside-kuberay" in told.following


class _Server:
    """Deployments and leases; each lease is renewed every second."""

    def __init__(self, *found: dict[str, Any], allowed: Sequence[str] | None = None) -> None:
        self._found = found
        self._allowed = allowed

    async def list(self, resource: Resource, namespace: str | None = None, **_selectors: str) -> ObjectList:
        if self._allowed is not None and namespace not in self._allowed:
            raise Forbidden(403, "Forbidden", f"cannot list {resource.plural} in {namespace}", {}, None)
        there = [each for each in self._found if each["kind"] == resource.kind]
        return ObjectList([each for each in there if namespace in (None, each["metadata"]["namespace"])], "1")

    async def get(self, resource: Resource, name: str, namespace: str) -> dict[str, Any]:
        for each in (await self.list(resource, namespace)).items:
            if each["metadata"]["name"] == name:
                renewed = rfc3339_micro(virtual.VirtualClock().utc())
                return {**each, "spec": {**each["spec"], "renewTime": renewed}}
        raise AssertionError(f"there is no {resource.kind} {namespace}/{name}")


def _kuberay(namespace: str, *watched: str, name: str = "kuberay-operator", ready: int = 1) -> dict[str, Any]:
    return {
        **_deployment(f"--watch-namespace={','.join(watched)}"),
        "kind": DEPLOYMENTS.kind,
        "metadata": {"namespace": namespace, "name": name},
        "status": {"readyReplicas": ready},
    }


def _lease(namespace: str, holder: str = "kuberay-operator-7d4b9c6f5-x2x9z_2b1f") -> dict[str, Any]:
    return {
        "kind": "Lease",
        "metadata": {"namespace": namespace, "name": LEASE},
        "spec": {"holderIdentity": holder, "renewTime": rfc3339_micro(virtual.EPOCH), "leaseDurationSeconds": 15},
    }


_KUBERAY = Holder("Deployment", "kuberay-system", "kuberay-operator")
_HELD = Holder("Lease", "kuberay-system", LEASE)
_PLACES: dict[str, tuple[_Server, Holder | None]] = {
    "one that watches everything from another namespace": (_Server(_kuberay("kuberay-system")), _KUBERAY),
    "one that watches ours from another namespace": (_Server(_kuberay("kuberay-system", "team")), _KUBERAY),
    "one that watches others": (_Server(_kuberay("kuberay-system", "other"), _lease("kuberay-system")), None),
    "one that watches others from our own namespace": (_Server(_kuberay("team", "other"), _lease("team")), None),
    "one that watches others hides no second beside it": (
        _Server(_kuberay("kuberay-system", "other", name="first"), _kuberay("kuberay-system")),
        _KUBERAY,
    ),
    "nor does it hide that the second holds the lease, though no pod of it is ready": (
        _Server(
            _kuberay("kuberay-system", "other", name="first"),
            _kuberay("kuberay-system", ready=0),
            _lease("kuberay-system"),
        ),
        _HELD,
    ),
    "a lease of one that watches others, where the second was scaled to nothing": (
        _Server(
            _kuberay("kuberay-system", "other", name="first"),
            _kuberay("kuberay-system", ready=0),
            _lease("kuberay-system", "first-7d4b9c6f5-x2x9z_2b1f"),
        ),
        None,
    ),
    "a lease of one of two, nobody knows which": (
        _Server(
            _kuberay("kuberay-system", "other", name="first"),
            _kuberay("kuberay-system", ready=0),
            _lease("kuberay-system", "laptop_2b1f"),
        ),
        _HELD,
    ),
    "a lease in another namespace of one that is no deployment": (_Server(_lease("kuberay-system")), _HELD),
    "nothing": (_Server(), None),
}


@pytest.mark.parametrize(("server", "expected"), _PLACES.values(), ids=_PLACES)
def test_kuberay_is_found_wherever_it_runs(server: _Server, expected: Holder | None) -> None:
    assert _found(server, ["team"]) == expected


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        pytest.param(_Server(_kuberay("team"), allowed=["team"]), "team", id="it is where we may look"),
        pytest.param(_Server(_kuberay("kuberay-system"), allowed=["team"]), None, id="it is where we may not look"),
        pytest.param(_Server(_kuberay("team"), allowed=["elsewhere"]), None, id="we may look nowhere"),
    ],
)
def test_who_may_not_look_everywhere_looks_in_the_watched_namespaces_and_says_so(
    server: _Server, expected: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    found = _found(server, ["team"])
    assert (found.namespace if found else None) == expected
    assert "KubeRay's operator was searched in team only" in caplog.text


def _found(server: _Server, namespaces: Sequence[str]) -> Holder | None:
    return virtual.run(find_kuberay(cast("Client", server), namespaces, virtual.VirtualClock()))
