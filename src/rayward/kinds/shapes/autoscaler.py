"""The autoscaler's container beside the head."""

from __future__ import annotations

from typing import Any, Final

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import authentication, env, features
from rayward.kinds.shapes.metadata import Object, fresh
from rayward.kinds.shapes.startcommand import SHELL

_NAME: Final = "autoscaler"
_COMMAND: Final = (
    "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"
)


def autoscaler_container(cluster: RayCluster, ray_image: Any) -> Object:
    """``ray kuberay-autoscaler``, with the user's wishes for its container."""
    container: Object = {
        "name": _NAME,
        "image": ray_image,
        "imagePullPolicy": "IfNotPresent",
        "env": [
            env.cluster_name(),
            env.cluster_namespace(),
            env.from_field("RAY_HEAD_POD_NAME", "metadata.name"),
            env.variable("KUBERAY_CRD_VER", "v1"),
        ],
        "command": list(SHELL),
        "args": [_COMMAND],
        "resources": {
            "limits": {"cpu": "500m", "memory": "512Mi"},
            "requests": {"cpu": "500m", "memory": "512Mi"},
        },
    }
    if features.token_auth(cluster):
        authentication.add_token(cluster, container)
    _override(container, cluster)
    return container


def _override(container: Object, cluster: RayCluster) -> None:
    options = cluster.spec.autoscaler_options
    if options is None:
        return
    if options.command or options.args:
        # so that a command of the user's own can end in the usual one
        env.add(container, env.variable("KUBERAY_GEN_AUTOSCALER_START_CMD", _COMMAND))
    chosen = {
        "resources": options.resources,
        "image": options.image,
        "imagePullPolicy": options.image_pull_policy,
        "securityContext": options.security_context,
        "command": options.command or None,
        "args": options.args or None,
    }
    container.update({name: fresh(value) for name, value in chosen.items() if value is not None})
    added = {"env": options.env, "envFrom": options.env_from, "volumeMounts": options.volume_mounts}
    for name, values in added.items():
        if values:
            container[name] = [*(container.get(name) or ()), *fresh(values)]
