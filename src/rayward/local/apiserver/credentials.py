"""What the server needs to be known and to know its users: made once in the data folder, readable by its owner only."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from rayward.local.apiserver.identity import User
from rayward.local.apiserver.rbac.parts import PARTS
from rayward.net.certificates import Pair, issue_client, issue_server, make_authority
from rayward.net.signing import SigningKey

SERVICE_ADDRESS = "10.43.0.1"
_HOSTS = (
    "127.0.0.1",
    "::1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    SERVICE_ADDRESS,
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files and secrets of one data folder."""

    folder: Path
    authority: bytes
    token: str
    signing_key: bytes
    client: Pair
    parts: Mapping[str, User]
    """The parts of the stack by their tokens."""

    @property
    def certificate(self) -> Path:
        return self.folder / "server.crt"

    @property
    def key(self) -> Path:
        return self.folder / "server.key"

    @property
    def authority_file(self) -> Path:
        """The authority that signed the server and its clients."""
        return self.folder / "ca.crt"


def ensure(data: Path) -> Credentials:
    """Read the credentials of a data folder, or make them."""
    folder = data / "pki"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (folder / "complete").exists():
        _make(folder)
    client = Pair((folder / "client.crt").read_bytes(), (folder / "client.key").read_bytes())
    return Credentials(
        folder,
        (folder / "ca.crt").read_bytes(),
        (folder / "token").read_text().strip(),
        (folder / "sa.key").read_bytes(),
        client,
        {_token(folder / f"{part.name}.token"): part.user for part in PARTS},
    )


def _token(path: Path) -> str:
    """The token in a file, which is made if it is missing: a data folder may be older than a part's identity."""
    if not path.exists():
        write_private(path, secrets.token_hex(32).encode())
    return path.read_text().strip()


def _make(folder: Path) -> None:
    authority = make_authority("rayward")
    server = issue_server(authority, "kube-apiserver", _HOSTS)
    client = issue_client(authority, "kubernetes-admin", ("system:masters",))
    for name, pair in (("ca", authority), ("server", server), ("client", client)):
        write_private(folder / f"{name}.crt", pair.certificate)
        write_private(folder / f"{name}.key", pair.key)
    write_private(folder / "sa.key", SigningKey.make())
    write_private(folder / "token", secrets.token_hex(32).encode())
    # the mark comes last: a process killed half-way starts over
    write_private(folder / "complete", b"")


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    # The new name must survive a loss of power too, not only what it names.
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_kubeconfigs(credentials: Credentials, url: str, admin: Path) -> None:
    """Write a kubeconfig for each part of the stack, and last the administrator's, for which the parts wait."""
    for token, user in credentials.parts.items():
        name = next(part.name for part in PARTS if part.user is user)
        write_private(credentials.folder / f"{name}.kubeconfig", kubeconfig(credentials, url, token))
    write_private(admin, kubeconfig(credentials, url, credentials.token))


def kubeconfig(credentials: Credentials, url: str, token: str) -> bytes:
    """A kubeconfig for the holder of a token, with nothing of any other user in it."""
    # One credential: with a certificate beside it, a token given on the command line would never be looked at.
    user = {"token": token}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "rayward",
                "cluster": {"server": url, "certificate-authority-data": _base64(credentials.authority)},
            }
        ],
        "users": [{"name": "rayward", "user": user}],
        "contexts": [{"name": "rayward", "context": {"cluster": "rayward", "user": "rayward"}}],
        "current-context": "rayward",
    }
    return yaml.safe_dump(config, sort_keys=False).encode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
