"""A RayService of the samples with real Ray: how to change it, and what it says of itself."""

from __future__ import annotations

import json
import urllib.request
from typing import Any, Final

import yaml

from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS, SERVICES
from rayward.local.traffic.addresses import ShellAddress, shell_addresses_of
from tests.ray.stack import PATIENCE, SAMPLES, RayStack
from tests.waiting import eventually

Object = dict[str, Any]

_GROUPS: Final = ("/headGroupSpec", "/workerGroupSpecs/0")


class HelloService:
    """The service of ``samples/rayservice.yaml`` under a name of its own."""

    def __init__(self, stack: RayStack, name: str, **spec: Any) -> None:
        self.stack = stack
        self.name = name
        code, manifest = yaml.safe_load_all((SAMPLES / "rayservice.yaml").read_text())
        manifest["metadata"]["name"] = name
        manifest["spec"] |= spec
        stack.apply(code, manifest)

    def set_release(self, release: str, **spec: Any) -> None:
        """Ask for another cluster: its pods are told another release."""
        operations: list[Object] = [
            {
                "op": "replace",
                "path": f"/spec/rayClusterConfig{group}/template/spec/containers/0/env/1/value",
                "value": release,
            }
            for group in _GROUPS
        ]
        operations += [{"op": "add", "path": f"/spec/{name}", "value": value} for name, value in spec.items()]
        self.stack.client.patch(RAY_SERVICES, self.name, operations, PatchType.JSON, "default")

    def set(self, **spec: Any) -> None:
        """Change fields of the spec."""
        self.stack.client.patch(RAY_SERVICES, self.name, {"spec": spec}, PatchType.MERGE, "default")

    def annotate(self, **annotations: str) -> None:
        """Set annotations under rayward.dev."""
        named = {f"rayward.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
        change = {"metadata": {"annotations": named}}
        self.stack.client.patch(RAY_SERVICES, self.name, change, PatchType.MERGE, "default")

    @property
    def status(self) -> Object:
        """What it says of itself."""
        return self.stack.client.get(RAY_SERVICES, self.name, "default").get("status") or {}

    def condition(self, kind: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition."""
        for found in self.status.get("conditions") or ():
            if found["type"] == kind:
                return found["status"], found["reason"], found.get("message", "")
        return "", "", ""

    @property
    def active(self) -> str:
        """The cluster that serves."""
        return (self.status.get("activeServiceStatus") or {}).get("rayClusterName", "")

    def clusters(self) -> set[str]:
        """The clusters there are, those on their way out left aside."""
        found = self.stack.client.list(
            RAY_CLUSTERS, "default", label_selector=f"ray.io/originated-from-cr-name={self.name}"
        ).items
        return {cluster["metadata"]["name"] for cluster in found if "deletionTimestamp" not in cluster["metadata"]}

    @property
    def address(self) -> ShellAddress:
        """Where it answers in a shell."""
        service = self.stack.client.get(SERVICES, f"{self.name}-serve-svc", "default")
        return next(found for found in shell_addresses_of(service) if found.name == "serve")

    def answer(self) -> Object:
        """One answer."""
        with urllib.request.urlopen(f"http://{self.address}/", timeout=30) as answer:
            return json.load(answer)

    def serves(self, release: str) -> None:
        """Wait until it is complete and the release answers."""
        eventually(lambda: self.condition("Progressing")[1] == "NewReleaseAvailable", PATIENCE)
        eventually(lambda: self.answer()["release"] == release, PATIENCE)

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
