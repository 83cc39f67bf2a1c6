"""Asking the proxies of pods for their routes."""

from __future__ import annotations

import dataclasses
import json

import pytest

from rayward.operator.ray.errors import Unreachable
from rayward.operator.ray.observation import UNSEEN, Observation, Pace, ProxyPod, Routes, Target
from rayward.operator.ray.reach import Answer, Ask, Place, PodPort
from rayward.operator.ray.routes import ask_routes

pytestmark = pytest.mark.anyio


class Proxies:
    """Pods by name; those that are not here do not answer."""

    def __init__(self, **answers: Answer) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def ask(self, place: Place, ask: Ask) -> Answer:
        assert (ask.method, ask.path) == ("GET", "/-/routes")
        self.asked.append(place.name)
        if place.name not in self.answers:
            raise Unreachable(f"{place}: nobody listens")
        return self.answers[place.name]


def _routes(**routes: str) -> Answer:
    return Answer(200, json.dumps({f"/{route}": app for route, app in routes.items()}).encode())


def _target(*names: str, routed: frozenset[str] = frozenset({"a", "b"})) -> Target:
    place = PodPort("default", "head", "10.0.0.1", 8265)
    pods = tuple(ProxyPod(f"{name}/0", PodPort("default", name, "10.0.0.2", 8000)) for name in names)
    return Target(place, proxies=pods, routed=routed)


async def test_a_proxy_has_all_routes_when_it_leads_to_every_application() -> None:
    proxies = Proxies(
        whole=_routes(x="a", y="b", z="c"),
        half=_routes(x="a"),
        empty=Answer(200, b"{}"),
        early=Answer(503, b"Route table is not populated yet."),
        other=Answer(200, b"<html>"),
    )
    found = await ask_routes(proxies, _target("whole", "half", "empty", "early", "other", "away"), UNSEEN)
    assert found.routes == {
        "whole/0": Routes.ALL,
        "half/0": Routes.MISSING,
        "empty/0": Routes.MISSING,
        "early/0": Routes.MISSING,
        "other/0": Routes.SILENT,
        "away/0": Routes.SILENT,
    }


async def test_a_proxy_that_had_all_routes_is_not_asked_again() -> None:
    proxies = Proxies(one=_routes(x="a", y="b"), two=_routes(x="a"))
    known = await ask_routes(proxies, _target("one", "two"), UNSEEN)
    await ask_routes(proxies, _target("one", "two"), known)
    assert sorted(proxies.asked) == ["one", "two", "two"]


async def test_it_is_asked_again_when_it_is_to_lead_to_another_application() -> None:
    proxies = Proxies(one=_routes(x="a"))
    known = await ask_routes(proxies, _target("one", routed=frozenset({"a"})), UNSEEN)
    assert known.routes == {"one/0": Routes.ALL}
    known = await ask_routes(proxies, _target("one"), known)
    assert known.routes == {"one/0": Routes.MISSING}


async def test_a_proxy_that_never_answers_is_asked_ever_more_rarely_while_nothing_changes() -> None:
    proxies, seen = Proxies(one=_routes(x="a", y="b")), UNSEEN
    for _ in range(60):
        seen = await ask_routes(proxies, _target("one", "away"), seen)
        assert seen.routes == {"one/0": Routes.ALL, "away/0": Routes.SILENT}
    assert proxies.asked.count("away") == 8, "0, 1, 3, 7 and then 11 looks pass between two questions"

    before = len(proxies.asked)
    seen = await ask_routes(proxies, dataclasses.replace(_target("one", "away"), pace=Pace.UPGRADING), seen)
    assert proxies.asked[before:] == ["away"], "an upgrade does not wait"
    proxies.answers["away"] = _routes(x="a", y="b")
    while seen.routes["away/0"] is not Routes.ALL:
        seen = await ask_routes(proxies, _target("one", "away"), seen)
    assert seen.unanswered == {}


async def test_pods_that_are_gone_are_forgotten() -> None:
    known = Observation(routes={"gone/0": Routes.ALL}, routed=frozenset({"a", "b"}))
    assert (await ask_routes(Proxies(), _target(), known)).routes == {}
