"""New objects: where they may go, and what stands in their way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apiserver.inprocess import serving

pytestmark = pytest.mark.anyio

_MERGE = "application/merge-patch+json"


@pytest.mark.parametrize("field", ["labels", "annotations"])
async def test_a_word_in_a_namespace_does_not_end_it(tmp_path: Path, field: str) -> None:
    async with serving(tmp_path) as api:
        word = {"metadata": {field: {"deletionTimestamp": "x"}}}
        assert (await api.call("PATCH", "/api/v1/namespaces/default", word, _MERGE)).code == 200
        made = await api.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        assert made.code == 201


async def test_a_namespace_that_goes_takes_nothing_new(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "goes"}})
        await api.call("DELETE", "/api/v1/namespaces/goes")
        refused = await api.call("POST", "/api/v1/namespaces/goes/configmaps", {"metadata": {"name": "a"}})
        assert (refused.code, "being terminated" in refused.body["message"]) == (403, True)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        pytest.param({"finalizers": ["a.b/c"]}, 'object is being deleted: configmaps "a" already exists', id="goes"),
        pytest.param({"labels": {"deletionTimestamp": "x"}}, 'configmaps "a" already exists', id="stays"),
    ],
)
async def test_what_is_in_the_way_is_said_to_go_only_if_it_does(
    tmp_path: Path, metadata: dict[str, object], message: str
) -> None:
    config_maps = "/api/v1/namespaces/default/configmaps"
    async with serving(tmp_path) as api:
        assert (await api.call("POST", config_maps, {"metadata": {"name": "a", **metadata}})).code == 201
        if "finalizers" in metadata:
            assert (await api.call("DELETE", f"{config_maps}/a")).code == 200
        again = await api.call("POST", config_maps, {"metadata": {"name": "a"}})
        assert (again.code, again.body["message"]) == (409, message)
