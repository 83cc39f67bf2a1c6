"""A chart's life with helm: `python -m tests.clients.with_helm HELM`, on the kubeconfig's namespace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kubernetes import client, config, watch

from tests.clients.steps import PATIENCE, Object, has, has_workers, tell

_CHART: Final = Path(__file__).parent / "chart"
_RELEASE: Final = "web"


class Life:
    """One release."""

    def __init__(self, helm: str) -> None:
        config.load_kube_config()
        self._helm_binary = helm
        self._namespace: str = config.list_kube_config_contexts()[1]["context"]["namespace"]
        self._custom: Any = client.CustomObjectsApi()
        self._core: Any = client.CoreV1Api()

    def play(self) -> None:
        chart = str(_CHART)
        tell("lint", self._helm("lint", chart)[0])
        tell("installed", self._release("install", _RELEASE, chart, "--wait"))
        self._await(lambda found: has(found, "Ready"))
        tell("listed", self._listed())
        tell("installed again", self._refused("install", _RELEASE, chart))
        self._label("team", "blue")
        tell("upgraded", self._release("upgrade", _RELEASE, chart, "--set", "workers=3"))
        scaled = self._await(lambda found: has_workers(found, 3))
        tell("three-way merge keeps a label of somebody else", scaled["metadata"]["labels"].get("team"))
        tell("what lookup saw", self._data("settings"))
        tell("a hook of this revision", self._data("hook"))
        bad = ("upgrade", _RELEASE, chart, "--set-string", "workers=many")
        tell("a bad upgrade", self._refused(*bad))
        tell("a bad upgrade, rolled back", self._refused(*bad, "--atomic").splitlines()[0])
        tell("rolled back", self._helm("rollback", _RELEASE, "1", "--wait")[0])
        self._await(lambda found: has_workers(found, 1))
        tell("history", [(each["revision"], each["status"]) for each in self._json("history", _RELEASE)])
        tell("values", self._json("get", "values", _RELEASE, "--revision", "2"))
        tell("dry run of the server", self._release("upgrade", _RELEASE, chart, "--dry-run=server"))
        tell("uninstalled", self._helm("uninstall", _RELEASE, "--wait", "--cascade", "foreground")[0])
        tell("left", [self._listed(), self._custom_list()])

    def _helm(self, *words: str) -> tuple[int, str]:
        done = subprocess.run([self._helm_binary, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout if done.returncode == 0 else done.stderr

    def _json(self, *words: str) -> Any:
        code, text = self._helm(*words, "--output", "json")
        assert code == 0, text
        return json.loads(text)

    def _release(self, *words: str) -> tuple[int, str, str]:
        found = self._json(*words)
        return found["version"], found["info"]["status"], found["info"]["notes"].strip()

    def _refused(self, *words: str) -> str:
        code, text = self._helm(*words)
        assert code, f"helm {' '.join(words)} was not refused"
        return "\n".join(line for line in text.splitlines() if not line.startswith("level="))

    def _listed(self) -> list[tuple[str, str, str]]:
        return [(each["name"], each["revision"], each["status"]) for each in self._json("list", "--all")]

    def _data(self, name: str) -> Object:
        return self._core.read_namespaced_config_map(f"{_RELEASE}-{name}", self._namespace).data

    def _clusters(self) -> tuple[str, str, str, str]:
        return "ray.io", "v1", self._namespace, "rayclusters"

    def _custom_list(self) -> list[Object]:
        return self._custom.list_namespaced_custom_object(*self._clusters())["items"]

    def _label(self, name: str, value: str) -> None:
        patch = {"metadata": {"labels": {name: value}}}
        self._custom.patch_namespaced_custom_object(*self._clusters(), _RELEASE, patch)

    def _await(self, holds: Callable[[Object], bool]) -> Object:
        listing = self._custom.list_namespaced_custom_object
        stream: Any = watch.Watch().stream(listing, *self._clusters(), timeout_seconds=PATIENCE)
        for event in stream:
            if holds(event["object"]):
                return event["object"]
        raise TimeoutError(f"the RayCluster did not become so: {self._custom_list()}")


if __name__ == "__main__":
    Life(sys.argv[1]).play()
