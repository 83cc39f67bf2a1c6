"""The line that allows what is missing."""

from __future__ import annotations

import pytest

from rayward.local.node.capabilities import missing_in_child, remedy_for_user


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, "kernel.apparmor_restrict_unprivileged_userns=0"),
        ({"kernel/unprivileged_userns_clone": "0"}, "kernel.unprivileged_userns_clone=1"),
        ({"user/max_user_namespaces": "0"}, "user.max_user_namespaces="),
        ({}, "seccomp=unconfined"),
    ],
)
def test_remedies(settings: dict[str, str], text: str) -> None:
    assert text in remedy_for_user(lambda name: settings.get(name, ""))


def test_this_machine_says_what_it_lacks_or_nothing() -> None:
    for line in missing_in_child():
        assert ": " in line
        assert "; " in line
