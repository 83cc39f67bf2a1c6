"""The kubeconfig of an account, as a process gets it that has the account's rights and no other."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from tests.operator.stage import Stage


async def kubeconfig_of(ray: Stage, account: str, folder: Path) -> Path:
    """Of a ServiceAccount in the stage's namespace, by a token."""
    token = (await ray.client.token(account, ray.namespace))["status"]["token"]
    authority = base64.b64encode((ray.access.tls.authority or "").encode()).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": ray.access.server, "certificate-authority-data": authority}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": ray.namespace}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path
