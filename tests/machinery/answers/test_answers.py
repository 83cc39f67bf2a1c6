"""The machinery answers as Kubernetes' own code did when it was asked."""

from __future__ import annotations

import pytest

from tests.machinery.answers import recording
from tests.machinery.answers.question import Question


@pytest.mark.parametrize("name", recording.NAMES)
def test_our_answers_are_kubernetes_answers(name: str):
    asked = recording.recorded(name)
    assert len(asked) > 1000
    different = [
        (each, ours)
        for each in asked
        if (ours := recording.our_answer(name, Question(each["about"], each["given"]))) != _said(each)
    ]
    assert different == []


@pytest.mark.kube
@pytest.mark.parametrize("name", recording.NAMES)
def test_kubernetes_still_answers_so(name: str):
    assert recording.ask(name) == recording.recorded(name), "run python -m tests.machinery.answers"


def _said(recorded: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in recorded.items() if key in ("result", "error")}
