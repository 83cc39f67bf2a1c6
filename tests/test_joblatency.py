"""What ``bench.joblatency`` concludes of its figures."""

from __future__ import annotations

import pytest
from bench import joblatency
from bench.joblatency import Figures


@pytest.mark.parametrize(
    ("ours", "code"),
    [
        pytest.param(Figures([0.4], [0.4], [0.3]), 0, id="as much as it may"),
        pytest.param(Figures([0.4], [0.4], [0.31]), 1, id="too slow"),
        pytest.param(Figures([0.1], [0.5], [0.3]), 1, id="too slow from the pod's Ready on"),
    ],
)
def test_more_than_seven_tenths_of_kuberays_time_fail(
    monkeypatch: pytest.MonkeyPatch, ours: Figures, code: int
) -> None:
    figures = {"ours": ours, "kuberay": Figures([0.5], [0.5], [0.5])}
    monkeypatch.setattr(joblatency, "measure", lambda contender, count, mode: figures[contender])
    assert joblatency.main(["1"]) == code
