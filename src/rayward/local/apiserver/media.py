"""Media types: which form the caller wants, which form a body has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from rayward.local.apiserver import status

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
OFFERED = (JSON, YAML, PROTOBUF)

_SERVED_TABLES = {"meta.k8s.io/v1", "meta.k8s.io/v1beta1"}


class Form(Enum):
    """What an answer shows of an object."""

    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


@dataclass(frozen=True, slots=True)
class Accept:
    """The form and encoding of an answer."""

    form: Form = Form.OBJECT
    version: str = "v1"
    yaml: bool = False
    listed: bool = False
    """Whether the metadata of a list was asked for, not that of one object."""


_PLAIN = Accept()


@lru_cache(maxsize=256)
def accept(header: str, *, tables: bool = True) -> Accept:
    """The first form in an Accept header that the server can give; answers are JSON, or YAML when asked.

    ``tables`` says whether what is asked for can be shown as a table.
    """
    if not header or header in {"*/*", JSON}:
        return _PLAIN
    protobuf_asked = False
    for clause in header.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        values = {name: value for name, _, value in (p.partition("=") for p in parameters)}
        if media == PROTOBUF:
            protobuf_asked = True
            continue
        if media not in {JSON, "*/*", YAML}:
            continue
        wanted = values.get("as", "")
        if not wanted:
            return Accept(yaml=media == YAML)
        group, version = values.get("g", ""), values.get("v", "")
        if f"{group}/{version}" not in _SERVED_TABLES:
            continue
        if wanted == "Table" and tables:
            return Accept(Form.TABLE, version, media == YAML)
        if wanted in {"PartialObjectMetadata", "PartialObjectMetadataList"}:
            return Accept(Form.METADATA, version, media == YAML, wanted.endswith("List"))
    if protobuf_asked:
        # client-go and controller-runtime ask for protobuf first and read whatever Content-Type says
        return _PLAIN
    forms = any("as=" in clause for clause in header.split(","))
    raise status.not_acceptable(OFFERED) if forms else status.not_acceptable_form(OFFERED)


def essence(content_type: str) -> str:
    """A media type without its parameters."""
    return content_type.partition(";")[0].strip().lower()
