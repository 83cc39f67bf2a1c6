"""Keys and certificates for one throw-away control plane."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files of one control plane: its authority, its server certificate, an administrator's, a token-signing key."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path
    signing_key: Path


def make(folder: Path, addresses: list[str], names: list[str], user: str, group: str) -> Credentials:
    """Writes a new authority and what it signs into ``folder``."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate(_name("test-ca"), authority_key, None, authority_key)
    hosts: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    hosts += [x509.DNSName(name) for name in names]
    made = Credentials(
        *(folder / name for name in ("ca.crt", "tls.crt", "tls.key", "admin.crt", "admin.key", "sa.key"))
    )
    made.ca.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for subject, certificate, key in (
        (_name("kube-apiserver"), made.server, made.server_key),
        (_name(user, group), made.client, made.client_key),
    ):
        private = _write_key(key)
        signed = _certificate(subject, private, authority, authority_key, hosts if key == made.server_key else [])
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    _write_key(made.signing_key)
    return made


def _name(common: str, organization: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _write_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    return key


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey,
    hosts: list[x509.GeneralName] | None = None,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if issuer is None:
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
    else:
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())
