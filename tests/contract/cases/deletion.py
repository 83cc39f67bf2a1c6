"""Deletion: propagation, grace, finalizers, preconditions, collections."""

from __future__ import annotations

from tests.contract.case import case, create, delete, get, merge, update
from tests.contract.objects import configmap, delete_options, job, lease, pod, raycluster, secret, service

_HELD = create("configmaps", configmap("c", finalizers=["example.com/hold"]))
_ON_NODE = create("pods", pod("p", nodeName="node-1"))

CASES = [
    case("background propagation removes at once", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(propagationPolicy="Background"))),
    case("foreground propagation leaves a finalizer", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(propagationPolicy="Foreground")), get("configmaps/c")),
    case("orphan propagation leaves a finalizer", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(propagationPolicy="Orphan")), get("configmaps/c")),
    case("propagation given in the query", create("configmaps", configmap("c")), delete("configmaps/c", propagationPolicy="Foreground")),
    case("options of body and query: the body counts", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(propagationPolicy="Orphan"), propagationPolicy="Background")),
    case("orphanDependents is the older word for it", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(orphanDependents=True))),
    case("orphanDependents and a policy together are refused", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(orphanDependents=True, propagationPolicy="Orphan"))),
    case("an unknown policy is refused", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(propagationPolicy="Sideways")), delete("configmaps/c", propagationPolicy="Sideways")),
    case("the default policy of a Job orphans", create("jobs", job("j")), delete("jobs/j"), get("jobs/j")),
    case("the policy can be changed while deletion waits", _HELD, delete("configmaps/c", delete_options(propagationPolicy="Foreground")), delete("configmaps/c", delete_options(propagationPolicy="Orphan")), delete("configmaps/c", delete_options(propagationPolicy="Background"))),
    case("a finalizer of the orphan kind set by hand", create("configmaps", configmap("c", finalizers=["orphan"])), delete("configmaps/c"), delete("configmaps/c", delete_options(propagationPolicy="Background"))),
    case("an object with a finalizer is marked and stays until it is removed", _HELD, delete("configmaps/c"), get("configmaps/c"), delete("configmaps/c"), merge("configmaps/c", {"data": {"a": "2"}}), merge("configmaps/c", {"metadata": {"finalizers": None}}), get("configmaps/c")),
    case("no finalizer may be added to what is being deleted", _HELD, delete("configmaps/c"), merge("configmaps/c", {"metadata": {"finalizers": ["example.com/hold", "example.com/late"]}})),
    case("one of two finalizers may be removed", create("configmaps", configmap("c", finalizers=["example.com/a", "example.com/b"])), delete("configmaps/c"), merge("configmaps/c", {"metadata": {"finalizers": ["example.com/b"]}}), merge("configmaps/c", {"metadata": {"finalizers": []}})),
    case("removing the last finalizer by update", _HELD, delete("configmaps/c"), update("configmaps/c", configmap("c")), get("configmaps/c")),
    case("finalizers need a domain", create("configmaps", configmap("c", finalizers=["hold"])), create("configmaps", configmap("d", finalizers=["Not A Name/x"])), create("configmaps", configmap("e", finalizers=["orphan", "foregroundDeletion"]))),
    case("deletion of a custom object with a finalizer raises its generation", create("rayclusters", raycluster("r", metadata={"finalizers": ["example.com/hold"]})), delete("rayclusters/r"), merge("rayclusters/r", {"metadata": {"finalizers": None}}), get("rayclusters/r")),
    case("preconditions: the right uid and resource version", create("configmaps", configmap("c")).keeping(uid="metadata.uid", rv="metadata.resourceVersion"), delete("configmaps/c", delete_options(preconditions={"uid": "{uid}", "resourceVersion": "{rv}"}))),
    case("preconditions: a wrong uid", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(preconditions={"uid": "11111111-1111-1111-1111-111111111111"})), get("configmaps/c")),
    case("preconditions: a wrong resource version", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(preconditions={"resourceVersion": "1"}))),
    case("dry run deletes nothing", create("configmaps", configmap("c")), delete("configmaps/c", dryRun="All"), delete("configmaps/c", delete_options(dryRun=["All"])), get("configmaps/c")),
    case("dry run of an object with a finalizer shows the mark", _HELD, delete("configmaps/c", dryRun="All"), get("configmaps/c")),
    case("options that are no options are refused", create("configmaps", configmap("c")), delete("configmaps/c", configmap("c"))),
    case("options with an unknown field", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(speed="fast"))),
    case("options without a kind", create("configmaps", configmap("c")), delete("configmaps/c", {"propagationPolicy": "Foreground"})),
    case("options that are no JSON are refused", create("configmaps", configmap("c")), delete("configmaps/c", "{")),
    case("options of a group's version", create("leases", lease("l")), delete("leases/l", {"apiVersion": "coordination.k8s.io/v1", "kind": "DeleteOptions"})),
    case("options of a version that does not exist", create("leases", lease("l")), delete("leases/l", {"apiVersion": "v9", "kind": "DeleteOptions"})),
    case("a negative grace period", create("configmaps", configmap("c")), delete("configmaps/c", delete_options(gracePeriodSeconds=-1))),
    case("a grace period that is no number is refused", create("configmaps", configmap("c")), delete("configmaps/c", gracePeriodSeconds="x"), delete("configmaps/c", delete_options(gracePeriodSeconds="x"))),
    case("a Pod without a node is removed at once", create("pods", pod("p")), delete("pods/p"), get("pods/p")),
    case("a Pod on a node is given its grace period", _ON_NODE, delete("pods/p"), get("pods/p"), delete("pods/p", delete_options(gracePeriodSeconds=0)), get("pods/p")),
    case("a Pod's grace period can be shortened, never lengthened", _ON_NODE, delete("pods/p", delete_options(gracePeriodSeconds=20)), delete("pods/p", delete_options(gracePeriodSeconds=60)), delete("pods/p", delete_options(gracePeriodSeconds=10)), delete("pods/p", gracePeriodSeconds=0)),
    case("a Pod's own grace period is the default", create("pods", pod("p", nodeName="n", terminationGracePeriodSeconds=7)), delete("pods/p")),
    case("a Pod's grace period below zero is one second", create("pods", pod("p", nodeName="n")), delete("pods/p", delete_options(gracePeriodSeconds=-5))),
    case("a Pod that has ended is removed at once", _ON_NODE, merge("pods/p/status", {"status": {"phase": "Succeeded"}}), delete("pods/p"), get("pods/p")),
    case("a Pod with a finalizer and no node", create("pods", pod("p", metadata={"finalizers": ["example.com/hold"]})), delete("pods/p"), merge("pods/p", {"metadata": {"finalizers": None}}), get("pods/p")),
    case("a Pod with a finalizer on a node waits for both", create("pods", pod("p", nodeName="n", metadata={"finalizers": ["example.com/hold"]})), delete("pods/p"), merge("pods/p", {"metadata": {"finalizers": None}}), get("pods/p"), delete("pods/p", gracePeriodSeconds=0)),
    case("a Pod on a node deleted in the foreground", _ON_NODE, delete("pods/p", delete_options(propagationPolicy="Foreground")), delete("pods/p", delete_options(gracePeriodSeconds=0)), get("pods/p")),
    case("a Pod's dry run shows its grace period", _ON_NODE, delete("pods/p", dryRun="All"), get("pods/p").only_of("metadata.deletionTimestamp")),
    case("a Service answers with a Status", create("services", service("s")), delete("services/s"), get("services/s")),
    case("deleting a collection returns what was deleted", create("leases", lease("a")), create("leases", lease("b")), delete("leases"), get("leases")),
    case("deleting a collection by label", create("secrets", secret("a", labels={"x": "1"})), create("secrets", secret("b", labels={"x": "2"})), delete("secrets", labelSelector="x=1"), get("secrets").only_of("items[0].metadata.name", "items[1]")),
    case("deleting a collection by field", create("leases", lease("a")), create("leases", lease("b")), delete("leases", fieldSelector="metadata.name=b"), get("leases").only_of("items[0].metadata.name", "items[1]")),
    case("deleting an empty collection", delete("leases")),
    case("deleting a collection with a bad selector is refused", create("leases", lease("a")), delete("leases", labelSelector="a=="), delete("leases", labelSelector="a=b=c")),
    case("deleting a collection keeps what has a finalizer", create("secrets", secret("a", finalizers=["example.com/hold"])), create("secrets", secret("b")), delete("secrets"), get("secrets"), merge("secrets/a", {"metadata": {"finalizers": None}})),
    case("deleting a collection of a custom kind", create("rayclusters", raycluster("a")), create("rayclusters", raycluster("b")), delete("rayclusters"), get("rayclusters")),
    case("dry run of deleting a collection", create("leases", lease("a")), delete("leases", dryRun="All"), get("leases").only_of("items[0].metadata.name")),
    case("deleting a collection with a limit", *[create("leases", lease(name)) for name in "abc"], delete("leases", limit=2).only_of("metadata", "items[0].metadata.name", "items[2].metadata.name"), get("leases").only_of("items[0].metadata.name")),
    case("a name can be used again after deletion", create("configmaps", configmap("c")), delete("configmaps/c"), create("configmaps", configmap("c"))),
    case("a create of a name that is being deleted is refused", _HELD, delete("configmaps/c"), create("configmaps", configmap("c")), merge("configmaps/c", {"metadata": {"finalizers": None}})),
]
