"""Requests made from our own OpenAPI get an answer of Kubernetes' kind, and never a failure of the server.

The same requests each time; FUZZ_SEED asks for others, FUZZ_REQUESTS for more of each resource.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Generator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.apiserver.fuzz.session import Session, prepare
from tests.apiserver.fuzz.subjects import Subject, subjects
from tests.contract.server import Server
from tests.contract.target import embedded_server

_SUBJECTS = subjects()
_REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "555"))
_SHARES = {"widgets": 0.25, "customresourcedefinitions": 0.5}
"""Of the requests: making those of deep schemas takes ten times as long as answering them."""
_BATCH = 20
_ACCEPTED = 0.3
_SEED = int(os.environ.get("FUZZ_SEED", "0"))


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with embedded_server() as server:
        prepare(server, _SUBJECTS)
        yield server


@pytest.mark.parametrize("subject", _SUBJECTS, ids=str)
def test_no_generated_request_breaks_the_server(subject: Subject, server: Server) -> None:
    enough = int(_REQUESTS * _SHARES.get(subject.plural, 1))
    with contextlib.closing(Session(server, subject, _SEED)) as session:
        schema: Any = schemathesis.openapi.from_dict(session.document())
        cases = [
            found.ok().as_strategy(mode)
            for found in schema.get_all_operations()
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        ]

        for batch in itertools.count():
            if session.requests >= enough:
                break
            _attempt(session, cases, _SEED + batch)
    print(session.summary())
    assert not session.faults, "\n" + "\n".join(session.faults[:20])
    assert session.requests >= enough
    assert session.accepted >= _ACCEPTED * (session.requests - session.beyond)


def _attempt(session: Session, cases: list[Any], start: int) -> None:
    @seed(start)
    @settings(
        max_examples=_BATCH,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
            HealthCheck.filter_too_much,
        ],
    )
    @given(case=st.one_of(cases))
    def attempt(case: Any) -> None:
        session.attempt(case)

    attempt()


def test_there_are_enough_of_them() -> None:
    assert len(_SUBJECTS) * _REQUESTS >= 20_000
