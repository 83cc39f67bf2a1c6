"""``python -m bench.rayheads PORT``: simulated Ray at every loopback address, each its own cluster."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from tests.operator.ray.jobs import Script
from tests.operator.ray.simulated import SimulatedHead, dashboard
from tests.operator.service.heads import PodHeads

from rayward.net.loop import run_loop
from rayward.net.server import Server, listen
from rayward.operator.ray.reach import PodPort

JOB = Script(pending_seconds=0.2, run_seconds=1.0, log="done\n")
"""What the entrypoint ``work`` does."""


async def _serve(port: int) -> None:
    heads = PodHeads()

    def dialled(scope: Any) -> SimulatedHead:
        # The address that was dialled tells the heads apart: all of 127.0.0.0/8 is this machine.
        address = str(scope["server"][0])
        head = heads.find(PodPort("default", address, address, port))
        head.scripts.setdefault("work", JOB)
        return head

    server = Server(dashboard(dialled), listen("0.0.0.0", port))
    await server.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    run_loop(_serve(int(sys.argv[1])))
