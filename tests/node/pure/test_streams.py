"""How commands end, on the wire."""

from __future__ import annotations

from rayward.local.node.endpoint.streams import outcome


def test_exit_codes_on_the_error_channel() -> None:
    assert outcome(0) == b'{"metadata":{},"status":"Success"}'
    assert b'"message":"7"' in outcome(7)
