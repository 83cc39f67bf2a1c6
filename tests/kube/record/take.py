"""Takes every recording anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.kube.real.cluster import RealControlPlane
from tests.kube.record import creations, files, resources, schemas, wire
from tests.kube.record.capture import PLANE_ARGS, Capture
from tests.kube.record.defaults import Prober
from tests.kube.record.server import Server
from tests.kube.record.structure import Structure

_TEST_DATA: Final = Path(__file__).parents[2] / "apiserver" / "data"


def take() -> dict[Path, bytes]:
    """Content by file, as the real components say it now."""
    specification, examples = _from_the_server(wire.go_types())
    return {
        **{files.FOLDER / f"{name}.json.gz": files.as_json(value) for name, value in specification.items()},
        **{_TEST_DATA / f"{name}.json.gz": files.as_json(value) for name, value in examples.items()},
    }


def _from_the_server(types: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    with RealControlPlane() as plane:
        server = Server(plane)
        structure, entries = schemas.record(server), resources.discover(server)
        columns = resources.columns(server)
        created = creations.record(server, entries)
    wires = wire.record(types, structure)
    with RealControlPlane(apiserver_args=PLANE_ARGS) as plane, Capture(plane) as capture:
        defaults, conditional = Prober(capture, Structure(structure), wires).record(entries)
    specification = {
        "schemas": structure,
        "resources": entries,
        "columns": columns,
        "wire": wires,
        "defaults": defaults,
    }
    return specification, {"conditional_defaults": conditional, "creations": created}
