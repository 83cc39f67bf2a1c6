"""``python -m rayward.local.apiserver``: the embedded API server alone."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from rayward.local.apiserver.process import serve
from rayward.local.store import StoreError
from rayward.net.loop import run_loop


def main() -> int:
    """Serve from a data folder until told to stop."""
    parser = argparse.ArgumentParser(
        prog="rayward.local.apiserver", description="Serve the Kubernetes API from a folder."
    )
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the objects and credentials")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port; 0 keeps the last one or takes a free one")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        run_loop(serve(options.data_dir, options.host, options.port))
    except (StoreError, OSError) as error:
        print(f"rayward: the API server cannot start: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
