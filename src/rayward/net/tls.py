"""TLS contexts for clients, from PEM text."""

from __future__ import annotations

import ssl
import tempfile

import msgspec


class TlsError(ValueError):
    """A certificate or key cannot be used; the text says which."""


class ClientTls(msgspec.Struct, frozen=True):
    """How a client knows its server, and how the server knows the client."""

    authority: str | None = None
    """PEM of the trusted authorities; None trusts what the system trusts."""
    verify: bool = True
    server_name: str | None = None
    """The name the server's certificate must carry, where it differs from the URL's host."""


SYSTEM_TLS = ClientTls()


def client_context(tls: ClientTls, certificate: str | None = None, key: str | None = None) -> ssl.SSLContext:
    """A context that trusts what ``tls`` says and shows ``certificate``.

    Raises:
        TlsError: The authority, the certificate or its key cannot be read.
    """
    if tls.authority is not None and not tls.authority.strip():
        # Python would take this for "no authority named" and trust the whole system.
        raise TlsError("certificate authority is empty")
    try:
        context = ssl.create_default_context(cadata=tls.authority)
    except ssl.SSLError as error:
        raise TlsError(f"certificate authority is not usable: {error}") from error
    # Python's default refuses authorities without extensions that OpenSSL and Go accept (clusters made by hand).
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load_pair(context, certificate, key or "")
    return context


def _load_pair(context: ssl.SSLContext, certificate: str, key: str) -> None:
    # The ssl module reads certificate chains from files only; this one is private and gone at once.
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{certificate}\n{key}\n")
        file.flush()
        try:
            context.load_cert_chain(file.name)
        except (ssl.SSLError, OSError) as error:
            raise TlsError(f"client certificate and key are not usable: {error}") from error
