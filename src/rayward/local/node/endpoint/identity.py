"""The certificate that the endpoint shows, made once per data folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rayward.net.certificates import issue_server, make_authority
from rayward.net.server import ServerTls


def certificate(folder: Path, names: Sequence[str], authorities: Sequence[str]) -> ServerTls:
    """The endpoint's certificate; ``authorities`` (PEM) are those whose clients are known."""
    place = folder / "tls"
    place.mkdir(mode=0o700, exist_ok=True)
    files = place / "node.crt", place / "node.key"
    if not all(file.exists() for file in files):
        made = make_authority("rayward-node")
        pair = issue_server(made, "system:node:" + names[0], ["127.0.0.1", "localhost", *names])
        files[1].touch(mode=0o600)
        files[1].write_bytes(pair.key)
        files[0].write_bytes(pair.certificate + made.certificate)
    client_authority = None
    if authorities:
        client_authority = place / "clients.crt"
        client_authority.write_text("\n".join(authorities))
    return ServerTls(files[0], files[1], client_authority)
