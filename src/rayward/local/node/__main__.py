"""``python -m rayward.local.node``: nodes of this machine for an API server."""

from __future__ import annotations

import argparse
import logging
import platform
import sys
from pathlib import Path

import msgspec

from rayward.kube.client.access import ConfigError
from rayward.kube.machinery import quantity
from rayward.kube.machinery.quantity import QuantityError
from rayward.local.node.egress.proxy import PORT
from rayward.local.node.egress.target import variables
from rayward.local.node.ground.pod import BRIDGE_ADDRESS
from rayward.local.node.ground.process import raise_open_files
from rayward.local.node.machine import own_shape
from rayward.local.node.run import Options, serve
from rayward.local.node.work.host import Settings
from rayward.net.loop import run_loop


def main() -> int:
    """Serve nodes until told to stop."""
    parser = argparse.ArgumentParser(prog="rayward.local.node", description="Run pods as processes of this machine.")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="file that names the API server")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the pods")
    parser.add_argument("--nodes", type=int, default=1, help="how many nodes to simulate (default: %(default)s)")
    parser.add_argument("--cpus", help="CPUs of each node (default: this machine's)")
    parser.add_argument("--memory", help="memory of each node (default: this machine's)")
    parser.add_argument("--gpus", type=int, default=0, help="GPUs of each node (default: %(default)s)")
    parser.add_argument("--image", action="append", default=[], metavar="NAME=ENV", help="environment of an image")
    parser.add_argument(
        "--images",
        choices=("any", "strict"),
        default="any",
        help="whether images that no --image names run in this environment (default: %(default)s)",
    )
    parser.add_argument("--project", type=Path, help="folder of this machine that pods may write to")
    parser.add_argument("--name", default=platform.node() or "local", help="name of the node (default: %(default)s)")
    parser.add_argument("--hide", type=Path, action="append", default=[], help="folder that no pod may see")
    parser.add_argument("--client-ca", type=Path, help="authority of clients that may ask for logs and the like")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    raise_open_files()
    try:
        asked = _options(options)
        run_loop(serve(asked))
    except (ConfigError, QuantityError, ValueError, OSError) as error:
        print(f"rayward: the node cannot start: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _options(parsed: argparse.Namespace) -> Options:
    shape = own_shape(parsed.data_dir.absolute())
    if parsed.cpus:
        shape = msgspec.structs.replace(shape, cpus=quantity.parse(parsed.cpus))
    if parsed.memory:
        shape = msgspec.structs.replace(shape, memory=quantity.parse(parsed.memory))
    shape = msgspec.structs.replace(shape, gpus=parsed.gpus)
    base = parsed.name.lower()
    names = (base,) if parsed.nodes == 1 else tuple(f"{base}-{number}" for number in range(parsed.nodes))
    environments: dict[str, str] = {}
    for mapping in parsed.image:
        name, found, folder = mapping.partition("=")
        if not found:
            raise ValueError(f"--image {mapping}: expected NAME=ENV")
        environments[name] = str(Path(folder).absolute())
    settings = Settings(
        environments,
        "" if parsed.images == "strict" else sys.prefix,
        parsed.project.absolute() if parsed.project else None,
        # Whoever reads it is the administrator of the cluster.
        hidden=(str(parsed.kubeconfig.absolute()), *(str(path.absolute()) for path in parsed.hide)),
        variables=variables(BRIDGE_ADDRESS, PORT),
    )
    return Options(parsed.kubeconfig, parsed.data_dir.absolute(), names, shape, settings, client_ca=parsed.client_ca)


if __name__ == "__main__":
    sys.exit(main())
