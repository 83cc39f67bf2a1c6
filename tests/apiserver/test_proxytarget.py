"""Whom a proxy request means."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.proxy import split_path
from rayward.local.apiserver.proxytarget import ready_pods, split_name


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("p", ("", "p", "")),
        ("p:80", ("", "p", "80")),
        ("https:p:443", ("https", "p", "443")),
        (":p:web", ("", "p", "web")),
        ("https:p:", ("https", "p", "")),
        ("ftp:p:1", None),
        ("a:b:c:d", None),
        (":80", None),
        ("", None),
    ],
)
def test_names_with_schemes_and_ports(name: str, seen: tuple[str, str, str] | None) -> None:
    assert split_name(name) == seen


_POD = "/api/v1/namespaces/n/pods/p/proxy"


@pytest.mark.parametrize(
    ("raw", "segments", "seen"),
    [
        (_POD, 7, (_POD, "")),
        (f"{_POD}/", 7, (_POD, "/")),
        (f"{_POD}/a/b", 7, (_POD, "/a/b")),
        (f"{_POD}/a/b%2Fc//d/", 7, (_POD, "/a/b/c/d/")),
        (f"{_POD}/a/../../../etc", 7, (_POD, "/etc")),
        (f"{_POD}/%2e%2e/x", 7, (_POD, "/x")),
        (f"{_POD}//evil.example/x", 7, (_POD, "/evil.example/x")),
        (f"{_POD}/a%20b%3Fc%23", 7, (_POD, "/a%20b%3Fc%23")),
        (f"{_POD}/%0d%0aX:1", 7, (_POD, "/%0D%0AX:1")),
        (f"{_POD}/%C3%A9", 7, (_POD, "/%C3%A9")),
        ("/api/v1/nodes/n/proxy/pods", 5, ("/api/v1/nodes/n/proxy", "/pods")),
        ("/api/v1/nodes/proxy/proxy/proxy", 5, ("/api/v1/nodes/proxy/proxy", "/proxy")),
    ],
)
def test_the_path_behind_the_proxy(raw: str, segments: int, seen: tuple[str, str]) -> None:
    assert split_path(raw.encode(), segments) == seen


def _slice(*endpoints: dict[str, Any], service: str = "s", **ports: int) -> dict[str, Any]:
    named = [{"name": "" if name == "unnamed" else name, "port": port} for name, port in ports.items()]
    labels = {"kubernetes.io/service-name": service}
    return {"metadata": {"labels": labels}, "endpoints": list(endpoints), "ports": named}


def _endpoint(name: str, kind: str = "Pod", **conditions: bool) -> dict[str, Any]:
    return {"addresses": ["10.42.0.2"], "conditions": conditions, "targetRef": {"kind": kind, "name": name}}


@pytest.mark.parametrize(
    ("slices", "port", "seen"),
    [
        ([], "", None),
        ([_slice(web=80)], "web", None),
        ([_slice(_endpoint("a"), service="other", web=80)], "web", None),
        ([_slice(_endpoint("a", ready=True), _endpoint("b", ready=False), web=80)], "web", [("a", 80)]),
        ([_slice(_endpoint("a"), unnamed=80)], "", [("a", 80)]),
        ([_slice(_endpoint("a"), web=80)], "", []),
        ([_slice(_endpoint("a", kind="Node"), web=80)], "web", []),
        ([_slice({"addresses": ["192.0.2.1"]}, web=80)], "web", []),
        ([_slice(_endpoint("a"), web=80), _slice(_endpoint("b"), web=81)], "web", [("a", 80), ("b", 81)]),
    ],
    ids=[
        "no slice",
        "nobody in it",
        "of another service",
        "only who is ready",
        "a port without a name",
        "a port of another name",
        "no pod",
        "no target",
        "all slices",
    ],
)
def test_the_pods_behind_a_service(slices: list[dict[str, Any]], port: str, seen: list[tuple[str, int]] | None) -> None:
    assert ready_pods(slices, "s", port) == seen
