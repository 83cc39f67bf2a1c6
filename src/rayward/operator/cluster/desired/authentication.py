"""Ray's authentication: the token that its processes carry, and the secret it is kept in."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import RayCluster
from rayward.kube.core.resource import SECRETS
from rayward.operator.cluster.desired import env, features, volumes
from rayward.operator.cluster.desired.children import Object, child

TOKEN_KEY: Final = "auth_token"  # noqa: S105 -- the key under which the token is kept
_VOLUME: Final = "ray-token"
_MOUNT_PATH: Final = "/var/run/secrets/ray.io/serviceaccount"


def auth_secret(cluster: RayCluster, token: str) -> Object | None:
    """The secret with the cluster's own token; none where the user named one or no token is asked for."""
    options = cluster.spec.auth_options
    if not features.token_auth(cluster) or features.account_auth(cluster) or (options and options.secret_name):
        return None
    cluster_label = {labels.CLUSTER: cluster.metadata.name}
    return {
        **child(cluster, SECRETS, names.auth_secret(cluster.metadata.name), cluster_label),
        "stringData": {TOKEN_KEY: token},
    }


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
