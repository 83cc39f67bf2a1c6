"""Who is asking: by certificate, by token, or in another's name. Answers are those of kube-apiserver 1.36."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from rayward.net.client import HttpClient, Route
from tests.apiserver.inprocess import serving

pytestmark = pytest.mark.anyio

_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_MAPS = "/api/v1/namespaces/default/configmaps"
_TOKEN = "TOKEN"
Headers = Sequence[tuple[str, str]]


async def _ask(
    folder: Path, headers: Headers, *, method: str = "POST", path: str = _WHO, certificate: bool = False
) -> tuple[int, Any]:
    """The answer of a server to somebody who shows just this; TOKEN stands for the administrator's."""
    pki = folder / "pki"
    async with serving(folder), HttpClient() as http:
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        if certificate:
            context.load_cert_chain(pki / "client.crt", pki / "client.key")
        token = (pki / "token").read_text()
        sent = [(name, value.replace(_TOKEN, token)) for name, value in headers]
        url = f"https://127.0.0.1:{(folder / 'port').read_text()}{path}"
        body = b"{}" if method == "POST" else None
        if body:
            sent.append(("Content-Type", "application/json"))
        answer = await http.request(method, url, headers=sent, body=body, route=Route(tls=context))
        return answer.status, orjson.loads(answer.body) if answer.body[:1] == b"{" else answer.body


_KNOWN: Headers = [("Authorization", f"Bearer {_TOKEN}")]


@pytest.mark.parametrize(
    ("certificate", "header", "code"),
    [
        (True, None, 201),
        (True, "Bearer nonsense", 201),
        (True, "Basic eDp5", 201),
        (False, f"Bearer {_TOKEN}", 201),
        (False, f"bearer {_TOKEN}", 201),
        (False, "Bearer nonsense", 401),
        (False, "Bearer ", 403),
        (False, "Basic eDp5", 403),
        (False, None, 403),
    ],
)
async def test_a_certificate_is_looked_at_before_a_token(
    tmp_path: Path, certificate: bool, header: str | None, code: int
) -> None:
    headers = [("Authorization", header)] if header is not None else []
    answered, body = await _ask(tmp_path, headers, certificate=certificate)
    assert answered == code
    if code == 201:
        assert body["status"]["userInfo"]["username"] == "kubernetes-admin"


_USER, _GROUP, _UID, _EXTRA = "Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-"
_ALL = "system:authenticated"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(_USER, "jane")], {"username": "jane", "groups": [_ALL]}),
        ([(_USER, "jane"), (_USER, "joe")], {"username": "jane", "groups": [_ALL]}),
        ([(_USER, "jane"), (_GROUP, "a"), (_GROUP, "b")], {"username": "jane", "groups": ["a", "b", _ALL]}),
        ([(_USER, "jane"), (_GROUP, _ALL), (_GROUP, "b")], {"username": "jane", "groups": [_ALL, "b"]}),
        ([(_USER, "jane"), (_UID, "7")], {"username": "jane", "uid": "7", "groups": [_ALL]}),
        (
            [
                (_USER, "jane"),
                (f"{_EXTRA}Acme.com%2Fproject", "p1"),
                (f"{_EXTRA}Acme.com%2Fproject", "p2"),
                (f"{_EXTRA}a%zz", "x, y"),
            ],
            {"username": "jane", "groups": [_ALL], "extra": {"acme.com/project": ["p1", "p2"], "a%zz": ["x, y"]}},
        ),
        (
            [(_USER, "system:serviceaccount:default:a")],
            {
                "username": "system:serviceaccount:default:a",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:default", _ALL],
            },
        ),
        (
            [(_USER, "system:serviceaccount:default:a"), (_GROUP, "x")],
            {"username": "system:serviceaccount:default:a", "groups": ["x", _ALL]},
        ),
        (
            [(_USER, "system:serviceaccount:default")],
            {"username": "system:serviceaccount:default", "groups": [_ALL]},
        ),
        (
            [(_USER, "system:serviceaccount:De_f:x")],
            {"username": "system:serviceaccount:De_f:x", "groups": [_ALL]},
        ),
        ([(_USER, "system:node:n")], {"username": "system:node:n", "groups": ["system:nodes", _ALL]}),
        ([(_USER, "")], {"username": "kubernetes-admin", "groups": ["system:masters", _ALL]}),
    ],
    ids=lambda value: ",".join(f"{name}={given}" for name, given in value) if isinstance(value, list) else "",
)
async def test_a_caller_may_speak_as_another(tmp_path: Path, headers: Headers, expected: dict[str, Any]) -> None:
    code, body = await _ask(tmp_path, [*_KNOWN, *headers])
    assert (code, body["status"]["userInfo"]) == (201, expected)


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        ([(_GROUP, "g")], 'UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)'),
        ([(_UID, "7")], 'UID:"7", Groups:[]string(nil), Extra:map[string][]string(nil)'),
        (
            [(_UID, 'u"x'), (_GROUP, "g"), (_GROUP, ""), (f"{_EXTRA}b", "7"), (f"{_EXTRA}a", "8")],
            'UID:"u\\"x", Groups:[]string{"g", ""}, Extra:map[string][]string{"a":[]string{"8"}, "b":[]string{"7"}}',
        ),
    ],
    ids=["group", "uid", "all"],
)
@pytest.mark.parametrize("path", [_WHO, "/healthz"])
async def test_groups_and_the_like_need_a_user(tmp_path: Path, headers: Headers, shown: str, path: str) -> None:
    method = "POST" if path == _WHO else "GET"
    code, body = await _ask(tmp_path, [*_KNOWN, *headers], method=method, path=path)
    message = f'requested &user.DefaultInfo{{Name:"", {shown}}} without impersonating a user name'
    assert (code, body["reason"], body["message"]) == (400, "BadRequest", message)


async def test_nobody_in_particular_stays_nobody_in_whatever_name(tmp_path: Path) -> None:
    code, _ = await _ask(tmp_path, [(_USER, "jane")], method="GET", path=_MAPS)
    assert code == 403
    code, body = await _ask(tmp_path, [(_USER, "jane")], method="GET", path="/healthz")
    text = 'forbidden: User "system:anonymous" cannot impersonate-on:user-info:get path "/healthz"'
    assert (code, body["message"]) == (403, text)


async def test_who_speaks_as_nobody_may_do_as_little(tmp_path: Path) -> None:
    headers = [*_KNOWN, (_USER, "system:anonymous")]
    code, body = await _ask(tmp_path, headers, method="GET", path=_MAPS)
    text = (
        'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" '
        'in the namespace "default"'
    )
    assert (code, body["message"]) == (403, text)
    assert await _ask(tmp_path, headers, method="GET", path="/healthz") == (200, b"ok")
