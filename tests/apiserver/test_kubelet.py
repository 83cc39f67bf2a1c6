"""Which container of a pod is meant, what a kubelet is shown, and what its refusals become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rayward.local.apiserver.kubelet import Target, container_of, refused
from rayward.local.apiserver.status import ApiError
from tests.apiserver.fakekubelet import NODE, POD, fake_kubelet
from tests.apiserver.inprocess import serving


def _pod(*names: str, default: str = "", inits: tuple[str, ...] = ()) -> dict[str, Any]:
    annotations = {"kubectl.kubernetes.io/default-container": default} if default else {}
    spec = {"containers": [{"name": n} for n in names], "initContainers": [{"name": n} for n in inits]}
    return {"metadata": {"name": "p", "annotations": annotations}, "spec": spec}


@pytest.mark.parametrize(
    ("pod", "asked", "meant"),
    [
        (_pod("a"), "", "a"),
        (_pod("a", "b"), "b", "b"),
        (_pod("a", "b", default="b"), "", "b"),
        (_pod("a", inits=("i",)), "", "a"),
        (_pod("a", inits=("i",)), "i", "i"),
    ],
    ids=["the only one", "the named one", "the default one", "inits do not count", "but can be named"],
)
def test_the_container_that_is_meant(pod: dict[str, Any], asked: str, meant: str) -> None:
    assert container_of(pod, asked) == meant


@pytest.mark.parametrize(
    ("pod", "asked", "message"),
    [
        (_pod("a", "b"), "", "a container name must be specified for pod p, choose one of: [a b]"),
        (_pod("a"), "x", "container x is not valid for pod p"),
    ],
)
def test_a_container_that_cannot_be_told(pod: dict[str, Any], asked: str, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        container_of(pod, asked)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_names_are_safe_in_the_kubelets_path() -> None:
    assert Target("h:1", "a/b", "p?", "c").path("exec") == "https://h:1/exec/a%2Fb/p%3F/c"


@pytest.mark.parametrize(("code", "seen"), [(404, 404), (400, 400), (500, 503), (502, 503)])
def test_a_kubelets_failure_is_not_ours(code: int, seen: int) -> None:
    error = refused(code, b"no such thing\n")
    assert (error.code, error.message) == (seen, "no such thing")


_SPDY = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"}
_SOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Protocol": "v4.channel.k8s.io",
}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", f"{POD}/log", {}),
        ("GET", f"{POD}/log?follow=true", {}),
        ("POST", f"{POD}/exec?command=sh&stdout=1", _SPDY),
        ("GET", f"{POD}/exec?command=sh&stdout=1", _SOCKET),
        ("POST", f"{POD}/portforward", _SPDY),
        ("GET", "/api/v1/namespaces/default/pods/p:80/proxy/", {}),
        ("GET", f"{NODE}/proxy/pods", {}),
        ("GET", f"{NODE}/proxy/exec/default/p/c", _SPDY),
    ],
    ids=["log", "followed log", "exec", "exec by WebSocket", "forward", "pod proxy", "node proxy", "node proxy's exec"],
)
async def test_a_kubelet_is_shown_a_certificate_and_no_token(
    tmp_path: Path, method: str, path: str, headers: dict[str, str]
) -> None:
    # whoever may write a Node's status decides where this goes
    async with serving(tmp_path) as api, fake_kubelet(api, tmp_path) as kubelet:
        kubelet.status = 403
        await api.call(method, path, **headers)
        assert kubelet.subjects == [("kubernetes-admin", ("system:masters",))]
        assert "authorization" not in kubelet.headers[0]


@pytest.mark.anyio
@pytest.mark.parametrize("query", ["", "?follow=true"], ids=["whole", "followed"])
@pytest.mark.parametrize(("status", "reason"), [(400, "BadRequest"), (404, "NotFound")])
async def test_a_refused_log_is_a_failure_and_no_log(tmp_path: Path, query: str, status: int, reason: str) -> None:
    async with serving(tmp_path) as api, fake_kubelet(api, tmp_path) as kubelet:
        kubelet.status, kubelet.text = status, b'container "c" is waiting to start\n'
        answer = await api.call("GET", f"{POD}/log{query}")
        assert (answer.code, answer.body["reason"]) == (status, reason)
        assert answer.body["message"] == 'container "c" is waiting to start'


@pytest.mark.anyio
@pytest.mark.parametrize("query", ["", "?follow=true"], ids=["whole", "followed"])
async def test_a_log_of_a_kubelet_that_is_gone_is_a_failure(tmp_path: Path, query: str) -> None:
    async with serving(tmp_path) as api:
        async with fake_kubelet(api, tmp_path) as kubelet:
            port = kubelet.port
        answer = await api.call("GET", f"{POD}/log{query}")
        assert (answer.code, answer.body["reason"]) == (503, "ServiceUnavailable")
        assert answer.body["message"].startswith(f"the kubelet at 127.0.0.1:{port} does not answer: ")


@pytest.mark.anyio
async def test_a_followed_log_comes_as_the_kubelet_says_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as api, fake_kubelet(api, tmp_path):
        assert await api.call("GET", f"{POD}/log?follow=true") == (200, b"said\n")
