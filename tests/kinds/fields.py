"""A schema as a flat list of fields and what is said of each: what two CRDs are compared by.

``python -m tests.kinds.fields`` records KubeRay's own from the CRDs that its pinned module carries.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

Object = dict[str, Any]
Fields = dict[str, Object]

PLURALS: Final = ("rayclusters", "rayservices", "rayjobs", "raycronjobs")
RECORDING: Final = Path(__file__).parent / "data" / "kuberay-1.6.2-fields.json.gz"

_SAID: Final = (
    "type",
    "format",
    "enum",
    "default",
    "required",
    "nullable",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
)


def fields_by_version(crd: Object) -> dict[str, Fields]:
    """The fields of every version."""
    return {
        version["name"]: dict(_walk("", version["schema"]["openAPIV3Schema"])) for version in crd["spec"]["versions"]
    }


def kuberay_fields(folder: Path) -> dict[str, dict[str, Fields]]:
    """Those of KubeRay's manifests, by plural and version."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {
        plural: fields_by_version(yaml.load((folder / f"ray.io_{plural}.yaml").read_text(), Loader=loader))
        for plural in PLURALS
    }


def recorded() -> dict[str, dict[str, Fields]]:
    """The recording."""
    return orjson.loads(gzip.decompress(RECORDING.read_bytes()))


def _walk(path: str, node: Object) -> Iterator[tuple[str, Object]]:
    yield path, {word: node[word] for word in _SAID if word in node}
    for name, part in node.get("properties", {}).items():
        yield from _walk(f"{path}.{name}", part)
    if "items" in node:
        yield from _walk(f"{path}[]", node["items"])
    if isinstance(values := node.get("additionalProperties"), dict):
        yield from _walk(f"{path}{{}}", values)


def _main() -> None:
    from tests.kube.real import build

    found = kuberay_fields(build.build() / "kuberay-crds")
    RECORDING.write_bytes(gzip.compress(orjson.dumps(found, option=orjson.OPT_SORT_KEYS), 9, mtime=0))
    print(f"{RECORDING.name}: {RECORDING.stat().st_size} bytes")


if __name__ == "__main__":
    _main()
