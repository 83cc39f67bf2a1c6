"""``python -m tools.crds``."""

from __future__ import annotations

from rayward.kinds import crds
from tools.crds.output import packed, wanted


def main() -> None:
    """Writes every CRD into the package."""
    for plural, manifest in wanted().items():
        path = crds.path_of(plural)
        path.write_bytes(packed(manifest))
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
