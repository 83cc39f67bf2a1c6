"""Whether KubeRay's operator is at work where ours is to begin: two operators would undo each other's pods."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rayward.kube.client.api import Client
from rayward.kube.client.errors import Forbidden
from rayward.kube.client.values import as_dict, as_list, as_str
from rayward.kube.core.resource import DEPLOYMENTS, LEASES, Resource
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.renewal import is_renewed
from rayward.operator.errors import OperatorError

LEASE: Final = "ray-operator-leader"
_SELECTOR: Final = "app.kubernetes.io/component=kuberay-operator"
_WATCH_FLAG: Final = "--watch-namespace"


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Holder:
    """A KubeRay operator that is alive."""

    kind: str
    namespace: str
    name: str

    def refusal(self) -> OperatorError:
        """What to tell the user."""
        where = f"{self.kind} {self.namespace}/{self.name}"
        deployment = self.name if self.kind == "Deployment" else "kuberay-operator"
        stop = f"kubectl -n {self.namespace} scale deployment {deployment} --replicas=0"
        following = (
            f"{stop}\n  then: rayward operator run (it takes over clusters, pods and services as they are; to go back, "
            f"stop it and scale the deployment to 1)"
        )
        if self.kind != "Deployment":
            following += "\n  or, if it watches other namespaces only: rayward operator run --beside-kuberay"
        return OperatorError(
            "KubeRay's operator is running in these namespaces",
            f"{where} says so; two operators would delete what the other creates",
            following,
        )


def watched_namespaces(deployment: Object) -> frozenset[str] | None:
    """The namespaces a KubeRay deployment watches, by its flags; None for all."""
    template = as_dict(as_dict(deployment.get("spec")).get("template"))
    for container in map(as_dict, as_list(as_dict(template.get("spec")).get("containers"))):
        words = [as_str(word) for word in (*as_list(container.get("command")), *as_list(container.get("args")))]
        for place, word in enumerate(words):
            name, _, value = word.partition("=")
            if name.lstrip("-") == _WATCH_FLAG.lstrip("-"):
                given = value or (words[place + 1] if place + 1 < len(words) else "")
                found = frozenset(part.strip() for part in given.split(",") if part.strip())
                return found or None
    return None


def overlaps(theirs: frozenset[str] | None, ours: Sequence[str]) -> bool:
    """Whether two operators would meet; ``ours`` empty means all namespaces."""
    return theirs is None or not ours or bool(theirs & set(ours))


def is_ready(deployment: Object) -> bool:
    """Whether a deployment has a pod that works."""
    return bool(as_dict(deployment.get("status")).get("readyReplicas"))


async def find_kuberay(client: Client, namespaces: Sequence[str], clock: Clock = SYSTEM_CLOCK) -> Holder | None:
    """A live KubeRay operator that watches one of ``namespaces``, or all if there are none."""
    deployments = await _list(client, DEPLOYMENTS, namespaces, label_selector=_SELECTOR)
    for found in deployments:
        if is_ready(found) and overlaps(watched_namespaces(found), namespaces):
            return Holder("Deployment", _namespace(found), _name(found))
    for lease in await _list(client, LEASES, namespaces, field_selector=f"metadata.name={LEASE}"):
        held_by = _holders(lease, deployments)
        elsewhere = held_by and not any(overlaps(watched_namespaces(found), namespaces) for found in held_by)
        if not elsewhere and await is_renewed(client, lease, clock):
            return Holder("Lease", _namespace(lease), LEASE)
    return None


def _holders(lease: Object, deployments: Iterable[Object]) -> list[Object]:
    """The deployments that may hold a lease: the one whose pod says so, else all beside it."""
    pod = as_str(as_dict(lease.get("spec")).get("holderIdentity")).partition("_")[0]
    beside = [found for found in deployments if _namespace(found) == _namespace(lease)]
    # A pod is named after its deployment and its replica set, and ends with letters of its own.
    return [found for found in beside if _name(found) == pod.rsplit("-", 2)[0]] or beside


async def _list(client: Client, resource: Resource, namespaces: Sequence[str], **selectors: str) -> list[Object]:
    """Those of all namespaces, whichever are ours: KubeRay watches from where it likes."""
    try:
        return (await client.list(resource, None, **selectors)).items  # pyright: ignore[reportArgumentType]
    except Forbidden as error:
        if not namespaces:
            _log.warning("cannot look for KubeRay's operator: %s", error.message)
            return []
    watched = ", ".join(namespaces)
    _log.warning(
        "this account may not list %s in all namespaces: KubeRay's operator was searched in %s only; make sure that "
        "no other one watches %s",
        resource.plural,
        watched,
        watched,
    )
    found: list[Object] = []
    for namespace in namespaces:
        try:
            found += (await client.list(resource, namespace, **selectors)).items  # pyright: ignore[reportArgumentType]
        except Forbidden as error:
            _log.warning("cannot look for KubeRay's operator: %s", error.message)
    return found


def _namespace(found: Object) -> str:
    return as_str(as_dict(found.get("metadata")).get("namespace"))


def _name(found: Object) -> str:
    return as_str(as_dict(found.get("metadata")).get("name"))
