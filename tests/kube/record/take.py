"""Takes every recording anew."""

from __future__ import annotations

from pathlib import Path

from tests.kube.real.cluster import RealControlPlane
from tests.kube.record import files, resources, schemas, wire
from tests.kube.record.server import Server


def take() -> dict[Path, bytes]:
    """Content by file, as the real components say it now."""
    types = wire.go_types()
    with RealControlPlane() as plane:
        server = Server(plane)
        structure = schemas.record(server)
        said = {
            "schemas": structure,
            "resources": resources.discover(server),
            "columns": resources.columns(server),
            "wire": wire.record(types, structure),
        }
    return {files.FOLDER / f"{name}.json.gz": files.as_json(value) for name, value in said.items()}
