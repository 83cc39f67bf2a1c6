"""What the server says to malformed protobuf bodies."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from tests.kube.record.server import Object, Server

_PROTOBUF = "application/vnd.kubernetes.protobuf"
_PLACES = {"ConfigMap": "configmaps", "ResourceQuota": "resourcequotas"}


def record(server: Server) -> list[Object]:
    """Name, body (base64), and the message of the Status that came back, for each malformed body."""
    found: list[Object] = []
    for name, kind, body in _bodies():
        path = f"api/v1/namespaces/default/{_PLACES[kind]}?dryRun=All"
        code, answer = server.send("POST", path, body, content_type=_PROTOBUF)
        if code != 400:
            raise RuntimeError(f"{name}: {code} {answer}")
        entry = {"name": name, "kind": kind, "body": base64.b64encode(body).decode(), "message": answer["message"]}
        found.append(entry)
    return found


def envelope(raw: bytes, api_version: str = "v1", kind: str = "ConfigMap") -> bytes:
    """A body that claims to hold a kind."""
    identity = _field(1, api_version.encode()) + _field(2, kind.encode())
    return b"k8s\x00" + _field(1, identity) + _field(2, raw)


def _bodies() -> Iterator[tuple[str, str, bytes]]:
    whole = envelope(_field(1, _field(1, b"probe")))
    for name, body in (
        ("nothing", b""),
        ("JSON", b'{"kind":"ConfigMap"}'),
        ("three bytes of the prefix", b"k8s"),
        ("only the prefix", b"k8s\x00"),
        ("a cut envelope", whole[:-3]),
        ("an illegal tag in the envelope", b"k8s\x00\x00\x05"),
        ("a wrong wire type in the envelope", b"k8s\x00\x08\x05"),
        ("a kind that does not exist", envelope(b"", kind="Nothing")),
        ("a version that does not exist", envelope(b"", api_version="v9")),
    ):
        yield name, "ConfigMap", body
    for name, raw in (
        ("a cut object", b"\x0a\x05abc"),
        ("a cut tag", b"\x80"),
        ("a cut length", b"\x0a\x80"),
        ("a negative length", b"\x0a" + b"\xff" * 9 + b"\x01"),
        ("a wrong wire type for metadata", b"\x08\x05"),
        ("a wrong wire type for data", b"\x10\x05"),
        ("an illegal tag", b"\x00\x05"),
        ("an illegal tag in metadata", _field(1, b"\x02\x00")),
        ("a number of eleven bytes", b"\xff" * 11),
        ("the end of a group that never began", b"\x0c"),
        ("a group that never ends", b"\xa3\x06\xa0\x06"),
        ("an unknown field that is cut", b"\xa2\x06\x09a"),
        ("an unknown field of wire type 6", b"\xa6\x06"),
        ("an unknown field of wire type 7", b"\xa7\x06\x01"),
        ("a cut entry of a map", _field(2, b"\x0a\x05k")),
    ):
        yield name, "ConfigMap", envelope(raw)
    for name, text in (("no quantity", b""), ("a bad quantity", b"lots")):
        hard = _field(1, _field(1, b"pods") + _field(2, _field(1, text)))
        yield name, "ResourceQuota", envelope(_field(2, hard), kind="ResourceQuota")


def _field(number: int, content: bytes) -> bytes:
    assert number < 16
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content
