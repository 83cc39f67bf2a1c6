"""delete with its cascades, wait, finalizers, namespaces."""

from __future__ import annotations

from typing import Any

from tests.contract.kubectl.session import Command, manifests, patch, run, session, status, watched
from tests.contract.objects import configmap, job, pod, service


def _child(name: str, *, block: bool = False) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "{uid}", "blockOwnerDeletion": block}
    return configmap(name, labels={"child": "yes"}, ownerReferences=[owner])


def _family(block: bool = False) -> list[Command]:
    return [
        run("create configmap owner --from-literal=a=1"),
        run("get cm owner -o jsonpath={.metadata.uid}").keeping("uid").showing("nothing"),
        run("create -f -").with_stdin(_child("one", block=block), _child("two", block=block)),
        # The garbage collector must have seen the children before their owner goes.
        run("wait --for=create cm/two --timeout=5s"),
    ]


SESSIONS = [
    session(
        "delete: cascade in the background",
        *_family(),
        "delete cm owner --cascade=background",
        run("wait --for=delete cm -l child=yes --timeout=30s").showing("nothing"),
        "get cm -l child=yes",
    ),
    session(
        "delete: cascade in the foreground",
        *_family(block=True),
        "delete cm owner --cascade=foreground",
        "get cm owner",
        "get cm -l child=yes",
    ),
    session(
        "delete: orphans",
        *_family(),
        "delete cm owner --cascade=orphan",
        "get cm owner",
        "get cm -l child=yes",
        "get cm one -o jsonpath='{.metadata.ownerReferences}'",
    ),
    session(
        "delete: the default cascade",
        *_family(),
        "delete cm owner",
        run("wait --for=delete cm -l child=yes --timeout=30s").showing("nothing"),
        "get cm -l child=yes",
    ),
    session(
        "delete: a child whose owner never was",
        run("create -f -")
        .with_stdin(
            configmap(
                "c",
                ownerReferences=[
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "name": "nobody",
                        "uid": "11111111-1111-1111-1111-111111111111",
                    }
                ],
            )
        )
        .showing("nothing"),
        "wait --for=delete cm/c --timeout=30s",
        "get cm c",
    ),
    session(
        "delete: a Job and its cascade",
        run("create -f -").with_stdin(job("j")),
        "delete job j",
        "get job j",
        run("create -f -").with_stdin(job("j")),
        "delete job j --cascade=orphan",
    ),
    session(
        "delete: many ways to name it",
        run("create -f -").with_stdin(*[configmap(name, labels={"x": "y"}) for name in "abcdefgh"]),
        "delete cm a b",
        "delete cm/c",
        "delete -f f.yaml",
        "delete cm nothing",
        "delete cm nothing --ignore-not-found",
        "delete cm e -o name",
        "delete cm f --dry-run=server",
        "delete cm f --dry-run=client",
        "delete cm -l x=y",
        "delete cm -l x=y",
        "delete nonsense x",
        "delete cm",
        "get cm -l x=y",
        files={"f.yaml": manifests(configmap("d"))},
    ),
    session(
        "delete: all of a kind",
        run("create -f -").with_stdin(service("s"), service("t")),
        "delete svc --all",
        "get svc",
        "delete secrets --all --field-selector=metadata.name=none",
    ),
    session(
        "delete: Pods with and without grace",
        run("create -f -").with_stdin(pod("p"), pod("q", nodeName="node-1"), pod("r", nodeName="node-1")),
        "delete pod p",
        "delete pod q --wait=false",
        "get pod q",
        "delete pod q --force --grace-period=0",
        "delete pod r --now --wait=false",
        "delete pod r --grace-period=0 --force",
        "get pods",
    ),
    session(
        "delete: finalizers hold",
        run("create -f -").with_stdin(configmap("c", finalizers=["example.com/hold"])),
        "delete cm c --wait=false",
        "delete cm c --timeout=1s",
        "get cm c -o jsonpath='{.metadata.finalizers}'",
        patch("cm c", {"metadata": {"finalizers": None}}),
        "get cm c",
    ),
    session(
        "delete: raw",
        run("create configmap c"),
        run("delete --raw /api/v1/namespaces/{ns}/configmaps/c").showing("nothing"),
        "delete --raw /api/v1/namespaces/{ns}/configmaps/c",
    ),
    session(
        "delete: a namespace and what is in it",
        "create namespace x-{ns}",
        "create configmap c -n x-{ns} --from-literal=a=1",
        run("create -n x-{ns} -f -").with_stdin(service("s"), configmap("d")),
        "delete namespace x-{ns}",
        "get namespace x-{ns}",
        "get cm c -n x-{ns}",
        "create configmap late -n x-{ns}",
    ),
    session(
        "delete: a namespace that waits for a finalizer",
        "create namespace x-{ns}",
        run("create -n x-{ns} -f -").with_stdin(configmap("c", finalizers=["example.com/hold"])),
        "delete namespace x-{ns} --wait=false",
        "wait --for=jsonpath='{.status.phase}'=Terminating ns/x-{ns} --timeout=10s",
        "create configmap late -n x-{ns}",
        patch("cm c -n x-{ns}", {"metadata": {"finalizers": None}}),
        # it says so only if the namespace was still there when it was asked
        run("wait --for=delete ns/x-{ns} --timeout=40s").showing("nothing"),
        "get ns x-{ns}",
    ),
    session(
        "delete: protected namespaces",
        "delete namespace default",
        "delete namespace kube-system",
        "delete namespace nothing-here",
    ),
    session(
        "wait",
        run("create -f -").with_stdin(pod("p")),
        "wait --for=condition=Ready pod/p --timeout=1s",
        status("pod p", conditions=[{"type": "Ready", "status": "True"}]),
        "wait --for=condition=Ready pod/p --timeout=5s",
        "wait --for=condition=Ready=False pod/p --timeout=1s",
        "wait --for=jsonpath='{.status.phase}'=Pending pod/p",
        "wait --for=create pod/p",
        "wait --for=delete pod/nothing",
        "wait --for=delete pod/p --timeout=1s",
        "wait --for=condition=Ready pod/nothing",
        "wait --for=condition=Ready pods --all --timeout=5s",
        "wait --for=nonsense pod/p",
        "wait --for=condition=Ready pods -l none=here",
    ),
    session(
        "wait: for what happens meanwhile",
        run("create configmap c"),
        watched("get cm c -w -o name", 2, "label cm c a=b"),
        "wait --for=jsonpath='{.metadata.labels.a}'=b cm/c --timeout=5s",
    ),
]
