"""Media types: which form the caller wants, which form a body has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    protobuf: bool = False


_PLAIN = Accept()


@lru_cache(maxsize=256)
def accept(header: str, *, tables: bool = True) -> Accept:
    """The first form in an Accept header that the server can give: JSON, or YAML when asked.

    ``tables`` says whether what is asked for can be shown as a table.
    """
    if not header or header in {"*/*", JSON}:
        return _PLAIN
    last: Accept | None = None
    for clause in header.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        values = {name: value for name, _, value in (p.partition("=") for p in parameters)}
        if media not in {JSON, "*/*", YAML, PROTOBUF}:
            continue
        form = _form(values, tables=tables and media != PROTOBUF)
        if form is None:
            continue
        if media != PROTOBUF:
            return replace(form, yaml=media == YAML)
        # client-go and controller-runtime ask for protobuf first and read whatever Content-Type says: JSON is at hand
        last = last or replace(form, protobuf=True)
    if last is not None:
        return last
    forms = any("as=" in clause for clause in header.split(","))
    raise status.not_acceptable(OFFERED) if forms else status.not_acceptable_form(OFFERED)


def _form(values: Mapping[str, str], *, tables: bool) -> Accept | None:
    wanted = values.get("as", "")
    if not wanted:
        return _PLAIN
    version = values.get("v", "")
    if f"{values.get('g', '')}/{version}" not in _SERVED_TABLES:
        return None
    if wanted == "Table" and tables:
        return Accept(Form.TABLE, version)
    if wanted in {"PartialObjectMetadata", "PartialObjectMetadataList"}:
        return Accept(Form.METADATA, version, listed=wanted.endswith("List"))
    return None


def only_protobuf(header: bytes) -> bool:
    """Whether an Accept header asks for protobuf and for nothing else."""
    return b"," not in header and b"as=" not in header and essence(header.decode("latin-1")) == PROTOBUF


def essence(content_type: str) -> str:
    """A media type without its parameters."""
    return content_type.partition(";")[0].strip().lower()
