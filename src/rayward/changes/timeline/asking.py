"""The recorder of a cluster, asked through the API server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from rayward.changes.outcomes import NotFound, Unavailable, UsageError
from rayward.changes.refs import Ref
from rayward.changes.steps import Operation, Send
from rayward.changes.timeline.serving import PATH, Recorded
from rayward.kube.client import errors, verbs
from rayward.kube.client.errors import ApiError
from rayward.kube.client.request import Request
from rayward.kube.core.resource import LEASES
from rayward.kube.machinery.jsonvalue import Object, section

DEFAULT: Final = "rayward-system:8084"
LEASE: Final = "rayward-operator"
_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a recorder answers; without a pod, in the pod of the operator that leads."""

    namespace: str
    pod: str
    port: int


def parse_place(text: str) -> Place:
    """``NAMESPACE:PORT`` or ``NAMESPACE/POD:PORT``.

    Raises:
        UsageError: It is neither.
    """
    where, _, port = text.rpartition(":")
    namespace, _, pod = where.partition("/")
    if not namespace or not (port.isascii() and port.isdigit()):
        raise UsageError(f"cannot read {text!r}", "a recorder is NAMESPACE:PORT or NAMESPACE/POD:PORT", DEFAULT)
    return Place(namespace, pod, int(port))


def ask_recorder(ref: Ref, place: Place) -> Operation[Recorded]:
    """What the recorder of a cluster knows of an object.

    Raises:
        NotFound: No operator leads in that namespace.
        Forbidden: The user may not read its lease, or use the proxy of its pod.
        Unavailable: It does not answer there.
    """
    following = "rayward operator run --timeline-addr :8084   # and --timeline-folder, for a record that outlives it"
    pod = place.pod
    if not pod:
        lease: Object = yield Send(verbs.get(LEASES, LEASE, place.namespace))
        # the process that leads names itself by its host, which in a pod is the pod's name
        pod = str(section(lease, "spec").get("holderIdentity") or "").rpartition("_")[0].rpartition("_")[0]
    if not pod:
        raise NotFound(f"no operator leads in namespace {place.namespace}", "its lease has no holder", following)
    about = urlencode({"namespace": ref.namespace, "object": str(ref)})
    path = f"/api/v1/namespaces/{quote(place.namespace)}/pods/{quote(pod)}:{place.port}/proxy{PATH}?{about}"
    try:
        found: Object = yield Send(Request("GET", path, repeatable=True, seconds=_SECONDS))
        return msgspec.convert(found, Recorded)
    except (errors.NotFound, errors.Forbidden):
        raise
    except (ApiError, msgspec.ValidationError) as error:
        what = f"pod {place.namespace}/{pod} has no timeline at port {place.port}"
        raise Unavailable(what, str(error), following) from error
