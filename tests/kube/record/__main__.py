"""Writes the recordings, or checks them."""

from __future__ import annotations

import argparse
import sys

from tests.kube.real.build import BuildError
from tests.kube.record import files
from tests.kube.record.take import take


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kube.record", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a recording is stale")
    check = parser.parse_args().check
    stale: list[str] = []
    for path, content in take().items():
        if files.same(path, content):
            print(f"{path.name}: {len(content)} bytes, as recorded")
        elif check:
            stale.append(path.name)
            print(f"{path.name}: STALE, the real components say something else now")
        else:
            files.write(path, content)
            print(f"{path.name}: {len(content)} bytes, written as {path.stat().st_size}")
    return 1 if stale else 0


if __name__ == "__main__":
    try:
        sys.exit(_main())
    except BuildError as error:
        sys.exit(f"error: {error}")
