"""Certificates that TLS accepts."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from rayward.net.certificates import Pair, issue_client, issue_server, make_authority


def _save(folder: Path, name: str, pair: Pair) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    return certificate, key


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """A handshake in memory: no socket, no thread."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    client_side = client.wrap_bio(to_client, to_server, server_hostname=name)
    waiting = {server_side, client_side}
    while waiting:
        for side in tuple(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.discard(side)
    return server_side


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = make_authority("test")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(*_save(tmp_path, "server", issue_server(authority, "api", ["127.0.0.1", "localhost"])))
    server.load_verify_locations(cadata=authority.certificate.decode())
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.create_default_context(cadata=authority.certificate.decode())
    client.load_cert_chain(*_save(tmp_path, "client", issue_client(authority, "jane", ["team"])))
    return server, client


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_server_and_client_know_each_other(contexts: tuple[ssl.SSLContext, ssl.SSLContext], name: str) -> None:
    seen = _shake_hands(*contexts, name).getpeercert()
    assert seen is not None
    assert seen["subject"] == ((("organizationName", "team"),), (("commonName", "jane"),))


def test_another_name_is_not_trusted(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        _shake_hands(*contexts, "example.com")
