from __future__ import annotations

import pytest

from rayward.kube.machinery.apply import manager_of


@pytest.mark.parametrize(
    ("named", "agent", "expected"),
    [
        ("me", "kubectl/v1.36", "me"),
        (None, "kubectl/v1.36 (linux/amd64)", "kubectl"),
        ("", "curl", "curl"),
        ("", "", ""),
        ("", "/x", ""),
        ("", "a\x00b\tc d", "abc d"),
        ("", "m" * 200, "m" * 128),
        ("", "é" * 100, "é" * 64),
        ("", "m" * 127 + "é", "m" * 127),
    ],
)
def test_who_writes(named: str | None, agent: str, expected: str) -> None:
    assert manager_of(named, agent) == expected
