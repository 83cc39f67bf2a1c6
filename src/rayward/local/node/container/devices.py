"""Devices of the GPUs that a container was given."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

_SHARED: Final = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "kfd", "dxg")
"""Through which any GPU is used; alone they give none."""
_TOPOLOGY: Final = Path("/sys/class/kfd/kfd/topology/nodes")


def graphics_devices(numbers: Iterable[int], minors: Iterable[int] = ()) -> tuple[str, ...]:
    """Names below /dev, for GPUs by number; ``minors`` are the render nodes of AMD's, in the order of their numbers."""
    chosen = sorted(set(numbers))
    if not chosen:
        return ()
    rendering = dict(enumerate(minors))
    own = [f"nvidia{number}" for number in chosen]
    own += [f"dri/renderD{rendering[number]}" for number in chosen if number in rendering]
    return (*_SHARED, *own)


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
