"""For whom a service account's token is good."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apiserver.inprocess import Api, serving

pytestmark = pytest.mark.anyio

_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts"
_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


async def _token(api: Api, *audiences: str) -> str:
    await api.call("POST", _ACCOUNT, {"metadata": {"name": "a"}})
    issued = await api.call("POST", f"{_ACCOUNT}/a/token", {"spec": {"audiences": list(audiences)}})
    return issued.body["status"]["token"]


async def _is_known(api: Api, token: str, *audiences: str) -> bool:
    review = await api.call("POST", _REVIEWS, {"spec": {"token": token, "audiences": list(audiences)}})
    return review.body["status"].get("authenticated", False)


async def test_a_token_is_good_for_the_server_unless_it_says_otherwise(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        token = await _token(api)
        assert await _is_known(api, token)
        assert not await _is_known(api, token, "vault")


async def test_a_token_for_somebody_else_is_no_key_to_the_server(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        token = await _token(api, "vault")
        assert await _is_known(api, token, "vault")
        assert not await _is_known(api, token)


@pytest.mark.parametrize(
    ("kind", "collection"),
    [
        ("Secret", "/api/v1/namespaces/default/secrets"),
        ("Node", "/api/v1/nodes"),
        ("Pod", "/api/v1/namespaces/default/pods"),
    ],
)
async def test_a_token_ends_with_the_object_it_is_bound_to(tmp_path: Path, kind: str, collection: str) -> None:
    async with serving(tmp_path) as api:
        await api.call("POST", _ACCOUNT, {"metadata": {"name": "a"}})
        spec = {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}]} if kind == "Pod" else {}
        body = {"metadata": {"name": "b"}, **({"spec": spec} if spec else {})}
        uid = (await api.call("POST", collection, body)).body["metadata"]["uid"]
        bound = {"kind": kind, "apiVersion": "v1", "name": "b", "uid": uid}
        issued = await api.call("POST", f"{_ACCOUNT}/a/token", {"spec": {"boundObjectRef": bound}})
        token = issued.body["status"]["token"]
        assert await _is_known(api, token)
        await api.call("DELETE", f"{collection}/b?gracePeriodSeconds=0")
        assert not await _is_known(api, token)
        assert (await api.call("POST", collection, body)).code == 201
        assert not await _is_known(api, token), "another object of that name is another object"


async def test_an_account_that_is_changed_keeps_its_tokens_and_one_that_is_replaced_ends_them(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        token = await _token(api)
        assert await _is_known(api, token)
        change = {"metadata": {"labels": {"a": "b"}}}
        assert (await api.call("PATCH", f"{_ACCOUNT}/a", change, "application/merge-patch+json")).code == 200
        assert await _is_known(api, token)
        await api.call("DELETE", f"{_ACCOUNT}/a")
        assert not await _is_known(api, token)
        assert (await api.call("POST", _ACCOUNT, {"metadata": {"name": "a"}})).code == 201
        assert not await _is_known(api, token)


async def test_a_token_bound_to_a_node_says_which(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await api.call("POST", _ACCOUNT, {"metadata": {"name": "a"}})
        uid = (await api.call("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})).body["metadata"]["uid"]
        bound = {"kind": "Node", "apiVersion": "v1", "name": "n"}
        issued = await api.call("POST", f"{_ACCOUNT}/a/token", {"spec": {"boundObjectRef": bound}})
        review = await api.call("POST", _REVIEWS, {"spec": {"token": issued.body["status"]["token"]}})
        extra = review.body["status"]["user"]["extra"]
        assert extra["authentication.kubernetes.io/node-name"] == ["n"]
        assert extra["authentication.kubernetes.io/node-uid"] == [uid]
