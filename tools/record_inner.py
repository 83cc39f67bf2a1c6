"""Records the inner structure of the kinds from Kubernetes' own source.

Run as ``.venv/bin/python -m tools.record_inner``.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parent
FILE = _ROOT / "src/rayward/local/apiserver/builtin/inner.json.gz"


def printed() -> bytes:
    done = subprocess.run(
        ["go", "run", "-buildvcs=false", str(_HERE / "internaltypes/main.go")],
        cwd=_ROOT / "tests/kube/real",
        env={**os.environ, "CGO_ENABLED": "0"},
        stdout=subprocess.PIPE,
        check=True,
    )
    types = {
        name: [[f["name"], f["from"], f["type"], *([True] if f.get("omit") else [])] for f in fields]
        for name, fields in json.loads(done.stdout).items()
    }
    return json.dumps(types, sort_keys=True, separators=(",", ":")).encode()


if __name__ == "__main__":
    FILE.write_bytes(gzip.compress(printed(), mtime=0))
