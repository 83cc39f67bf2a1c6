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
