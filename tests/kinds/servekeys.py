"""The words of Ray Serve's configuration as Ray's own source declares them.

``python -m tests.kinds.servekeys FOLDER`` records them from the folder ``ray`` of an unpacked wheel; nothing is run.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Final

RECORDING: Final = Path(__file__).parent / "data" / "ray-2.60-serve-words.json"

_SOURCES: Final = {
    "serve/schema.py": (
        "ServeDeploySchema",
        "ServeApplicationSchema",
        "DeploymentSchema",
        "RayActorOptionsSchema",
        "HTTPOptionsSchema",
        "gRPCOptionsSchema",
        "LoggingConfig",
        "TracingConfig",
    ),
    "serve/config.py": (
        "AutoscalingConfig",
        "AutoscalingPolicy",
        "BackpressureConfig",
        "ControllerOptions",
        "DeploymentActorConfig",
        "GangSchedulingConfig",
        "RequestRouterConfig",
    ),
}


def words_of(ray: Path) -> dict[str, list[str]]:
    """The public fields of each model, by class name."""
    found: dict[str, list[str]] = {}
    for source, classes in _SOURCES.items():
        for node in ast.parse((ray / source).read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name in classes:
                found[node.name] = sorted(
                    part.target.id
                    for part in node.body
                    if isinstance(part, ast.AnnAssign)
                    and isinstance(part.target, ast.Name)
                    and not part.target.id.startswith("_")
                )
    return found


def recorded() -> dict[str, list[str]]:
    """The recording."""
    return json.loads(RECORDING.read_text())


if __name__ == "__main__":
    RECORDING.write_text(json.dumps(words_of(Path(sys.argv[1])), indent=1, sort_keys=True) + "\n")
