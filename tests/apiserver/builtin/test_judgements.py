"""Objects are judged as a real kube-apiserver judged them, word for word."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apiserver.builtin.judge import Judge, in_any_order
from tests.apiserver.builtin.judgements import Object, changes, creations
from tests.apiserver.builtin.mutations import mutated

_NULL: Final = "an empty list inside a quoted struct is shown as null"
_TWICE: Final = "kube-apiserver checks the labels of a changed pod four times and says so, we say it twice"
_UNPROTECTED: Final = "nobody here would take the finalizer of a volume away again"
_DIFFERENT: Final = {
    "jobs.batch: successPolicy.rules=[]": _NULL,
    "jobs.batch: active: podFailurePolicy.rules=[]": _NULL,
    "jobs.batch: suspended: podFailurePolicy.rules=[]": _NULL,
    'pods: pending: metadata.labels.a b="b"': _TWICE,
    "persistentvolumes: the least": _UNPROTECTED,
}

_CREATIONS: Final = list(creations())
_CHANGES: Final = list(changes())


@pytest.mark.parametrize(("name", "line"), _CREATIONS, ids=[f"{name}: {line['id']}" for name, line in _CREATIONS])
def test_what_is_created(judge: Judge, name: str, line: Object) -> None:
    _compare(f"{name}: {line['id']}", judge.created(name, line["given"]), line["answer"])


@pytest.mark.parametrize(("name", "line"), _CHANGES, ids=[f"{name}: {line['id']}" for name, line in _CHANGES])
def test_what_is_changed(judge: Judge, name: str, line: Object) -> None:
    answers = judge.changed(name, line, line["changes"])
    for change, answer in zip(line["changes"], answers, strict=True):
        _compare(f"{name}: {line['id']}: {change['id']}", answer, change["answer"])


# Each example is a request or more.
_ASKING: Final = settings(max_examples=50)


@_ASKING
@given(st.data())
def test_any_body_gets_an_answer(judge: Judge, draws: st.DataObject) -> None:
    name, line = draws.draw(st.sampled_from(_CREATIONS))
    assert judge.created(name, draws.draw(mutated(line["given"])))["code"] in (201, 400, 403, 409, 422)


@_ASKING
@given(st.data())
def test_any_change_gets_an_answer(judge: Judge, draws: st.DataObject) -> None:
    name, line = draws.draw(st.sampled_from(_CHANGES))
    change = draws.draw(st.sampled_from(line["changes"]))
    patch = draws.draw(mutated({**line["given"], **change["patch"]}))
    (answer,) = judge.changed(name, line, [{**change, "patch": patch}])
    assert answer["code"] in (200, 400, 403, 409, 422)


def _compare(case: str, ours: Object, theirs: Object) -> None:
    if theirs.get("unordered"):
        ours = {**in_any_order(ours), "unordered": True}
    if case.startswith("resourcequotas: "):
        ours, theirs = _uncounted(ours), _uncounted(theirs)
    reason = _DIFFERENT.get(case)
    if reason:
        assert ours != theirs, f"no longer so: {reason}"
    else:
        assert ours == theirs, case


def _uncounted(answer: Object) -> Any:
    """An answer about a quota, without what is counted: it was recorded without the controller that counts."""
    if "object" not in answer:
        return answer
    return {**answer, "object": {**answer["object"], "status": {}}, "cells": []}
