"""What the server asks a node for: logs, exec, attach and port-forward of a pod.

Nothing here runs pods yet, so every answer tells the caller why there is none.
"""

from __future__ import annotations

from rayward.kube.machinery.jsonvalue import section
from rayward.local.apiserver import status
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.request import Request, Response


def _node_of(core: Core, request: Request) -> str:
    live = core.objects.newest(request.resource, request.namespace, request.name)
    if live is None:
        raise status.not_found(request.resource, request.name)
    return section(live.value, "spec").get("nodeName") or ""


def _no_kubelet(node: str) -> status.ApiError:
    return status.unavailable(f'node "{node}" has no kubelet endpoint; this server was started with --api-only')


async def logs(core: Core, request: Request) -> Response:
    """Answer a GET of a pod's log: a pod that is on no node has said nothing."""
    node = _node_of(core, request)
    if node:
        raise _no_kubelet(node)
    return Response(200, b"", b"text/plain")


async def connect(core: Core, request: Request) -> Response:
    """Answer an exec, attach or port-forward."""
    node = _node_of(core, request)
    if not node:
        raise status.bad_request(f"pod {request.name} does not have a host assigned")
    raise _no_kubelet(node)
