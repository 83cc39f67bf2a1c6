"""``python -m bench.kubelet KUBECONFIG``: marks every pod Running, as soon as it is there, by one write.

Each pod gets an address of this machine of its own, for ``bench.rayheads``.
"""

from __future__ import annotations

import itertools
import sys
from ipaddress import IPv4Address
from pathlib import Path

from tests.operator.kubelet import ready_status

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.runtime import manager
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.reflector import Reflector
from rayward.net.loop import run_loop

_LOOPBACK = IPv4Address("127.1.0.0")


async def _serve(kubeconfig: Path) -> None:
    async with Client.connect(find_access(kubeconfig), user_agent="bench-kubelet") as client:
        pods: Cache[Pod] = Cache(PODS, Pod, keep_raw=False)
        numbers = itertools.count(1)

        async def reconcile(key: Key) -> Result:
            pod = pods.get(key)
            if pod is not None and not pod.deleting and pod.status.phase in ("", "Pending"):
                address = str(_LOOPBACK + next(numbers))
                status = ready_status([container.name for container in pod.spec.containers], address)
                try:
                    await client.patch(
                        PODS, key.name, {"status": status}, PatchType.MERGE, key.namespace, subresource="status"
                    )
                except NotFound:
                    return DONE
            return DONE

        controller = Controller("kubelet", reconcile, workers=16)
        controller.watch(pods)
        await manager.run([Reflector(client, pods)], [controller])


if __name__ == "__main__":
    run_loop(_serve(Path(sys.argv[1])))
