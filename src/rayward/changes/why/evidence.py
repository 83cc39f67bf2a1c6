"""What the API server knows of an object and its children, gathered once and read by every rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rayward.changes import writing
from rayward.changes.judging import Verdict, judge
from rayward.changes.refs import Ref
from rayward.changes.revisions import OWNER, Revision, read_revisions
from rayward.changes.steps import Operation, Send
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, WORKLOADS
from rayward.kube.client import errors, verbs
from rayward.kube.core.resource import CONTROLLER_REVISIONS, EVENTS, PODS, Resource
from rayward.kube.machinery.jsonvalue import Object, entries, section

_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Evidence:
    """An object, its RayClusters, their pods, and what was said about any of them.

    Attributes:
        ref: The object.
        object: It as it is.
        clusters: The RayClusters that a RayService or RayJob made; of a RayCluster itself alone.
        pods: The pods of those, heads first.
        events: Warnings about any of these, the newest last.
        workloads: Kueue's Workloads of any of these.
        revisions: Of a RayCluster what was asked for before.
    """

    ref: Ref
    object: Object
    clusters: tuple[Object, ...] = ()
    pods: tuple[Object, ...] = ()
    events: tuple[Object, ...] = ()
    workloads: tuple[Object, ...] = ()
    revisions: tuple[Revision, ...] = ()

    @property
    def spec(self) -> Object:
        """What was asked for."""
        return section(self.object, "spec")

    @property
    def status(self) -> Object:
        """What its operator says."""
        return section(self.object, "status")

    @property
    def metadata(self) -> Object:
        return section(self.object, "metadata")

    @property
    def serving(self) -> Object | None:
        """The spec of the RayCluster that serves a RayService."""
        active = section(self.status, "activeServiceStatus").get("rayClusterName")
        return next((section(one, "spec") for one in self.clusters if active and _name(one) == active), None)

    def condition(self, kind: str, of: Object | None = None) -> Object:
        """A condition of the object, or of another one; empty where it has none."""
        found = entries(section(self.object if of is None else of, "status"), "conditions")
        nothing: Object = {}
        return next((one for one in found if one.get("type") == kind), nothing)

    def containers(self) -> Iterator[tuple[Object, Object]]:
        """Each pod with the status of each of its containers, those that initialise it first."""
        for pod in self.pods:
            status = section(pod, "status")
            for container in (*entries(status, "initContainerStatuses"), *entries(status, "containerStatuses")):
                yield pod, container

    def document(self) -> Object:
        """All of it, for programs and for a cause that no rule knows."""
        return {
            "object": self.object,
            "clusters": list(self.clusters),
            "pods": list(self.pods),
            "events": list(self.events),
            "workloads": list(self.workloads),
        }


def gather(ref: Ref) -> Operation[Evidence]:
    """Read an object and what belongs to it; what may not be read is left out.

    Raises:
        NotFound: The object is not there.
    """
    live = yield from writing.read(ref)
    clusters = yield from _clusters(ref, live)
    names = [str(section(one, "metadata").get("name")) for one in clusters]
    pods: list[Object] = []
    if names:
        selector = f"{labels.CLUSTER} in ({','.join(names)})"
        pods = yield from _listed(PODS, ref.namespace, selector)
    pods.sort(key=lambda pod: (_label(pod, labels.NODE_TYPE) != labels.HEAD, _name(pod)))
    events = yield from events_about(ref, Evidence(ref, live, tuple(clusters), tuple(pods)))
    warnings = [one for one in events if one.get("type") == "Warning"]
    workloads = yield from _listed(WORKLOADS, ref.namespace, "")
    uids = {section(one, "metadata").get("uid") for one in (live, *clusters)}
    owned = [
        one
        for one in workloads
        if any(owner.get("uid") in uids for owner in entries(section(one, "metadata"), "ownerReferences"))
    ]
    stored: list[Object] = []
    if ref.kind == "RayCluster":
        uid = section(live, "metadata").get("uid")
        stored = yield from _listed(CONTROLLER_REVISIONS, ref.namespace, f"{OWNER}={uid}")
    known = read_revisions(stored)
    return Evidence(ref, live, tuple(clusters), tuple(pods), tuple(warnings), tuple(owned), known)


def judged(evidence: Evidence) -> Verdict:
    """How far the object is."""
    generation = int(evidence.metadata.get("generation") or 0)
    return judge(
        evidence.ref.kind, evidence.object, generation, evidence.serving, evidence.pods, revisions=evidence.revisions
    )


def events_about(ref: Ref, evidence: Evidence) -> Operation[list[Object]]:
    """Every event about an object, its clusters and their pods, the newest last."""
    about = {_name(one) for one in (evidence.object, *evidence.clusters, *evidence.pods)}
    events = yield from _listed(EVENTS, ref.namespace, "")
    found = [one for one in events if section(one, "involvedObject").get("name") in about]
    return sorted(found, key=lambda one: str(one.get("lastTimestamp") or one.get("eventTime") or ""))


def _clusters(ref: Ref, live: Object) -> Operation[list[Object]]:
    if ref.kind == "RayCluster":
        return [live]
    found = yield from _listed(RAY_CLUSTERS, ref.namespace, "")
    uid, named = section(live, "metadata").get("uid"), section(live, "status").get("rayClusterName")
    return [
        one
        for one in found
        if _name(one) == named
        or any(owner.get("uid") == uid for owner in entries(section(one, "metadata"), "ownerReferences"))
    ]


def _listed(resource: Resource, namespace: str, selector: str) -> Operation[list[Object]]:
    listed: list[Object] = []
    limit, token = _PAGE, ""
    while True:
        try:
            request = verbs.list_(resource, namespace, label_selector=selector, limit=limit, continue_token=token)
            found: Object = yield Send(request)
        except (errors.NotFound, errors.Forbidden):
            # a kind that is not installed, or that the user may not see
            return listed
        except errors.Gone:
            # the version that the pages are of is compacted: all of it at once
            listed, limit, token = [], 0, ""
            continue
        listed += entries(found, "items")
        token = str(section(found, "metadata").get("continue") or "")
        if not token:
            return listed


def _name(obj: Object) -> str:
    return str(section(obj, "metadata").get("name") or "")


def _label(obj: Object, name: str) -> str:
    return str(section(section(obj, "metadata"), "labels").get(name) or "")
