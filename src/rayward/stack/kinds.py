"""``python -m rayward.stack.kinds``: define Ray's kinds on a server, then become the program that makes them true."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from rayward.kinds import crds
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import NetworkError

_MANAGER = "rayward"
_SECONDS = 30.0
_POLL = 0.02


def install(client: SyncClient) -> None:
    """Define Ray's kinds, or bring their definitions to this version; returns when they can be used.

    Raises:
        ApiError, NetworkError: The server refused or is gone.
        TimeoutError: It does not establish them.
    """
    for definition in crds.manifests():
        client.apply(CUSTOM_RESOURCE_DEFINITIONS, definition, field_manager=_MANAGER, force=True)
    deadline = time.monotonic() + _SECONDS
    for definition in crds.manifests():
        name = definition["metadata"]["name"]
        while not _is_established(client.get(CUSTOM_RESOURCE_DEFINITIONS, name)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the definition {name} is not established after {_SECONDS:.0f} s")
            time.sleep(_POLL)


def _is_established(definition: Object) -> bool:
    conditions = entries(section(definition, "status"), "conditions")
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def main() -> int:
    """Install, then run what comes after ``--``."""
    parser = argparse.ArgumentParser(prog="rayward.stack.kinds")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("command", nargs="+", help="what to become, after --")
    options = parser.parse_args()
    try:
        with SyncClient.connect(find_access(options.kubeconfig)) as client:
            install(client)
    except (ApiError, NetworkError, TimeoutError, OSError, ValueError) as error:
        print(f"rayward: Ray's kinds cannot be defined: {error}", file=sys.stderr)  # noqa: T201
        return 1
    os.execv(options.command[0], options.command)  # noqa: S606 - our own words
    return 0


if __name__ == "__main__":
    sys.exit(main())
