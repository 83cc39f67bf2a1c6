"""Record the evidence of every scene: ``python -m tests.playbook.record [SCENE...]``.

On the embedded server; pods that fail do so on our node.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from rayward import AsyncClient
from rayward.changes.steps import run_async
from rayward.changes.why import gather
from rayward.kinds.admission import NO_QUEUES
from rayward.kube.client.config import find_access
from rayward.stack.composition import composed
from tests.operator.service.servers import embedded
from tests.operator.service.stage import ServiceStage
from tests.playbook.failing import FAILING, machine
from tests.playbook.scenes import SCENES

FOLDER = Path(__file__).parent / "recorded"


async def _record(kubeconfig: Path, name: str) -> None:
    async with ServiceStage.on(find_access(kubeconfig)) as ray:
        ray.compose = composed(NO_QUEUES)
        ref = AsyncClient(ray.client, namespace=ray.namespace).ref(await SCENES[name](ray))
        evidence = await run_async(ray.client, gather(ref))
        document = _without_managed({"ref": str(ref), **evidence.document()})
        text = json.dumps(document, separators=(",", ":"), sort_keys=True)
        (FOLDER / f"{name}.json").write_text(text.replace(ray.namespace, "team") + "\n")
    print(name)


def _without_managed(value: Any) -> Any:
    """No rule reads managed fields, which are most of every object."""
    if isinstance(value, dict):
        found: dict[str, Any] = value
        return {name: _without_managed(part) for name, part in found.items() if name != "managedFields"}
    if isinstance(value, list):
        items: list[Any] = value
        return [_without_managed(part) for part in items]
    return value


def main() -> None:
    names = sys.argv[1:] or list(SCENES)
    for failing, target in ((False, embedded), (True, machine)):
        chosen = [name for name in names if (name in FAILING) is failing]
        if not chosen:
            continue
        with target() as kubeconfig:
            for name in chosen:
                asyncio.run(asyncio.wait_for(_record(kubeconfig, name), 90))


if __name__ == "__main__":
    main()
