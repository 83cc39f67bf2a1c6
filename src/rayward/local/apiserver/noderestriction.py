"""Which tokens the node may have: those of pods that run on it, as Kubernetes' NodeRestriction decides.

Its role alone would give it the token of any account, the operator's too.
"""

from __future__ import annotations

from rayward.kube.machinery.jsonvalue import section
from rayward.local.apiserver import status
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.identity import NODE
from rayward.local.apiserver.request import Request


def check_token(request: Request, reference: Object | None, bound: Object | None) -> None:
    """A token that is asked for, and what it is bound to. Raises ApiError."""
    if request.user.name == NODE.name and (why := _objection(reference or {}, bound or {})):
        raise status.forbidden(request.resource, request.name, why)


def _objection(reference: Object, bound: Object) -> str:
    # plugin/pkg/admission/noderestriction/admission.go
    if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod"):
        return "node requested token not bound to a pod"
    if not reference.get("uid"):
        return "node requested token with a pod binding without a uid"
    # one process serves all nodes of this machine
    if not section(bound, "spec").get("nodeName"):
        return "node requested token bound to a pod scheduled on a different node"
    return ""
