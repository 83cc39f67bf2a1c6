"""Which methods a path knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apiserver.inprocess import serving


@pytest.mark.anyio
@pytest.mark.parametrize(
    "path",
    [
        "/apis/authentication.k8s.io/v1/tokenreviews",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
        "/api/v1/namespaces/default/bindings",
    ],
)
@pytest.mark.parametrize("query", ["", "?watch=1"], ids=["list", "watch"])
async def test_what_can_only_be_created_can_neither_be_listed_nor_watched(
    tmp_path: Path, path: str, query: str
) -> None:
    async with serving(tmp_path) as api:
        answer = await api.call("GET", path + query)
        text = "the server does not allow this method on the requested resource"
        assert (answer.code, answer.body["reason"], answer.body["message"]) == (405, "MethodNotAllowed", text)
