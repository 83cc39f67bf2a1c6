"""The playbook with the official Python client: `python -m tests.clients.official SAMPLES`."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from typing import Any, Final

from kubernetes import client, config, dynamic, watch
from kubernetes.client import ApiException
from kubernetes.dynamic.exceptions import DynamicApiError
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from tests.clients.steps import (
    ENDLESS,
    PATIENCE,
    SMALL_CONFIG,
    Object,
    active_cluster,
    has,
    has_workers,
    load,
    refused,
    tell,
)

_OPS: Final = "ops-tool"
_JSON: Final = "application/json-patch+json"
_MERGE: Final = "application/merge-patch+json"


class Playbook:
    """Every step once."""

    def __init__(self, samples: Path) -> None:
        config.load_kube_config()
        self._samples = samples
        self._namespace = config.list_kube_config_contexts()[1]["context"]["namespace"]
        self._api = client.ApiClient()
        self._core: Any = client.CoreV1Api(self._api)
        self._custom: Any = client.CustomObjectsApi(self._api)
        self._kinds: Any = dynamic.DynamicClient(self._api)

    def play(self) -> None:
        seen: Queue[str] = Queue()
        heads = self._informer(seen)
        try:
            self._patterns()
            self._clusters()
            self._services()
            self._jobs()
            self._watching()
            self._deletion()
            tell("informer", [seen.get(timeout=PATIENCE) for _ in ("made", "made again after the suspension")])
        finally:
            heads.stop()
        self._election()

    def _patterns(self) -> None:
        cluster = load(self._samples, "raycluster.yaml")[0]
        tell("1 server-side apply", self._apply(cluster, _OPS)["metadata"]["generation"])
        tell("1 applied again, nothing changes", self._apply(cluster, _OPS)["metadata"]["generation"])
        other = {**cluster, "spec": {"rayVersion": "2.61.0"}}
        tell("1 a field of another manager", self._refused(lambda: self._apply(other, "another-tool")))
        tell("1 the same by force", self._apply(other, "another-tool", force=True)["metadata"]["generation"])
        tell("1 taken back by force", self._apply(cluster, _OPS, force=True)["metadata"]["generation"])
        self._await("RayCluster", "demo", lambda found: has(found, "Ready"))
        labelled = self._merge("RayCluster", "demo", {"metadata": {"labels": {"owner": "platform"}}})
        tell("2 merge patch", labelled["metadata"]["labels"])
        cut = {"spec": {"workerGroupSpecs": [{"groupName": "small", "replicas": 3}]}}
        tell("2 a list is replaced as a whole", self._refused(lambda: self._merge("RayCluster", "demo", cut)))
        groups = "/spec/workerGroupSpecs/0"
        wrong = [{"op": "test", "path": f"{groups}/groupName", "value": "large"}]
        tell("3 a test that fails", self._refused(lambda: self._json("RayCluster", "demo", wrong)))
        read = self._get("RayCluster", "demo")
        self._merge("RayCluster", "demo", {"metadata": {"labels": {"meanwhile": "yes"}}})
        read["spec"]["suspend"] = False
        tell("4 replace of what was read before another write", self._refused(lambda: self._replace(read)))
        read = self._get("RayCluster", "demo")
        read["spec"]["suspend"] = False
        tell("4 read again and replaced", self._replace(read)["metadata"]["generation"])

    def _clusters(self) -> None:
        self._json("RayCluster", "demo", [{"op": "add", "path": "/spec/workerGroupSpecs/0/replicas", "value": 3}])
        self._await("RayCluster", "demo", lambda found: has_workers(found, 3))
        tell("B1 scaled", 3)
        env = [{"name": "RELEASE", "value": "2"}]
        template = "/spec/workerGroupSpecs/0/template/spec/containers/0/env"
        self._json("RayCluster", "demo", [{"op": "add", "path": template, "value": env}])
        changed = self._await("RayCluster", "demo", lambda found: has_workers(found, 3))
        tell("B2 another template", changed["metadata"]["generation"])
        self._merge("RayCluster", "demo", {"spec": {"suspend": True}})
        self._await("RayCluster", "demo", lambda found: has(found, "RayClusterSuspended"))
        tell("B3 suspended, pods left", len(self._pods("demo")))
        self._merge("RayCluster", "demo", {"spec": {"suspend": False}})
        self._await("RayCluster", "demo", lambda found: has(found, "HeadPodReady") and has_workers(found, 3))
        tell("B4 resumed, pods", len(self._pods("demo")))

    def _services(self) -> None:
        code, service = load(self._samples, "rayservice.yaml")
        self._apply(code, _OPS)
        self._apply(service, _OPS)
        first = active_cluster(self._await("RayService", "hello", lambda found: has(found, "Ready")))
        changed = {**service, "spec": {"serveConfigV2": SMALL_CONFIG}}
        tell("A4 a serve config of another manager", self._refused(lambda: self._apply(changed, "serve-config")))
        written = self._apply(changed, "serve-config", force=True)
        tell("A1 another serve config, kept as written", written["spec"]["serveConfigV2"] == SMALL_CONFIG)
        same = active_cluster(self._await("RayService", "hello", lambda found: has(found, "Ready")))
        tell("A1 without a new cluster", same == first)
        env = "/spec/rayClusterConfig/headGroupSpec/template/spec/containers/0/env/1/value"
        self._json("RayService", "hello", [{"op": "replace", "path": env, "value": "2"}])
        second = active_cluster(
            self._await(
                "RayService", "hello", lambda found: has(found, "Ready") and active_cluster(found) not in ("", first)
            )
        )
        tell("A2 another cluster spec", "a new cluster")
        self._await_gone("RayCluster", first)
        # deleted in the background: its pods follow
        while self._pods(first):
            threading.Event().wait(0.1)
        tell("A2 the old cluster goes, pods left", len(self._pods(first)))
        self._merge("RayService", "hello", {"spec": {"upgradeStrategy": {"type": "None"}}})
        fewer = SMALL_CONFIG.replace("num_replicas: 2", "num_replicas: 1")
        self._apply({**service, "spec": {"serveConfigV2": fewer}}, "serve-config")
        same = active_cluster(self._await("RayService", "hello", lambda found: has(found, "Ready")))
        tell("A3 in place", same == second)

    def _jobs(self) -> None:
        job = load(self._samples, "rayjob.yaml")[0]
        entrypoint, job["spec"]["entrypoint"] = job["spec"]["entrypoint"], ENDLESS
        self._apply(job, _OPS)
        self._await_job("jobStatus", "RUNNING")
        self._merge("RayJob", "hello", {"spec": {"suspend": True}})
        self._await_job("jobDeploymentStatus", "Suspended")
        self._merge("RayJob", "hello", {"spec": {"entrypoint": entrypoint}})
        self._merge("RayJob", "hello", {"spec": {"suspend": False}})
        ended = self._await_job("jobDeploymentStatus", "Complete")
        tell("C1 to C4 suspended, edited, resumed, ended", ended["status"]["jobStatus"])

    def _watching(self) -> None:
        since = self._get("RayCluster", "demo")["metadata"]["resourceVersion"]
        owners = ["ada", "grace", "barbara"]
        for owner in owners:
            self._merge("RayCluster", "demo", {"metadata": {"labels": {"owner": owner}}})
        seen: list[str] = []
        stream: Any = watch.Watch().stream(
            self._custom.list_namespaced_custom_object,
            "ray.io",
            "v1",
            self._namespace,
            "rayclusters",
            field_selector="metadata.name=demo",
            resource_version=since,
            timeout_seconds=PATIENCE,
        )
        for event in stream:
            owner = event["object"]["metadata"]["labels"]["owner"]
            seen += [owner] if owner not in seen else []
            if owner == owners[-1]:
                break
        tell("watch from a version", seen)
        listing = self._core.list_namespaced_config_map
        tell("a bad selector", self._refused(lambda: listing(self._namespace, label_selector="owner in (")))

    def _deletion(self) -> None:
        for kind, name in (("RayJob", "hello"), ("RayService", "hello"), ("RayCluster", "demo")):
            self._kind(kind).delete(name, self._namespace, body={"propagationPolicy": "Foreground"})
            self._await_gone(kind, name)
        tell("deleted in the foreground, pods left", len(self._pods("demo")))
        tell("read after deletion", self._refused(lambda: self._get("RayCluster", "demo")))

    def _election(self) -> None:
        def candidate(identity: str) -> LeaderElection:
            lock = LeaseLock("playbook", self._namespace, identity)
            return LeaderElection(Config(lock, 30, 20, 1, lambda: None, lambda: None))

        first, second = candidate("first"), candidate("second")
        told = [first.try_acquire_or_renew(), second.try_acquire_or_renew()]
        leases: Any = client.CoordinationV1Api(self._api)
        leases.patch_namespaced_lease("playbook", self._namespace, {"spec": {"holderIdentity": None}})
        told += [second.try_acquire_or_renew(), first.try_acquire_or_renew()]
        holder = leases.read_namespaced_lease("playbook", self._namespace).spec.holder_identity
        tell("leader election", (told, holder))

    def _informer(self, seen: Queue[str]) -> SharedInformer:
        """Of pods: it does not understand lists of custom objects."""
        selector = "ray.io/cluster=demo,ray.io/node-type=head"
        informer = SharedInformer(self._core.list_namespaced_pod, namespace=self._namespace, label_selector=selector)
        informer.add_event_handler("ADDED", lambda pod: seen.put(f"a head of {pod.metadata.labels['ray.io/cluster']}"))
        informer.start()
        return informer

    def _kind(self, kind: str) -> Any:
        version = "v1" if kind == "ConfigMap" else "ray.io/v1"
        return self._kinds.resources.get(api_version=version, kind=kind)

    def _get(self, kind: str, name: str) -> Object:
        return self._kind(kind).get(name, self._namespace).to_dict()

    def _exists(self, kind: str, name: str) -> bool:
        try:
            return bool(self._get(kind, name))
        except DynamicApiError as error:
            if error.status != 404:
                raise
            return False

    def _await_gone(self, kind: str, name: str) -> None:
        while self._exists(kind, name):
            threading.Event().wait(0.1)

    def _apply(self, body: Object, manager: str, *, force: bool = False) -> Object:
        applied = self._kind(body["kind"]).server_side_apply(
            body, namespace=self._namespace, field_manager=manager, force_conflicts=force
        )
        return applied.to_dict()

    def _merge(self, kind: str, name: str, patch: Object) -> Object:
        return self._kind(kind).patch(patch, name, self._namespace, content_type=_MERGE).to_dict()

    def _json(self, kind: str, name: str, patch: list[Object]) -> Object:
        return self._kind(kind).patch(patch, name, self._namespace, content_type=_JSON).to_dict()

    def _replace(self, body: Object) -> Object:
        return self._kind(body["kind"]).replace(body, namespace=self._namespace).to_dict()

    def _await(self, kind: str, name: str, holds: Callable[[Object], bool]) -> Object:
        for event in self._kind(kind).watch(
            namespace=self._namespace, field_selector=f"metadata.name={name}", timeout=PATIENCE
        ):
            if holds(event["raw_object"]):
                return event["raw_object"]
        raise TimeoutError(f"{kind} {name} did not become so: {self._get(kind, name)}")

    def _await_job(self, field: str, value: str) -> Object:
        return self._await("RayJob", "hello", lambda found: (found.get("status") or {}).get(field) == value)

    def _pods(self, cluster: str) -> list[Any]:
        return self._core.list_namespaced_pod(self._namespace, label_selector=f"ray.io/cluster={cluster}").items

    def _refused(self, write: Callable[[], object]) -> str:
        def said(error: Any) -> str:
            body = json.loads(error.body)
            return f"{error.status} {body['reason']}: {body['message']}"

        return refused(write, (ApiException, DynamicApiError), said)


if __name__ == "__main__":
    Playbook(Path(sys.argv[1])).play()
