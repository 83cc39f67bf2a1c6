"""A RayService of the samples with real Ray: how to change it, and what it says of itself."""

from __future__ import annotations

import copy
import json
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

import yaml

from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.watch import Change, ChangeType
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import PODS, SERVICES
from rayward.local.addresses import ShellAddress, shell_addresses_of
from tests.ray.stack import PATIENCE, SAMPLES, RayStack, ends_soon
from tests.waiting import eventually

Object = dict[str, Any]

_GROUPS: Final = ("/headGroupSpec", "/workerGroupSpecs/0")
_WISHES: Final = ("serve-config-upgrade", "pause", "promote", "abort", "progress-deadline")


class HelloService:
    """The service of ``samples/rayservice.yaml`` under a name of its own.

    Args:
        stack: Where it runs.
        name: Its name.
        modules: More modules for its code, by file name.
        cluster: Fields of the cluster's spec that are other than in the sample.
        labels: Its labels.
        spec: Fields of the spec that are other than in the sample.

    Attributes:
        release: The last release that was seen to serve.
    """

    def __init__(
        self,
        stack: RayStack,
        name: str,
        modules: Mapping[str, str] | None = None,
        cluster: Object | None = None,
        labels: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> None:
        self.stack = stack
        self.name = name
        self.release = "1"
        self._origin = f"ray.io/originated-from-cr-name={name}"
        code, manifest = yaml.safe_load_all((SAMPLES / "rayservice.yaml").read_text())
        code["data"] |= modules or {}
        manifest["metadata"] |= {"name": name, "labels": dict(labels or {})}
        manifest["spec"] |= spec
        manifest["spec"]["rayClusterConfig"] |= cluster or {}
        ends_soon(manifest["spec"]["rayClusterConfig"])
        self._first: Object = manifest["spec"]
        stack.apply(code, manifest)

    def set_release(self, release: str, **spec: Any) -> None:
        """Ask for another cluster: its pods are told another release."""
        self._set_containers("env/1/value", release, spec)

    def set_image(self, image: str) -> None:
        """Ask for another cluster: its pods have another image."""
        self._set_containers("image", image, {})

    def _set_containers(self, field: str, value: str, spec: Mapping[str, Any]) -> None:
        operations: list[Object] = [
            {
                "op": "replace",
                "path": f"/spec/rayClusterConfig{group}/template/spec/containers/0/{field}",
                "value": value,
            }
            for group in _GROUPS
        ]
        operations += [{"op": "add", "path": f"/spec/{name}", "value": value} for name, value in spec.items()]
        self.stack.client.patch(RAY_SERVICES, self.name, operations, PatchType.JSON, "default")

    def set(self, **spec: Any) -> None:
        """Change fields of the spec."""
        self.stack.client.patch(RAY_SERVICES, self.name, {"spec": spec}, PatchType.MERGE, "default")

    def annotate(self, **annotations: str | None) -> None:
        """Set annotations under rayward.dev; None takes one away."""
        named = {f"rayward.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
        change = {"metadata": {"annotations": named}}
        self.stack.client.patch(RAY_SERVICES, self.name, change, PatchType.MERGE, "default")

    def restore(self) -> None:
        """Ask for what it was made with, of the release that served last, and wait until nothing else is left."""
        spec: Object = {"suspend": None, **copy.deepcopy(self._first)}
        config: Object = spec["rayClusterConfig"]
        config["suspend"] = None
        for group in (config["headGroupSpec"], *config["workerGroupSpecs"]):
            group["template"]["spec"]["containers"][0]["env"][1]["value"] = self.release
        wishes = dict.fromkeys(f"rayward.dev/{name}" for name in _WISHES)
        change = {"metadata": {"annotations": wishes}, "spec": spec}
        self.stack.client.patch(RAY_SERVICES, self.name, change, PatchType.MERGE, "default")
        self.is_alone()

    @property
    def status(self) -> Object:
        """What it says of itself."""
        return self.stack.client.get(RAY_SERVICES, self.name, "default").get("status") or {}

    def condition(self, kind: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition, as far as it speaks of the spec that is asked for now."""
        whole = self.stack.client.get(RAY_SERVICES, self.name, "default")
        for found in (whole.get("status") or {}).get("conditions") or ():
            if found["type"] == kind and found.get("observedGeneration") == whole["metadata"]["generation"]:
                return found["status"], found["reason"], found.get("message", "")
        return "", "", ""

    @property
    def ready(self) -> bool:
        """Whether it serves, whichever generation that is."""
        conditions = self.status.get("conditions") or ()
        return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)

    @property
    def active(self) -> str:
        """The cluster that serves."""
        return (self.status.get("activeServiceStatus") or {}).get("rayClusterName", "")

    @property
    def led_to(self) -> str:
        """The cluster that new requests go to."""
        service = self.stack.client.get(SERVICES, f"{self.name}-serve-svc", "default")
        return service["spec"]["selector"]["ray.io/cluster"]

    def is_busy(self, cluster: str) -> bool:
        """Whether pods of a cluster take requests or still owe answers, as the proxy in front of them tells."""
        annotations = self.stack.client.get(SERVICES, f"{self.name}-serve-svc", "default")["metadata"]["annotations"]
        named = ",".join(annotations.get(f"rayward.dev/{kind}", "") for kind in ("serving", "draining"))
        return any(pod.startswith(f"{cluster}-") for pod in named.split(","))

    def clusters(self) -> set[str]:
        """The clusters there are, those on their way out left aside."""
        found = self.stack.client.list(RAY_CLUSTERS, "default", label_selector=self._origin).items
        return {cluster["metadata"]["name"] for cluster in found if "deletionTimestamp" not in cluster["metadata"]}

    def end_deletion_delay(self, cluster: str) -> None:
        """Have a replaced cluster deleted now."""
        change = {"metadata": {"annotations": {"rayward.dev/delete-at": "2000-01-01T00:00:00Z"}}}
        self.stack.client.patch(RAY_CLUSTERS, cluster, change, PatchType.MERGE, "default")

    @property
    def moment(self) -> str:
        """A point in the history of clusters, for ``made_since``."""
        return self.stack.client.list(RAY_CLUSTERS, "default", label_selector=self._origin).resource_version

    @property
    def version(self) -> str:
        """Its version now, for ``written_since``."""
        return self.stack.client.get(RAY_SERVICES, self.name, "default")["metadata"]["resourceVersion"]

    def written_since(self, version: str) -> list[RayService]:
        """Every version of it after that one."""
        named = f"metadata.name={self.name}"
        with self.stack.client.watch(
            RAY_SERVICES, RayService, "default", resource_version=version, timeout_seconds=1, field_selector=named
        ) as changes:
            return [change.object for change in changes if isinstance(change, Change)]

    def made_since(self, moment: str) -> list[str]:
        """The clusters that were made for it, whether they are still there or not. Events tell no such thing: of one
        object they are only so many."""
        with self.stack.client.watch(
            RAY_CLUSTERS, KubeObject, "default", resource_version=moment, timeout_seconds=1, label_selector=self._origin
        ) as changes:
            return [
                change.object.metadata.name
                for change in changes
                if isinstance(change, Change) and change.type is ChangeType.ADDED
            ]

    @property
    def address(self) -> ShellAddress:
        """Where it answers in a shell."""
        service = self.stack.client.get(SERVICES, f"{self.name}-serve-svc", "default")
        return next(found for found in shell_addresses_of(service) if found.name == "serve")

    def answer(self) -> Object:
        """One answer."""
        with urllib.request.urlopen(f"http://{self.address}/", timeout=30) as answer:
            return json.load(answer)

    def is_available(self) -> None:
        """Wait until what is asked for now serves."""
        eventually(lambda: self.condition("Progressing")[1] == "NewReleaseAvailable", PATIENCE)

    def is_alone(self) -> None:
        """Wait until what is asked for now serves, and no other cluster is left."""
        self.is_available()
        eventually(lambda: self.clusters() == {self.active}, PATIENCE)

    def serves(self, release: str) -> None:
        """Wait until it is complete and the release answers."""
        self.is_available()
        eventually(lambda: self.answer()["release"] == release, PATIENCE)
        self.release = release.partition(" ")[0]

    def delete(self) -> None:
        """Delete it and wait until no pod is left."""
        self.stack.rayward("delete", "rayservice", self.name)
        eventually(lambda: not self._pods(), PATIENCE)

    def _pods(self) -> list[Object]:
        try:
            pods = self.stack.client.list(PODS, "default").items
        except NotFound:
            return []
        return [pod for pod in pods if pod["metadata"]["labels"].get("ray.io/cluster", "").startswith(f"{self.name}-")]
