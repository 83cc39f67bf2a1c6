"""A program on a Ray cluster of its own, which goes when the program has ended."""

from __future__ import annotations

from demo.shell import rayward, show

_PROGRAM = (
    "import ray; ray.init(log_to_driver=False); "
    "print('squares:', ray.get([ray.remote(lambda n: n * n).remote(n) for n in range(5)]))"
)


def show_job() -> None:
    """Run a program as a RayJob; its log is the answer of the command."""
    show("\n# a program on a Ray cluster of its own, followed to its end")
    rayward("run", "--", "python", "-c", _PROGRAM)
    rayward("get", "rayjobs")
