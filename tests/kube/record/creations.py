"""Whole objects as the server creates them: what no table of defaults says, because one field follows from others.

Dry runs against a server with its usual admission plugins. Values that differ from run to run are masked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from tests.kube.record import kinds
from tests.kube.record.server import Object, Server

MASK: Final = "*"
_TIMES: Final = ("creationTimestamp", "lastPhaseTransitionTime", "lastTransitionTime", "time")
_IDENTIFIERS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid", "uid")
_VOLATILE: Final = frozenset({*_TIMES, *_IDENTIFIERS})


def record(server: Server, entries: list[Object]) -> list[Object]:
    """For each probe its name, the object that was sent and the object that came back."""
    by_kind = {(entry["group"], entry["kind"]): entry for entry in entries if "create" in entry["verbs"]}
    found: list[Object] = []
    for name, sent in _named_probes().items():
        group = sent["apiVersion"].rpartition("/")[0]
        entry = by_kind[group, sent["kind"]]
        scope = "namespaces/default/" if entry["namespaced"] else ""
        path = f"{kinds.root_path(group)}/{scope}{entry['plural']}?dryRun=All&fieldManager=probe"
        code, answer = server.send("POST", path, sent)
        if code != 201:
            raise RuntimeError(f"{name}: {code} {answer}")
        chosen = sent["kind"] == "Service" and "clusterIP" not in sent["spec"]
        found.append({"name": name, "sent": sent, "created": _masked(answer, chosen)})
    return found


def probes() -> list[Object]:
    """The objects that are sent."""
    return list(_named_probes().values())


def _masked(value: Any, mask_addresses: bool) -> Any:
    if isinstance(value, dict):
        node: Object = value
        return {key: _masked_field(key, each, mask_addresses) for key, each in node.items()}
    if isinstance(value, list):
        items: list[Any] = value
        return [_masked(item, mask_addresses) for item in items]
    return value


def _masked_field(key: str, value: Any, mask_addresses: bool) -> Any:
    if key in _VOLATILE and isinstance(value, str):
        return MASK
    if mask_addresses and key == "clusterIP" and value:
        return MASK
    if mask_addresses and key == "clusterIPs":
        return [MASK for _ in value]
    if key in {"nodePort", "healthCheckNodePort"} and value:
        return MASK
    return _masked(value, mask_addresses)


def _named_probes() -> dict[str, Object]:
    return yaml.safe_load(Path(__file__).with_name("creations.yaml").read_text())
