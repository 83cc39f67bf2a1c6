"""Record the evidence of every scene: ``python -m tests.playbook.record [SCENE...]``.

On the embedded server; pods that fail do so on our node. ``kuberay/SCENE`` is one under KubeRay's operator, with pods
of our node; ``kuberay`` stands for all of these.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rayward import AsyncClient
from rayward.changes.refs import Ref
from rayward.changes.steps import run_async
from rayward.changes.why import Evidence, gather
from rayward.kinds.admission import NO_QUEUES
from rayward.kube.client.config import find_access
from rayward.stack.composition import composed
from tests.operator.service.servers import embedded
from tests.operator.service.stage import ServiceStage
from tests.playbook import kuberay_scenes
from tests.playbook.failing import FAILING, machine
from tests.playbook.kuberay_scenes import KUBERAY_SCENES
from tests.playbook.scenes import SCENES

FOLDER = Path(__file__).parent / "recorded"
KUBERAY = "kuberay"


async def _record(kubeconfig: Path, name: str) -> None:
    async with ServiceStage.on(find_access(kubeconfig)) as ray:
        ray.compose = composed(NO_QUEUES)
        ref = AsyncClient(ray.client, namespace=ray.namespace).ref(await SCENES[name](ray))
        evidence = await run_async(ray.client, gather(ref))
        _write(name, ref, evidence)


def _record_kuberay(names: Sequence[str]) -> None:
    with kuberay_scenes.operating() as api:
        for name in names:
            with kuberay_scenes.namespace(api, f"recorded-{name.lower()}") as sdk:
                found = KUBERAY_SCENES[name](sdk)
                _, evidence = sdk.why(found)
                _write(f"{KUBERAY}/{name}", sdk.ref(found), evidence)


def _write(name: str, ref: Ref, evidence: Evidence) -> None:
    document = _without_managed({"ref": str(ref), **evidence.document()})
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    (FOLDER / f"{name}.json").write_text(text.replace(ref.namespace, "team") + "\n")
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
    names = sys.argv[1:] or [*SCENES, KUBERAY]
    if KUBERAY in names:
        names += [f"{KUBERAY}/{name}" for name in KUBERAY_SCENES]
    for failing, target in ((False, embedded), (True, machine)):
        chosen = [name for name in names if name in SCENES and (name in FAILING) is failing]
        if not chosen:
            continue
        with target() as kubeconfig:
            for name in chosen:
                asyncio.run(asyncio.wait_for(_record(kubeconfig, name), 90))
    if chosen := [name.partition("/")[2] for name in names if name.startswith(f"{KUBERAY}/")]:
        _record_kuberay(chosen)


if __name__ == "__main__":
    main()
