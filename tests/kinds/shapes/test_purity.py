"""Every function, on manifests drawn at random: it answers, twice the same, and leaves the manifest alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds import shapes
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.validation import cluster_problems
from rayward.operator.cluster import children, services
from tests.operator.children import manifests, typed
from tests.operator.generated import generated

Object = dict[str, Any]

_MANIFESTS = {name: manifest.cluster for name, manifest in manifests().items()}


def _everything(cluster: RayCluster) -> list[Any]:
    return [
        shapes.head_pod(cluster, "h"),
        *(shapes.worker_pod(cluster, group, "w") for group in cluster.groups),
        *(
            make(cluster)
            for make in (
                services.head_service,
                services.headless_service,
                services.serve_service,
                children.service_account,
                children.role,
                children.role_binding,
                children.ingress,
                children.storage_claim,
                shapes.redis_cleanup_job,
                children.network_policies,
                shapes.resources_of,
            )
        ),
        children.auth_secret(cluster, "t"),
    ]


def _parts(value: Any) -> Iterator[int]:
    """The identities of all maps and lists in a value."""
    if isinstance(value, msgspec.Struct):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
        yield from (part for item in value.values() for part in _parts(item))
    elif isinstance(value, dict | list | tuple):
        if not isinstance(value, tuple):
            yield id(value)
        yield from (part for item in (value.values() if isinstance(value, dict) else value) for part in _parts(item))


def _check(cluster: RayCluster) -> None:
    before = msgspec.json.encode(cluster)

    first, second = _everything(cluster), _everything(cluster)

    assert first == second
    assert msgspec.json.encode(cluster) == before
    shared = set(_parts(cluster)) & set(_parts(first))
    assert not shared
    assert not set(_parts(first)) & set(_parts(second))
    own = [part for child in first for part in _parts(child)]
    assert len(own) == len(set(own))


def _placed(manifest: Object) -> RayCluster:
    metadata = {**manifest["metadata"], "namespace": "lab", "uid": "u-1"}
    return typed({**manifest, "metadata": metadata})


@pytest.mark.parametrize("name", sorted(_MANIFESTS))
def test_manifests(name: str) -> None:
    _check(_placed(_MANIFESTS[name]))


@given(seed=st.integers(0, 10**9))
def test_generated_manifests(seed: int) -> None:
    _check(_placed(generated(seed)))


@given(seed=st.integers(0, 10**9), data=st.data())
def test_manifests_with_parts_left_out(seed: int, data: st.DataObject) -> None:
    """Whatever is optional may be missing, null or empty."""
    manifest = json.loads(json.dumps(generated(seed)))
    places = sorted(_places(manifest["spec"]), key=lambda place: (str(place[1]), json.dumps(place[0], sort_keys=True)))
    for where, name in data.draw(st.lists(st.sampled_from(places), max_size=5)):
        if name in where:
            data.draw(st.sampled_from([_drop, _null, _empty]))(where, name)

    cluster = _placed(manifest)

    if not cluster_problems(cluster):
        _check(cluster)


_REQUIRED = ("name", "image", "containerPort", "containers", "template", "headGroupSpec", "mountPath", "groupName")


def _places(value: Any) -> Iterator[tuple[Object, str]]:
    if isinstance(value, dict):
        for name, part in value.items():
            if name not in _REQUIRED and isinstance(part, dict | list):
                yield value, name
            yield from _places(part)
    elif isinstance(value, list):
        for part in value:
            yield from _places(part)


def _drop(where: Object, name: str) -> None:
    del where[name]


def _null(where: Object, name: str) -> None:
    where[name] = None


def _empty(where: Object, name: str) -> None:
    where[name] = type(where[name])() if where[name] is not None else None
