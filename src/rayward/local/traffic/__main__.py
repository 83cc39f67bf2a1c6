"""``python -m rayward.local.traffic``: the services of an API server on this machine."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from rayward.kube.client.access import ConfigError
from rayward.local.traffic.run import serve
from rayward.net.loop import run_loop


def main() -> int:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="rayward.local.traffic", description="Make services reachable.")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="file that names the API server")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the node whose pods are served")
    parser.add_argument("--ready-file", type=Path, help="written once ready (default: traffic-ready in the folder)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        options.data_dir.mkdir(parents=True, exist_ok=True)
        data = options.data_dir.absolute()
        run_loop(serve(options.kubeconfig, data, options.ready_file or data / "traffic-ready"))
    except (ConfigError, OSError) as error:
        print(f"rayward: the traffic cannot start: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
