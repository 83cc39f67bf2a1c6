"""Takes every recording anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.kube.real.cluster import RealControlPlane
from tests.kube.record import creations, files, kinds, policy, protobuf, refusals, resources, schemas, wire
from tests.kube.record.capture import PLANE_ARGS, Capture
from tests.kube.record.defaults import Prober
from tests.kube.record.server import Server
from tests.kube.record.structure import Structure

TEST_DATA: Final = Path(__file__).parents[2] / "apiserver" / "data"


def take() -> dict[Path, bytes]:
    """Content by file, as the real components say it now."""
    types = wire.go_types()
    said, examples = _ask_the_server(types)
    examples["protobuf_pairs"] = protobuf.pairs(_kinds(said["schemas"]), creations.probes())
    return {
        **{files.FOLDER / f"{name}.json.gz": files.as_json(value) for name, value in said.items()},
        **{TEST_DATA / f"{name}.json.gz": files.as_json(value) for name, value in examples.items()},
    }


def _ask_the_server(types: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    with RealControlPlane() as plane, Server(plane) as server:
        structure, entries = schemas.record(server), resources.discover(server)
        columns, roles = resources.columns(server), policy.record(server)
        created, refused = creations.record(server, entries), refusals.record(server)
    wires = wire.record(types, structure)
    with RealControlPlane(apiserver_args=PLANE_ARGS) as plane, Capture(plane) as capture:
        defaults, conditional = Prober(capture, Structure(structure), wires).record(entries)
    said = {
        "schemas": structure,
        "resources": entries,
        "columns": columns,
        "wire": wires,
        "defaults": defaults,
        "protobuf": protobuf.record(types, structure),
        "policy": roles,
    }
    return said, {"conditional_defaults": conditional, "creations": created, "protobuf_refusals": refused}


def _kinds(structure: dict[str, Any]) -> list[str]:
    """The recorded kinds as ``APIVERSION/KIND``, where Go can make one; of lists, which are all alike, only one."""
    found = {
        f"{kinds.api_version(each['group'])}/{each['kind']}"
        for schema in structure.values()
        for each in schema.get("x-kubernetes-group-version-kind", ())
        if each["version"] == "v1"
    }
    found.remove("v1/WatchEvent")
    return sorted(kind for kind in found if not kind.endswith("List") or kind == "v1/ConfigMapList")
