"""All cases by theme, and the plain loop that plays many of them at a time."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from tests.contract import cases as case_modules
from tests.contract.case import Case, get
from tests.contract.play import play
from tests.contract.server import Server

T = TypeVar("T")

_RAYCLUSTER_CRD = Path(__file__).parent / "data" / "ray.io_rayclusters.yaml.gz"
_CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_POLICIES = "/apis/admissionregistration.k8s.io/v1"
_JSON = {"Content-Type": "application/json"}
_NOTHING = {
    "apiGroups": ["tests.rayward.dev"],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["nothing"],
}
_STAYS: dict[str, Any] = {
    "validatingadmissionpolicies": {
        "metadata": {"name": "stays"},
        "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": [_NOTHING]},
            "validations": [{"expression": "true"}],
        },
    },
    "validatingadmissionpolicybindings": {
        "metadata": {"name": "stays"},
        "spec": {
            "policyName": "stays",
            "validationActions": ["Deny"],
            "paramRef": {"name": "none", "namespace": "default", "parameterNotFoundAction": "Allow"},
        },
    },
}


def themes() -> dict[str, list[Case]]:
    """The cases of each module in cases/, checked to have names of their own."""
    found: dict[str, list[Case]] = {}
    for module in sorted(pkgutil.iter_modules(case_modules.__path__), key=lambda module: module.name):
        cases = list(importlib.import_module(f"{case_modules.__name__}.{module.name}").CASES)
        if len({case.name for case in cases}) != len(cases):
            raise ValueError(f"{module.name}: two cases of one name")
        found[module.name] = cases
    return found


def select(theme: str = "", text: str = "") -> Iterator[tuple[str, Case]]:
    """The cases of some themes (comma-separated; all when empty) whose name holds the text."""
    wanted = set(theme.split(",")) if theme else set[str]()
    known = themes()
    if unknown := wanted - known.keys():
        raise SystemExit(f"no theme {', '.join(sorted(unknown))}; there are: {' '.join(known)}")
    for name, cases in known.items():
        if not wanted or name in wanted:
            yield from ((name, case) for case in cases if text in f"{name}/{case.name}")


def prepare(server: Server) -> None:
    """Installs KubeRay's RayCluster definition, once per server, and waits until it is served; and a policy that stays.

    kube-apiserver ends its informer of ConfigMaps with the last policy that has them for parameters, and a later policy
    gets the same one, which hears of nothing any more: while cases come and go side by side there always is one.
    """
    with contextlib.closing(server.connect()) as connection:
        for kind, body in _STAYS.items():
            reply = connection.send("POST", f"{_POLICIES}/{kind}", json.dumps(body).encode(), _JSON)
            if reply.code not in (201, 409):
                raise SystemExit(f"the policy that stays was refused: {reply.code} {reply.content[:500]!r}")
        if connection.send("GET", f"{_CRD_PATH}/rayclusters.ray.io", None, {}).code == 404:
            definition = gzip.decompress(_RAYCLUSTER_CRD.read_bytes())
            reply = connection.send("POST", _CRD_PATH, definition, {"Content-Type": "application/yaml"})
            if reply.code != 201:
                raise SystemExit(f"the RayCluster definition was refused: {reply.code} {reply.content[:500]!r}")
    served = Case("served", (get("/apis/ray.io/v1/rayclusters", limit=1).polled(code=200),))
    answer = play(served, server)[0]
    if answer["code"] != 200:
        raise SystemExit(f"RayClusters are not served: {answer}")


def each(work: Callable[[str, Case], T], chosen: list[tuple[str, Case]], parallel: int) -> Iterator[T]:
    """The results of work on every case, in order, so many at a time."""
    with ThreadPoolExecutor(parallel) as pool:
        yield from pool.map(lambda item: work(*item), chosen)
