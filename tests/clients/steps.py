"""What the programs in Python share: the samples, and how an outcome is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

Object = dict[str, Any]
ENDLESS: Final = 'python -c "import time; time.sleep(3600)"'
PATIENCE: Final = 300
SMALL_CONFIG: Final = """\
applications:
  - name: hello
    route_prefix: /
    import_path: hello:app
    deployments:
      - name: Hello
        num_replicas: 2
"""


def load(samples: Path, name: str) -> list[Object]:
    """The objects of a manifest of ``samples``."""
    return list(yaml.safe_load_all((samples / name).read_text()))


def tell(step: str, outcome: object) -> None:
    """One line of what is compared."""
    print(f"{step}: {outcome}", flush=True)


def observed(found: Object) -> bool:
    """Whether the status is about the newest spec."""
    return (found.get("status") or {}).get("observedGeneration") == found["metadata"]["generation"]


def has(found: Object, condition: str) -> bool:
    """Whether a condition holds for the newest spec."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    return observed(found) and any(each["type"] == condition and each["status"] == "True" for each in conditions)


def has_workers(found: Object, count: int) -> bool:
    """Whether a RayCluster is ready with so many workers."""
    return has(found, "Ready") and found["status"].get("readyWorkerReplicas") == count


def active_cluster(service: Object) -> str:
    """The RayCluster that serves."""
    return ((service.get("status") or {}).get("activeServiceStatus") or {}).get("rayClusterName", "")


def refused(write: Callable[[], object], errors: tuple[type[Exception], ...], said: Callable[[Any], str]) -> str:
    """How the server refuses."""
    try:
        return f"not refused: {write()}"
    except errors as refusal:
        return said(refusal)
