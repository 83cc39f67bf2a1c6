"""Signed JSON tokens (JWT, ES256)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

_SIZE = 32


class SigningKey:
    """A private key that signs claims and knows its own signatures."""

    def __init__(self, pem: bytes) -> None:
        key = serialization.load_pem_private_key(pem, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError("the signing key must be an elliptic curve key")
        self._key = key
        public = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self._id = _encode(hashlib.sha256(public).digest())

    @staticmethod
    def make() -> bytes:
        """A new private key as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        return key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def sign(self, claims: dict[str, Any]) -> str:
        """The claims as a token."""
        header = _encode(json.dumps({"alg": "ES256", "kid": self._id}, separators=(",", ":")).encode())
        payload = _encode(json.dumps(claims, separators=(",", ":")).encode())
        message = f"{header}.{payload}"
        r, s = decode_dss_signature(self._key.sign(message.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{message}.{_encode(r.to_bytes(_SIZE, 'big') + s.to_bytes(_SIZE, 'big'))}"

    def verify(self, token: str) -> dict[str, Any] | None:
        """The claims of a token that this key signed; times are the caller's to check."""
        message, _, signature = token.rpartition(".")
        try:
            raw = _decode(signature)
            if len(raw) != 2 * _SIZE:
                return None
            der = encode_dss_signature(int.from_bytes(raw[:_SIZE], "big"), int.from_bytes(raw[_SIZE:], "big"))
            self._key.public_key().verify(der, message.encode(), ec.ECDSA(hashes.SHA256()))
            claims: Any = json.loads(_decode(message.partition(".")[2]))
        except (InvalidSignature, ValueError, binascii.Error):
            return None
        return claims if isinstance(claims, dict) else None  # pyright: ignore[reportUnknownVariableType]


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
