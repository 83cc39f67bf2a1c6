"""Requests that may be sent twice."""

from __future__ import annotations

import pytest

from rayward.local.traffic.http.repeating import may_ask_again


@pytest.mark.parametrize(
    ("kept", "repeatable", "unread", "attempts", "again"),
    [
        pytest.param(True, True, False, 1, True, id="GET"),
        pytest.param(True, False, True, 1, True, id="POST-never-read"),
        pytest.param(True, False, False, 1, False, id="POST-read"),
        pytest.param(False, True, True, 1, False, id="body-gone"),
        pytest.param(True, True, True, 4, False, id="often-enough"),
    ],
)
def test_when_a_request_may_be_sent_again(
    kept: bool, repeatable: bool, unread: bool, attempts: int, again: bool
) -> None:
    assert may_ask_again(kept=kept, repeatable=repeatable, unread=unread, attempts=attempts) == again
