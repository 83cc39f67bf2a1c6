"""Objects are judged as a real kube-apiserver judged them, word for word."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apiserver.builtin import judge
from tests.apiserver.builtin.judgements import Object, changes, creations
from tests.apiserver.builtin.mutations import mutated

_NULL = "an empty list inside a quoted struct is shown as null"
_TWICE = "kube-apiserver checks the labels of a changed pod four times and says so, we say it twice"
_DIFFERENT = {
    "jobs.batch: successPolicy.rules=[]": _NULL,
    "jobs.batch: active: podFailurePolicy.rules=[]": _NULL,
    "jobs.batch: suspended: podFailurePolicy.rules=[]": _NULL,
    'pods: pending: metadata.labels.a b="b"': _TWICE,
}


def _case(name: str, *values: Object) -> Any:
    case = ": ".join([name, *(value["id"] for value in values)])
    reason = _DIFFERENT.get(case)
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(name, *values, id=case, marks=marks)


_CREATIONS = list(creations())
_CHANGES = list(changes())


@pytest.mark.parametrize(("name", "line"), [_case(*each) for each in _CREATIONS])
def test_what_is_created(name: str, line: Object) -> None:
    _compare(judge.create(name, line["given"]), line["answer"])


@pytest.mark.parametrize(("name", "line", "change"), [_case(*each) for each in _CHANGES])
def test_what_is_changed(name: str, line: Object, change: Object) -> None:
    new = judge.merged(line["old"], change["patch"])
    _compare(judge.change(name, line["old"], new, change.get("subresource", "")), change["answer"])


@given(st.data())
def test_any_body_gets_an_answer(draws: st.DataObject) -> None:
    name, line = draws.draw(st.sampled_from(_CREATIONS))
    body = draws.draw(mutated(line["given"]))
    answer = judge.create(name, body)
    assert answer["code"] in (201, 400, 403, 422)
    if answer["code"] == 201:
        assert len(judge.rules(name).cells(answer["object"], 1e9)) == len(judge.rules(name).columns)
        assert set(judge.rules(name).fields(answer["object"])) == judge.rules(name).selectable


@given(st.data())
def test_any_change_gets_an_answer(draws: st.DataObject) -> None:
    name, line, change = draws.draw(st.sampled_from(_CHANGES))
    new = draws.draw(mutated(judge.merged(line["old"], change["patch"])))
    assert judge.change(name, line["old"], new, change.get("subresource", ""))["code"] in (200, 400, 403, 422)


def _compare(ours: Object, theirs: Object) -> None:
    if theirs.get("unordered"):
        ours = {**judge.in_any_order(ours), "unordered": True}
    assert ours == theirs
