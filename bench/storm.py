"""An upgrade storm: ``python -m bench.storm [--services 200]``.

So many RayServices of one CPU each are upgraded at once, first with quota for twice as many, then for 1.3 of them: new
releases wait for the quota of old ones. Operator, gate and engine run on the embedded server, with simulated Ray and a
simulated kubelet. The floor is the time that the same upgrades take where none has to wait.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import uvloop
from tests.operator.service.servers import embedded
from tests.quota.gate.stage import GateStage
from tests.quota.gate.storm import Storm, storm

from rayward.kube.client.config import find_access


async def _storm(kubeconfig: Path, services: int, quota: int) -> Storm:
    async with GateStage.on(find_access(kubeconfig)) as ray:
        return await storm(ray, services, quota, patience=3600)


def main(words: Sequence[str] | None = None) -> int:
    """One line a storm; 1 where pods ran over quota."""
    parser = argparse.ArgumentParser(prog="bench.storm", description=__doc__)
    parser.add_argument("--services", type=int, default=200)
    services: int = parser.parse_args(words).services
    seconds: list[float] = []
    print(f"{'quota':>8} {'most pods':>10} {'waited':>8} {'seconds':>9} {'a second':>9}")
    for quota in (2 * services, services * 13 // 10):
        with embedded() as kubeconfig:
            found = uvloop.run(_storm(kubeconfig, services, quota))
        seconds.append(found.seconds)
        rate = services / found.seconds
        print(f"{quota:8} {found.peak:10} {found.waited:8} {found.seconds:9.1f} {rate:9.1f}", flush=True)
        if found.peak > quota:
            print(f"{found.peak} pods ran with quota for {quota}")
            return 1
    print(f"with quota for 1.3 of them {seconds[1] / seconds[0]:.2f}x of the floor")
    return 0


if __name__ == "__main__":
    sys.exit(main())
