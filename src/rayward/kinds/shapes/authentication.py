"""Ray's authentication: the token that its processes carry."""

from __future__ import annotations

from typing import Final

from rayward.kinds import names
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import env, features, volumes
from rayward.kinds.shapes.metadata import Object

TOKEN_KEY: Final = "auth_token"  # noqa: S105 -- the key under which the token is kept
_VOLUME: Final = "ray-token"
_MOUNT_PATH: Final = "/var/run/secrets/ray.io/serviceaccount"


def add_token(cluster: RayCluster, container: Object) -> None:
    """Tell a container to authenticate, and with what."""
    env.add_missing(container, env.variable("RAY_AUTH_MODE", "token"))
    if features.account_auth(cluster):
        env.add_missing(container, env.variable("RAY_ENABLE_K8S_TOKEN_AUTH", "true"))
        mounts: list[Object] = container.get("volumeMounts") or []
        if not any(mount.get("name") == _VOLUME for mount in mounts):
            volumes.add_mount(container, {"name": _VOLUME, "mountPath": _MOUNT_PATH, "readOnly": True})
        return
    options = cluster.spec.auth_options
    secret = (options and options.secret_name) or names.auth_secret(cluster.metadata.name)
    reference = {"secretKeyRef": {"name": secret, "key": TOKEN_KEY}}
    env.add_missing(container, env.variable("RAY_AUTH_TOKEN", source=reference))


def add_account_token(spec: Object) -> None:
    """The volume with the service account's token."""
    source = {"serviceAccountToken": {"path": "token"}}
    volumes.add_volume(spec, {"name": _VOLUME, "projected": {"sources": [source]}})
