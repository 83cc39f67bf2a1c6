"""The files of volumes that are made from objects."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from rayward.local.node.volumes.content import Sources, VolumeError, files, tokens_wanted

Object = dict[str, Any]


POD: Object = {"metadata": {"name": "web-0", "namespace": "shop", "labels": {}}, "spec": {"containers": []}}


def _sources(**objects: Object) -> Sources:
    def find(_namespace: str, name: str) -> Object | None:
        return objects.get(name)

    return Sources(find, find, {}, {("", 3600): "a-token", ("vault", 600): "v-token"})


def test_projected_volumes() -> None:
    volume = {
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token"}},
                {"serviceAccountToken": {"path": "vault", "audience": "vault", "expirationSeconds": 600}},
                {"configMap": {"name": "ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
            ]
        }
    }
    made = files(POD, volume, _sources(ca={"data": {"ca.crt": "PEM", "other": "x"}}))
    assert {name: file.data for name, file in made.items()} == {
        "token": b"a-token",
        "vault": b"v-token",
        "ca.crt": b"PEM",
        "namespace": b"shop",
    }
    assert tokens_wanted(volume) == [("", 3600), ("vault", 600)]


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        ({"secret": {"secretName": "none"}}, 'secret "none" not found'),
        (
            {"configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}},
            "configmap references non-existent config key: k",
        ),
        (
            {"secret": {"secretName": "m", "items": [{"key": "k", "path": "p"}]}},
            "references non-existent secret key: k",
        ),
        ({"projected": {"sources": [{"clusterTrustBundle": {}}]}}, 'source "clusterTrustBundle" of a projected volume'),
    ],
)
def test_volumes_that_cannot_be_made(volume: Object, message: str) -> None:
    with pytest.raises(VolumeError, match=message):
        files(POD, volume, _sources(m={"data": {}}))


def test_binary_data_of_a_config_map() -> None:
    found = {"data": {}, "binaryData": {"b": base64.b64encode(b"\0\xff").decode()}}
    assert files(POD, {"configMap": {"name": "m"}}, _sources(m=found))["b"].data == b"\0\xff"
