"""The playbook with kr8s, as far as it has verbs for it: `python -m tests.clients.with_kr8s SAMPLES`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import kr8s
from kr8s.objects import ConfigMap, Pod, new_class

from tests.clients.steps import ENDLESS, PATIENCE, Object, active_cluster, has, has_workers, load, refused, tell

_CLUSTER: Final[Any] = new_class(kind="RayCluster", version="ray.io/v1", namespaced=True, plural="rayclusters")
_SERVICE: Final[Any] = new_class(kind="RayService", version="ray.io/v1", namespaced=True, plural="rayservices")
_LEASE: Final[Any] = new_class(kind="Lease", version="coordination.k8s.io/v1", namespaced=True)
_JOB: Final[Any] = new_class(kind="RayJob", version="ray.io/v1", namespaced=True, plural="rayjobs")


def main(samples: Path) -> None:
    """Every step that kr8s has a verb for, once."""
    cluster: Any = _CLUSTER(load(samples, "raycluster.yaml")[0])
    _patterns(cluster)
    _clusters(cluster)
    _services(samples)
    _jobs(samples)
    _watching(cluster)
    cluster.delete(propagation_policy="Foreground")
    cluster.wait("delete", timeout=PATIENCE)
    tell("deleted in the foreground, pods left", len(_pods()))
    tell("read after deletion", cluster.exists())
    _lease()


def _patterns(cluster: Any) -> None:
    cluster.create()
    _await(cluster, lambda found: has(found, "Ready"))
    tell("made", cluster.metadata.generation)
    tell("made again", _refused(cluster.create))
    cluster.patch({"metadata": {"labels": {"owner": "platform"}}})
    tell("2 merge patch", dict(cluster.labels))
    cut = {"spec": {"workerGroupSpecs": [{"groupName": "small", "replicas": 3}]}}
    tell("2 a list is replaced as a whole", _refused(lambda: cluster.patch(cut)))
    wrong = [{"op": "test", "path": "/spec/workerGroupSpecs/0/groupName", "value": "large"}]
    tell("3 a test that fails", _refused(lambda: cluster.patch(wrong, type="json")))
    stale = {"metadata": {"resourceVersion": "1", "labels": {"owner": "nobody"}}}
    tell("4 a version of long ago", _refused(lambda: cluster.patch(stale)))
    cluster.annotate({"kubectl.kubernetes.io/restartedAt": "2025-08-26T00:00:00Z"})
    tell("tip: an annotation makes no generation", cluster.metadata.generation)


def _clusters(cluster: Any) -> None:
    cluster.patch([{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 3}], type="json")
    _await(cluster, lambda found: has_workers(found, 3))
    tell("B1 scaled", cluster.raw["status"]["readyWorkerReplicas"])
    env = [{"name": "RELEASE", "value": "2"}]
    template = "/spec/workerGroupSpecs/0/template/spec/containers/0/env"
    cluster.patch([{"op": "add", "path": template, "value": env}], type="json")
    _await(cluster, lambda found: has_workers(found, 3))
    tell("B2 another template", cluster.metadata.generation)
    cluster.patch({"spec": {"suspend": True}})
    _await(cluster, lambda found: has(found, "RayClusterSuspended"))
    tell("B3 suspended, pods left", len(_pods()))
    cluster.patch({"spec": {"suspend": False}})
    _await(cluster, lambda found: has_workers(found, 3))
    cluster.wait("condition=HeadPodReady", timeout=PATIENCE)
    pods = _pods()
    for pod in pods:
        pod.wait("condition=Ready", timeout=PATIENCE)
    tell("B4 resumed, pods ready", len(pods))


def _services(samples: Path) -> None:
    code, body = load(samples, "rayservice.yaml")
    ConfigMap(code).create()
    service = _SERVICE(body)
    service.create()
    first = active_cluster(_await(service, lambda found: has(found, "Ready")))
    changed = body["spec"]["serveConfigV2"].replace("import_path", "runtime_env: {}\n    import_path")
    service.patch({"spec": {"serveConfigV2": changed}})
    same = active_cluster(_await(service, lambda found: has(found, "Ready")))
    tell("A1 another serve config, kept as written", service.raw["spec"]["serveConfigV2"] == changed)
    tell("A1 without a new cluster", same == first)
    env = "/spec/rayClusterConfig/headGroupSpec/template/spec/containers/0/env/1/value"
    service.patch([{"op": "replace", "path": env, "value": "2"}], type="json")
    upgraded = _await(service, lambda found: has(found, "Ready") and active_cluster(found) not in ("", first))
    tell("A2 another cluster spec", "a new cluster")
    if (old := _CLUSTER({"metadata": {"name": first, "namespace": service.namespace}})).exists():
        old.wait("delete", timeout=PATIENCE)
    # deleted in the background: its pods follow
    for pod in _pods(first):
        pod.wait("delete", timeout=PATIENCE)
    tell("A2 the old cluster goes, pods left", len(_pods(first)))
    service.patch({"spec": {"upgradeStrategy": {"type": "None"}}})
    service.patch({"spec": {"serveConfigV2": changed.replace("import_path", "# in place\n    import_path")}})
    same = active_cluster(_await(service, lambda found: has(found, "Ready")))
    tell("A3 in place", same == active_cluster(upgraded))
    service.delete(propagation_policy="Foreground")
    service.wait("delete", timeout=PATIENCE)


def _jobs(samples: Path) -> None:
    body = load(samples, "rayjob.yaml")[0]
    entrypoint, body["spec"]["entrypoint"] = body["spec"]["entrypoint"], ENDLESS
    job = _JOB(body)
    job.create()
    _await(job, lambda found: (found.get("status") or {}).get("jobStatus") == "RUNNING")
    job.patch({"spec": {"suspend": True}})
    job.wait("jsonpath='{.status.jobDeploymentStatus}'=Suspended", timeout=PATIENCE)
    job.patch({"spec": {"entrypoint": entrypoint}})
    job.patch({"spec": {"suspend": False}})
    job.wait("jsonpath='{.status.jobDeploymentStatus}'=Complete", timeout=PATIENCE)
    tell("C1 to C4 suspended, edited, resumed, ended", job.raw["status"]["jobStatus"])
    job.delete(propagation_policy="Foreground")
    job.wait("delete", timeout=PATIENCE)


def _watching(cluster: Any) -> None:
    owners = ["ada", "grace", "barbara"]
    seen: list[str] = []
    for _, found in kr8s.watch("rayclusters.ray.io", namespace=cluster.namespace):
        owner = found.labels.get("owner", "")
        seen += [owner] if found.name == "demo" and owner not in seen else []
        if seen[-1:] == owners[-1:]:
            break
        if seen and owner == seen[-1] and len(seen) <= len(owners):
            cluster.label({"owner": owners[len(seen) - 1]})
    tell("watch", seen)
    selector = _refused(lambda: list(kr8s.get("pods", namespace=cluster.namespace, label_selector="owner in (")))
    tell("a bad selector", selector)


def _lease() -> None:
    """A candidate by hand: kr8s has no leader election."""
    lease: Any = _LEASE(
        {"metadata": {"name": "playbook"}, "spec": {"holderIdentity": "first", "leaseDurationSeconds": 15}}
    )
    lease.create()
    late = {"metadata": {"resourceVersion": lease.metadata.resourceVersion}, "spec": {"holderIdentity": "third"}}
    lease.patch({"spec": {"holderIdentity": "second", "leaseTransitions": 1}})
    tell("a lease that somebody else has taken", _refused(lambda: lease.patch(late)))
    lease.refresh()
    tell("its holder", lease.spec.holderIdentity)


def _pods(cluster: str = "demo") -> list[Any]:
    return list(Pod.list(label_selector={"ray.io/cluster": cluster}))  # pyright: ignore[reportArgumentType]


def _await(found: Any, holds: Callable[[Object], bool]) -> Object:
    found.refresh()
    if not holds(found.raw.to_dict()):
        for _, event in found.watch():
            if holds(event.raw.to_dict()):
                break
    found.refresh()
    return found.raw.to_dict()


def _refused(write: Callable[[], object]) -> str:
    def said(error: Any) -> str:
        body: Object = json.loads(error.response.text)
        return f"{body['code']} {body['reason']}: {body['message']}"

    return refused(write, (kr8s.ServerError,), said)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
