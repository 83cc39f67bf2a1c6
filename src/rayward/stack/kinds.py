"""``python -m rayward.stack.kinds``: define Ray's kinds on a server, then become the program that makes them true.

That program gets an account with the rights that ``rayward operator rbac`` prints, and no others.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click
import yaml

from rayward.kinds import crds
from rayward.kinds.admission import Admission, Queueing
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    VALIDATING_ADMISSION_POLICIES,
    VALIDATING_ADMISSION_POLICY_BINDINGS,
    Resource,
)
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.runtime.registry import Registration
from rayward.net.errors import NetworkError
from rayward.operator import rbac
from rayward.operator.ray.reach import NoReach
from rayward.quota.gate import policy
from rayward.stack.composition import composed
from rayward.stack.part import MACHINE_QUEUE

_MANAGER = "rayward"
_SECONDS = 30.0
_POLL = 0.02
_NAMESPACE: Final = "rayward-system"
_TOKEN_SECONDS: Final = 10 * 365 * 24 * 3600
"""The token stays on this machine, and the next start of the operator gets another."""
_RESOURCES: Final[Mapping[str, Resource]] = {
    "Namespace": NAMESPACES,
    "ServiceAccount": SERVICE_ACCOUNTS,
    "ClusterRole": CLUSTER_ROLES,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
    "ValidatingAdmissionPolicy": VALIDATING_ADMISSION_POLICIES,
    "ValidatingAdmissionPolicyBinding": VALIDATING_ADMISSION_POLICY_BINDINGS,
}


def install(client: SyncClient) -> None:
    """Define Ray's kinds and Kueue's, or bring their definitions to this version; returns when they can be used.

    Raises:
        ApiError, NetworkError: The server refused or is gone.
        TimeoutError: It does not establish them.
    """
    definitions = crds.manifests((*crds.PLURALS, *crds.QUEUEING_PLURALS))
    for definition in definitions:
        client.apply(CUSTOM_RESOURCE_DEFINITIONS, definition, field_manager=_MANAGER, force=True)
    deadline = time.monotonic() + _SECONDS
    for definition in definitions:
        name = definition["metadata"]["name"]
        while not _is_established(client.get(CUSTOM_RESOURCE_DEFINITIONS, name)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the definition {name} is not established after {_SECONDS:.0f} s")
            time.sleep(_POLL)


def authorize(client: SyncClient) -> str:
    """Give the operator's account its rights, everywhere, and the gate to nobody else; returns a token of the account.

    Raises:
        ApiError, NetworkError: The server refused or is gone.
    """
    for manifest in rbac.manifests(_registered(), (), _NAMESPACE):
        client.apply(_RESOURCES[manifest["kind"]], manifest, field_manager=_MANAGER, force=True)
    for manifest in policy.manifests([f"system:serviceaccount:{_NAMESPACE}:{rbac.NAME}"]):
        client.apply(_RESOURCES[manifest["kind"]], manifest, field_manager=_MANAGER, force=True)
    answer = client.token(rbac.NAME, _NAMESPACE, {"expirationSeconds": _TOKEN_SECONDS})
    return answer["status"]["token"]


def _registered() -> Sequence[Registration]:
    return composed(Queueing(Admission.EMBEDDED), MACHINE_QUEUE)(NoReach())


def write_kubeconfig(administrator: Path, token: str, path: Path) -> None:
    """Write a kubeconfig of the same server with another credential, readable by its owner only."""
    config = yaml.safe_load(administrator.read_text())
    for user in config["users"]:
        user["user"] = {"token": token}
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        yaml.safe_dump(config, file, sort_keys=False)


def _is_established(definition: Object) -> bool:
    conditions = entries(section(definition, "status"), "conditions")
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


@click.command("rayward.stack.kinds")
@click.option("--kubeconfig", type=click.Path(path_type=Path), required=True, help="The administrator's.")
@click.option(
    "--operator-kubeconfig", type=click.Path(path_type=Path), required=True, help="Where to write the operator's."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def main(kubeconfig: Path, operator_kubeconfig: Path, command: tuple[str, ...]) -> None:
    """Install, then become COMMAND, which comes after ``--``."""
    try:
        with SyncClient.connect(find_access(kubeconfig)) as client:
            install(client)
            write_kubeconfig(kubeconfig, authorize(client), operator_kubeconfig)
    except (ApiError, NetworkError, TimeoutError, OSError, ValueError) as error:
        print(f"rayward: Ray's kinds cannot be defined: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - our own words


if __name__ == "__main__":
    main()
