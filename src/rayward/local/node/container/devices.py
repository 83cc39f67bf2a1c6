"""Devices of the GPUs that a container was given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SHARED: Final = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "kfd", "dxg")
"""Through which any GPU is used; alone they give none, but for WSL2's dxg, which stands for all of them."""
_TOPOLOGY: Final = Path("/sys/class/kfd/kfd/topology/nodes")
_DEVICES: Final = Path("/dev")


@dataclass(frozen=True, slots=True)
class Granted:
    """What a container that was given GPUs gets."""

    devices: tuple[str, ...]
    """Names below /dev."""
    visible: tuple[int, ...]
    """Their numbers as the driver counts them in the container."""


def granted(numbers: Iterable[int], cards: Sequence[int], renderers: Sequence[int] = ()) -> Granted:
    """For the GPUs of a node by number; ``cards`` are the minors of NVIDIA's, ``renderers`` the render nodes of AMD's.

    A driver counts from 0 what it finds, so in a container that has the devices of its own GPUs alone these are the
    first. Where GPUs have no devices of their own (WSL2's, or GPUs that are only counted) nothing hides the others, and
    their numbers remain the machine's.
    """
    chosen = sorted(set(numbers))
    if not chosen:
        return Granted((), ())
    own = [f"nvidia{cards[number]}" for number in chosen if number < len(cards)]
    own += [f"dri/renderD{renderers[number]}" for number in chosen if number < len(renderers)]
    return Granted((*_SHARED, *own), tuple(range(len(chosen))) if own else tuple(chosen))


def card_minors(folder: Path = _DEVICES) -> list[int]:
    """The minors of NVIDIA's GPUs, from the names of their devices; there may be gaps."""
    names = (path.name.removeprefix("nvidia") for path in folder.glob("nvidia[0-9]*"))
    return sorted(int(name) for name in names if name.isdecimal())


def render_minors(topology: Path = _TOPOLOGY) -> list[int]:
    """The render nodes of AMD's GPUs, in the order in which the driver counts them; none without its driver."""
    found: list[int] = []
    for node in sorted(topology.glob("[0-9]*"), key=lambda node: int(node.name)):
        try:
            words = dict(line.split(maxsplit=1) for line in (node / "properties").read_text().splitlines())
            minor = int(words.get("drm_render_minor", 0))
        except (OSError, ValueError):
            continue
        # Processors are counted too, and render nothing.
        if minor > 0:
            found.append(minor)
    return found
