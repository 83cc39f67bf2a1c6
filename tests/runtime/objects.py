"""Objects for tests."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from rayward.kube.core.pod import Pod


def whole(name: str, version: int, namespace: str = "a", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": str(version), **more}
    return {"metadata": metadata, "spec": {"nodeName": f"node-{version}"}}


def pod(name: str, version: int, namespace: str = "a", **more: Any) -> tuple[Pod, bytes]:
    raw = orjson.dumps(whole(name, version, namespace, **more))
    return msgspec.json.decode(raw, type=Pod), raw


def owned(uid: str) -> list[dict[str, Any]]:
    return [{"uid": "other", "name": "o", "kind": "K"}, {"uid": uid, "name": "n", "kind": "K", "controller": True}]
