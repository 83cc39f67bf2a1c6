"""CRDs in a running server: what is served, and what no definition may break."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.inprocess import Api, serving

pytestmark = pytest.mark.anyio

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def definition(plural: str = "widgets", *versions: dict[str, Any], group: str = "example.com") -> dict[str, Any]:
    singular = plural[:-1]
    plain = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _OPEN}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "plural": plural,
                "singular": singular,
                "kind": singular.title(),
                "listKind": f"{singular.title()}List",
            },
            "versions": [{**plain, **version} for version in versions] or [plain],
        },
    }


def widget(name: str = "w", version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, **fields}


def place(plural: str = "widgets", version: str = "v1") -> str:
    return f"/apis/example.com/{version}/namespaces/default/{plural}"


async def define(api: Api, crd: dict[str, Any]) -> None:
    assert (await api.call("POST", _DEFINITIONS, crd)).code == 201
    await condition(api, crd["metadata"]["name"], "Established")


async def condition(api: Api, name: str, kind: str) -> None:
    path = f"{_DEFINITIONS}?watch=1&fieldSelector=metadata.name%3D{name}"
    async with asyncio.timeout(60):
        async for event in api.watch(path):
            conditions = event["object"]["status"].get("conditions") or []
            if any(c["type"] == kind and c["status"] == "True" for c in conditions):
                return


async def gone(api: Api, path: str) -> None:
    async with asyncio.timeout(60):
        while (await api.call("GET", path)).code != 404:
            pass


@pytest.mark.parametrize("path", [".spec[", ".spec.{", ".spec[?(", '.spec["x"', ".x[0:1:2:3]"])
async def test_a_column_nobody_can_read_ends_the_columns(tmp_path: Path, path: str) -> None:
    paths = {"fine": ".spec.fine", "odd": path, "after": ".spec.after"}
    columns = [{"name": name, "type": "string", "jsonPath": text} for name, text in paths.items()]
    async with serving(tmp_path) as api:
        await define(api, definition("widgets", {"additionalPrinterColumns": columns}))
        assert (await api.call("POST", place(), widget())).code == 201
        table = (await api.call("GET", place(), Accept=_TABLE)).body
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "fine"]
    async with serving(tmp_path) as api:
        assert (await api.call("GET", f"{place()}/w")).code == 200


async def test_objects_of_a_definition_that_serves_nothing_go_with_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await define(api, definition())
        assert (await api.call("POST", place(), widget())).code == 201
        name = f"{_DEFINITIONS}/widgets.example.com"
        unserved = {"spec": {"versions": definition("widgets", {"served": False})["spec"]["versions"]}}
        assert (await api.call("PATCH", name, unserved, "application/merge-patch+json")).code == 200
        assert (await api.call("DELETE", name)).code == 200
        await gone(api, name)
        await define(api, definition())
        assert (await api.call("GET", place())).body["items"] == []


async def test_objects_created_while_their_definition_goes_go_with_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await define(api, definition())
        name = f"{_DEFINITIONS}/widgets.example.com"
        creates = [api.call("POST", place(), widget(f"w{i}")) for i in range(20)]
        later = [api.call("POST", place(), widget(f"x{i}")) for i in range(20)]
        await asyncio.gather(*creates, api.call("DELETE", name), *later)
        await gone(api, name)
        await define(api, definition())
        assert (await api.call("GET", place())).body["items"] == []


async def test_a_definition_cannot_take_the_place_of_a_kind_of_kubernetes_own(tmp_path: Path) -> None:
    ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    ingress = {"metadata": {"name": "i"}, "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}}}
    crd = definition("ingresses", group="networking.k8s.io")
    crd["spec"]["names"] = {"plural": "ingresses", "singular": "ingress", "kind": "Ingress", "listKind": "IngressList"}
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}
    async with serving(tmp_path) as api:
        assert (await api.call("POST", ingresses, ingress)).code == 201
        await define(api, crd)
        again = {**ingress, "metadata": {"name": "j"}, "spec": {}}
        assert (await api.call("POST", ingresses, again)).code == 422
        name = f"{_DEFINITIONS}/ingresses.networking.k8s.io"
        assert (await api.call("DELETE", name)).code == 200
        await gone(api, name)
        assert (await api.call("GET", f"{ingresses}/i")).code == 200


async def test_objects_written_while_the_stored_version_changes_are_read_in_both_versions(tmp_path: Path) -> None:
    old = ({"name": "v1alpha1"}, {"name": "v1", "storage": False})
    new = ({"name": "v1alpha1", "storage": False}, {"name": "v1"})
    async with serving(tmp_path) as api:
        await define(api, definition("widgets", *old))
        patch = {"spec": {"versions": definition("widgets", *new)["spec"]["versions"]}}
        name = f"{_DEFINITIONS}/widgets.example.com"
        before = [api.call("POST", place(), widget(f"w{i}")) for i in range(20)]
        change = api.call("PATCH", name, patch, "application/merge-patch+json")
        after = [api.call("POST", place(version="v1alpha1"), widget(f"x{i}", "v1alpha1")) for i in range(20)]
        answers = await asyncio.gather(*before, change, *after)
        assert {answer.code for answer in answers} <= {200, 201}
        for version in ("v1", "v1alpha1"):
            items = (await api.call("GET", place(version=version))).body["items"]
            assert len(items) == 40
            assert {item["apiVersion"] for item in items} == {f"example.com/{version}"}
