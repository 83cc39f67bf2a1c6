"""When an image is pulled."""

from __future__ import annotations

import pytest

from rayward.kube.machinery.images import pull_policy_of

_DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1.36", "IfNotPresent"),
        ("rayproject/ray:2.9.0-py311", "IfNotPresent"),
        ("localhost:5000/a", "Always"),
        ("localhost:5000/a:1", "IfNotPresent"),
        ("[fd00::1]:5000/a", "Always"),
        (f"busybox@{_DIGEST}", "IfNotPresent"),
        (f"busybox:latest@{_DIGEST}", "Always"),
        ("a" * 64, "IfNotPresent"),
        ("NotAnImage", "IfNotPresent"),
        ("a//b", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_only_what_may_change_is_always_pulled(image: str, policy: str) -> None:
    assert pull_policy_of(image) == policy
