"""What a stack was started with, beside what a later ``up`` asks for."""

from __future__ import annotations

import pytest

from rayward.stack.settings import Flags, Settings, differing

_PLAIN = Settings(node=("--nodes", "1", "--gpus", "0"), operator=True)
_IMAGES = Settings(node=("--nodes", "1", "--gpus", "0", "--image", "a=/a", "--image", "b=/b"))


@pytest.mark.parametrize(
    ("settings", "flags"),
    [
        (Settings(), {"--api-only": (), "--operator": ("none",)}),
        (_PLAIN, {"--nodes": ("1",), "--gpus": ("0",), "--operator": ("rayward",)}),
        (_IMAGES, {"--nodes": ("1",), "--gpus": ("0",), "--image": ("a=/a", "b=/b"), "--operator": ("none",)}),
    ],
    ids=["server alone", "plain", "images"],
)
def test_settings_as_flags(settings: Settings, flags: Flags) -> None:
    assert settings.flags == flags


@pytest.mark.parametrize(
    ("asked", "running", "told"),
    [
        ({}, _IMAGES, {}),
        ({"--nodes": ("1",)}, _PLAIN, {}),
        ({"--nodes": ("3",)}, _PLAIN, {"--nodes 3": "--nodes 1"}),
        ({"--cpus": ("4",), "--gpus": ("0",)}, _PLAIN, {"--cpus 4": "the default"}),
        ({"--image": ("b=/b", "a=/a")}, _IMAGES, {}),
        ({"--image": ("a=/a",)}, _IMAGES, {"--image a=/a": "--image a=/a --image b=/b"}),
        ({"--operator": ("none",)}, _PLAIN, {"--operator none": "--operator rayward"}),
        ({"--api-only": ()}, _PLAIN, {"--api-only": "what runs pods"}),
        ({"--api-only": ()}, Settings(), {}),
        ({"--memory": ("1Gi",)}, Settings(), {"--memory 1Gi": "--api-only"}),
    ],
    ids=[
        "nothing is asked for",
        "the same",
        "another number",
        "more than the default",
        "in another order",
        "fewer",
        "another operator",
        "no pods",
        "no pods as before",
        "pods where none can run",
    ],
)
def test_what_is_not_in_force(asked: Flags, running: Settings, told: dict[str, str]) -> None:
    assert differing(asked, running.flags) == told
