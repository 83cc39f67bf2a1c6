"""What is waited for is said with its cause."""

from __future__ import annotations

import dataclasses

import pytest

from rayward.operator.service.member import Member, ServeSeen
from rayward.operator.service.verdict import judge

UP = Member("c", "hash", "config", head_ready=True)
DENIED = dataclasses.replace(UP, unreachable="401: a token is needed")


@pytest.mark.parametrize(
    ("member", "reason", "says"),
    [
        pytest.param(UP, "ServeUnknown", "has not answered", id="nobody has asked it"),
        pytest.param(DENIED, "DashboardUnreachable", "401: a token is needed", id="its dashboard refuses us"),
        pytest.param(
            dataclasses.replace(DENIED, serve=ServeSeen("")),
            "ConfigNotSent",
            "401: a token is needed",
            id="or the config",
        ),
    ],
)
def test_why_a_dashboard_does_not_answer_is_told(member: Member, reason: str, says: str) -> None:
    verdict = judge(member)
    assert verdict.reason == reason
    assert says in verdict.message
