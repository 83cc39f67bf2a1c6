"""Warnings go out as headers, and never more of them than a client reads."""

from __future__ import annotations

import pytest

from rayward.local.apiserver.respond import warning_headers

_LONG = "x" * 300


@pytest.mark.parametrize(
    ("warnings", "shown"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["a", "b", "a"], ["a", "b"], id="each once"),
        pytest.param(['say "no\\"'], ['say \\"no\\\\\\"'], id="quoted"),
        pytest.param(["a\nb", "", "c"], ["c"], id="control characters are no header"),
        pytest.param(["tür"], ["tür"], id="letters of all kinds"),
        pytest.param([_LONG], [_LONG], id="a long one"),
        pytest.param(
            [f"{n:02}{_LONG}" for n in range(20)],
            [f"{n:02}{_LONG}"[:256] for n in range(16)],
            id="too much: in short, up to the limit",
        ),
        pytest.param(
            [f"{n:04}" for n in range(1020)] + ["y" * 20, "z" * 5],
            [f"{n:04}" for n in range(1020)] + ["y" * 20],
            id="too much of short ones: up to the one that was too much",
        ),
    ],
)
def test_warnings(warnings: list[str], shown: list[str]) -> None:
    expected = tuple((b"warning", f'299 - "{text}"'.encode()) for text in shown)

    assert warning_headers(warnings) == expected
