"""How a worker joins its cluster and how it leaves it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import features
from rayward.kinds.shapes.metadata import Object, fresh
from rayward.kinds.shapes.startcommand import SHELL

_WAITING: Final = "wait-gcs-ready"
_COPIED: Final = ("image", "imagePullPolicy", "securityContext", "env", "volumeMounts")

# Asking Ray takes seconds of Python, asking the port takes none: so the port is asked often, and Ray once it answers.
_WAIT: Final = """\
SECONDS=0
next=30
until timeout 2 bash -c '< /dev/tcp/{host}/{port}' 2> /dev/null &&
    said=$(ray health-check --address {host}:{port} 2>&1); do
  if (( SECONDS >= next )); then
    echo "$SECONDS s: the head does not answer at {host}:{port}. ${{said:-Nothing listens there.}}"
    echo "See: kubectl describe pods -n {namespace} -l ray.io/cluster={cluster},ray.io/node-type=head"
    next=$(( SECONDS + 30 ))
  fi
  sleep 0.5
done
echo "The head answers after $SECONDS s."
"""

_DEFAULT_GRACE: Final = 30
# To start the command before the drain and to stop Ray after it, inside the grace period of the pod.
_AROUND_DRAIN: Final = 10
# Ray leaves its own process behind when a drained raylet ends; the hook returns then, and the kubelet stops the rest.
_DRAIN: Final = (
    "ray drain-node --reason DRAIN_NODE_REASON_PREEMPTION --reason-message 'the pod is being replaced'"
    " --deadline-remaining-seconds {deadline} || exit 1;"
    " while grep -qsx raylet /proc/[0-9]*/comm; do sleep 0.5; done"
)


def wait_for_head(cluster: RayCluster, ray: Object) -> Object:
    """The container that lets a worker start once there is a head to join."""
    host, port = features.head_address(cluster), features.head_port(cluster)
    script = _WAIT.format(host=host, port=port, namespace=cluster.metadata.namespace, cluster=cluster.metadata.name)
    return {
        "name": _WAITING,
        "command": list(SHELL),
        "args": [script],
        "resources": {
            "limits": {"cpu": "200m", "memory": "256Mi"},
            "requests": {"cpu": "200m", "memory": "256Mi"},
        },
        **{part: fresh(ray[part]) for part in _COPIED if part in ray},
    }


def waiting(init_containers: Iterable[Object]) -> list[Object]:
    """Those that wait for the head: the user may have brought one of that name."""
    return [container for container in init_containers if container.get("name") == _WAITING]


def drain_before_stop(ray: Object, spec: Object) -> None:
    """Have Ray move work off the node before it ends, unless the user stops it in a way of their own."""
    lifecycle: Object = ray.get("lifecycle") or {}
    if lifecycle.get("preStop"):
        return
    grace: int | None = spec.get("terminationGracePeriodSeconds")
    deadline = max((_DEFAULT_GRACE if grace is None else grace) - _AROUND_DRAIN, 1)
    command = ["/bin/bash", "-c", _DRAIN.format(deadline=deadline)]
    ray["lifecycle"] = {**lifecycle, "preStop": {"exec": {"command": command}}}
