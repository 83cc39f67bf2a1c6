"""Quotas on the number of objects, on a running server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.apiserver.admission.api import MERGE, Api, refusal


def _limit(api: Api, **hard: str) -> None:
    names = {name.replace("__", "/"): limit for name, limit in hard.items()}
    path = f"/api/v1/namespaces/{api.namespace}/resourcequotas"
    assert api.call("POST", path, {"metadata": {"name": "few"}, "spec": {"hard": names}}).code == 201


@pytest.mark.parametrize("name", ["configmaps", "count__configmaps"])
def test_no_more_objects_than_allowed(api: Api, name: str) -> None:
    _limit(api, **{name: "2"})
    assert [api.create(each).code for each in "ab"] == [201, 201]

    shown = name.replace("__", "/")
    text = f"exceeded quota: few, requested: {shown}=1, used: {shown}=2, limited: {shown}=2"
    assert refusal(api.create("c")) == (403, "Forbidden", f'configmaps "c" is forbidden: {text}')
    assert api.call("GET", api.maps("c")).code == 404


def test_what_is_gone_counts_no_more(api: Api) -> None:
    _limit(api, configmaps="1")
    assert api.create("a").code == 201
    assert api.create("b").code == 403

    api.call("DELETE", api.maps("a"))

    assert api.create("b").code == 201


def test_changes_and_dry_runs_take_no_room(api: Api) -> None:
    _limit(api, configmaps="1")
    assert [api.create("a", "?dryRun=All").code for _ in range(3)] == [201] * 3
    assert api.create("a").code == 201

    assert api.call("PATCH", api.maps("a"), {"data": {"b": "2"}}, MERGE).code == 200
    assert api.create("b", "?dryRun=All").code == 403


def test_many_at_once_get_no_more_than_one(api: Api) -> None:
    _limit(api, configmaps="3")
    clients = [api.again() for _ in range(12)]

    with ThreadPoolExecutor(len(clients)) as pool:
        codes = [reply.code for reply in pool.map(lambda i: clients[i].create(f"m{i}"), range(len(clients)))]

    assert sorted(codes) == [201] * 3 + [403] * 9


def test_another_namespace_has_its_own(api: Api) -> None:
    _limit(api, configmaps="0")
    assert api.create("a").code == 403

    assert api.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "a"}}).code == 201
