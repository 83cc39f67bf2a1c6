"""Objects are judged as a real kube-apiserver judged them, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.builtin import judge
from tests.apiserver.builtin.judgements import Object, changes, creations

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


_CREATIONS = [_case(*case) for case in creations()]
_CHANGES = [_case(*case) for case in changes()]


@pytest.mark.parametrize(("name", "line"), _CREATIONS)
def test_what_is_created(name: str, line: Object) -> None:
    _compare(judge.create(name, line["given"]), line["answer"])


@pytest.mark.parametrize(("name", "line", "change"), _CHANGES)
def test_what_is_changed(name: str, line: Object, change: Object) -> None:
    new = judge.merged(line["old"], change["patch"])
    _compare(judge.change(name, line["old"], new, change.get("subresource", "")), change["answer"])


def _compare(ours: Object, theirs: Object) -> None:
    if theirs.get("unordered"):
        ours = {**judge.in_any_order(ours), "unordered": True}
    assert ours == theirs
