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

# GCS has gRPC's health service, with and without a token. `ray health-check` imports Ray, seconds of work for a fifth
# of a CPU, and has no time-out: so the one request is written here by hand, in plain Python.
_ASK: Final = """\
import os, socket, struct, sys
def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload
def field(name, value):
    return bytes((0, len(name))) + name + bytes((len(value),)) + value
head = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
scheme = b"http"
if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
    import ssl
    context = ssl.create_default_context(cafile=os.environ.get("RAY_TLS_CA_CERT"))
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(os.environ["RAY_TLS_SERVER_CERT"], os.environ["RAY_TLS_SERVER_KEY"])
    head, scheme = context.wrap_socket(head), b"https"
head.settimeout(5)
fields = field(b":method", b"POST") + field(b":scheme", scheme) + field(b":authority", b"gcs")
fields += field(b":path", b"/grpc.health.v1.Health/Check") + field(b"te", b"trailers")
fields += field(b"content-type", b"application/grpc")
hello = b"PRI * HTTP/2.0" + bytes((13, 10, 13, 10)) + b"SM" + bytes((13, 10, 13, 10))
head.sendall(hello + frame(4, 0, 0, b"") + frame(1, 4, 1, fields) + frame(0, 1, 1, bytes(5)))
answer = head.makefile("rb")
while True:
    start = answer.read(9)
    if len(start) < 9:
        sys.exit("The connection was closed.")
    payload = answer.read(int.from_bytes(start[:3], "big"))
    if start[3] == 0 and payload:
        sys.exit(None if payload[5:] == bytes((8, 1)) else "It is not serving yet.")
    if start[3] in (3, 7):
        sys.exit("The request was rejected.")
    if start[3] == 1 and start[4] & 1:
        sys.exit(None)
"""
# What answers without a body has no health service: that it answers is all that can be asked.
_WAIT: Final = """\
ask=$(cat << 'PYTHON'
{ask}PYTHON
)
SECONDS=0
next=30
until timeout 2 bash -c '< /dev/tcp/{host}/{port}' 2> /dev/null &&
    said=$(timeout 20 python3 -IS -c "$ask" {host} {port} 2>&1); do
  if (( SECONDS >= next )); then
    echo "$SECONDS s: the head does not answer at {host}:{port}. ${{said:-Nothing listens there.}}"
    echo "Run: kubectl describe pods -n {namespace} -l ray.io/cluster={cluster},ray.io/node-type=head"
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
    namespace, name = cluster.metadata.namespace, cluster.metadata.name
    script = _WAIT.format(ask=_ASK, host=host, port=port, namespace=namespace, cluster=name)
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
