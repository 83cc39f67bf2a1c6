"""Hostile requests get the same answer from the embedded server as from a real one.

Sequences of damaged requests go to both. They answer with the same code and reason; where the real server fails
(500, or it panics and hangs up) ours refuses. Texts may differ where several mistakes meet: which is found first is
an accident of a decoder.
"""

from __future__ import annotations

import contextlib
import http.client
import json
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.apiserver.fuzz.judge import Answered, Asked
from tests.apiserver.fuzz.session import Wire
from tests.apiserver.fuzz.storms import STORMS
from tests.apiserver.fuzz.subjects import definition
from tests.contract.real import real_server
from tests.contract.server import Server
from tests.contract.target import embedded_server
from tests.waiting import eventually

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]

_WIDGETS = "/apis/fuzz.example.com/v1/namespaces/default/widgets"
_PREPARED: list[tuple[str, Any]] = [
    ("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}),
    ("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "kept"}, "data": {"a": "1"}}),
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition()),
]
_CODES, _TEXTS = 0.99, 0.85


@contextlib.contextmanager
def _prepared(server: Server) -> Generator[Wire]:
    with contextlib.closing(Wire(server, whole=True)) as wire:
        for path, body in _PREPARED:
            wire.send(Asked("POST", path, json.dumps(body).encode()))
        eventually(lambda: wire.send(Asked("GET", _WIDGETS)).code == 200)
        yield wire


def _said(answered: Answered) -> tuple[int, str, str]:
    try:
        status = json.loads(answered.body)
    except ValueError:
        return answered.code, "", ""
    refused = isinstance(status, dict) and answered.code >= 400
    return (answered.code, status.get("reason", ""), status["message"]) if refused else (answered.code, "", "")


def _asked_for_real(wire: Wire, asked: Asked) -> tuple[int, str, str]:
    try:
        return _said(wire.send(asked))
    except http.client.RemoteDisconnected:
        # kube-apiserver's decoder of protobuf panics on some damaged bytes, and net/http hangs up
        return 500, "", ""


def test_both_servers_say_the_same(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    different: Counter[str] = Counter()
    with real_server() as theirs, embedded_server(tmp_path) as ours, _prepared(theirs) as real, _prepared(ours) as mine:
        for storm in STORMS:
            for asked in storm(Random(1)):
                expected, given = _asked_for_real(real, asked), _said(mine.send(asked))
                counts["all"] += 1
                theirs_failed = expected[0] >= 500 and given[0] == 400
                counts["codes"] += expected[:2] == given[:2] or theirs_failed
                counts["texts"] += expected == given or theirs_failed
                if expected[:2] != given[:2] and not theirs_failed:
                    different[f"{storm.__name__}: {expected[:2]}, ours {given[:2]}"] += 1
    codes, texts = counts["codes"] / counts["all"], counts["texts"] / counts["all"]
    print(f"same answers: {counts['all']} hostile requests, {codes:.1%} with the same code, {texts:.1%} word for word")
    assert codes >= _CODES, different.most_common(20)
    assert texts >= _TEXTS
