"""Kueue's own definitions, as the package carries them: ``python -m tools.crds.kueue`` writes them.

They come from Kueue's Go module. Ours serve v1beta2 alone: Kueue converts v1beta1 by a webhook of its manager, which
is not there where the embedded engine admits. Descriptions are left out.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml
from tests.kube.real.build import BuildError

from rayward.kinds import crds
from tools.crds.output import packed
from tools.crds.shape import Object

VERSION: Final = "v0.18.2"
_MODULE: Final = "sigs.k8s.io/kueue"
_SERVED: Final = "v1beta2"
_NAMED_BY_PEOPLE: Final = frozenset({"properties", "additionalProperties", "patternProperties", "default"})


def module() -> Path:
    """Kueue's source in Go's module cache, downloaded where it is missing.

    Raises:
        BuildError: Go or its module proxy is not to be had.
    """
    with tempfile.TemporaryDirectory() as outside_any_module:
        try:
            done = subprocess.run(
                ["go", "mod", "download", "-json", f"{_MODULE}@{VERSION}"],
                cwd=outside_any_module,
                capture_output=True,
                text=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise BuildError("Kueue's definitions need Go 1.26 or newer, and there is no `go` on PATH") from error
    if done.returncode:
        raise BuildError(f"cannot download {_MODULE}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return Path(json.loads(done.stdout)["Dir"])


def wanted(source: Path) -> dict[str, Object]:
    """The manifests by plural."""
    folder = source / "config/components/crd/bases"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {
        plural: _ours(yaml.load((folder / f"kueue.x-k8s.io_{plural}.yaml").read_text(), Loader=loader))
        for plural in crds.QUEUEING_PLURALS
    }


def _ours(theirs: Object) -> Object:
    spec = theirs["spec"]
    [version] = [found for found in spec["versions"] if found["name"] == _SERVED]
    schema = _without_descriptions(version["schema"])
    return {
        "apiVersion": theirs["apiVersion"],
        "kind": theirs["kind"],
        "metadata": {"name": theirs["metadata"]["name"]},
        "spec": {
            **{name: value for name, value in spec.items() if name not in ("versions", "conversion")},
            "versions": [{**version, "schema": schema, "served": True, "storage": True}],
        },
    }


def _without_descriptions(value: Any, *, named: bool = False) -> Any:
    """``named``: the keys are fields of an object, and one of those may be called description."""
    if isinstance(value, dict):
        return {
            key: _without_descriptions(part, named=not named and key in _NAMED_BY_PEOPLE)
            for key, part in value.items()
            if named or key != "description"
        }
    return [_without_descriptions(part) for part in value] if isinstance(value, list) else value


def main() -> None:
    """Writes every definition into the package."""
    for plural, manifest in wanted(module()).items():
        path = crds.path_of(plural)
        path.write_bytes(packed(manifest))
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
