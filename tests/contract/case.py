"""What a case is: a name and the requests it makes, one after the other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

NAMESPACED = "/namespaces/{ns}/"

_CLUSTER_WIDE = {"namespaces", "nodes", "persistentvolumes", "clusterroles", "clusterrolebindings", "priorityclasses",
                 "customresourcedefinitions", "mutatingwebhookconfigurations", "validatingwebhookconfigurations",
                 "tokenreviews", "selfsubjectaccessreviews", "subjectaccessreviews", "selfsubjectreviews",
                 "selfsubjectrulesreviews", "ingressclasses", "storageclasses", "runtimeclasses",
                 "validatingadmissionpolicies", "validatingadmissionpolicybindings"}  # fmt: skip

_GROUPS = {
    "apis/apps/v1": ["deployments", "controllerrevisions", "replicasets", "statefulsets", "daemonsets"],
    "apis/batch/v1": ["jobs", "cronjobs"],
    "apis/coordination.k8s.io/v1": ["leases"],
    "apis/discovery.k8s.io/v1": ["endpointslices"],
    "apis/networking.k8s.io/v1": ["ingresses", "networkpolicies", "ingressclasses"],
    "apis/node.k8s.io/v1": ["runtimeclasses"],
    "apis/policy/v1": ["poddisruptionbudgets"],
    "apis/scheduling.k8s.io/v1": ["priorityclasses"],
    "apis/rbac.authorization.k8s.io/v1": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
    "apis/apiextensions.k8s.io/v1": ["customresourcedefinitions"],
    "apis/admissionregistration.k8s.io/v1": [
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    ],
    "apis/authentication.k8s.io/v1": ["tokenreviews", "selfsubjectreviews"],
    "apis/authorization.k8s.io/v1": ["selfsubjectaccessreviews", "subjectaccessreviews", "selfsubjectrulesreviews"],
    "apis/storage.k8s.io/v1": ["storageclasses"],
    "apis/ray.io/v1": ["rayclusters"],
}
_GROUP_OF = {resource: prefix for prefix, resources in _GROUPS.items() for resource in resources}

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def at(path: str) -> str:
    """The full path of `pods/p`, `nodes/n`, `rayclusters/r/status`; a path that starts with / stays as it is."""
    if path.startswith("/"):
        return path
    resource = path.split("/", 1)[0].split("?", 1)[0]
    prefix = _GROUP_OF.get(resource, "api/v1")
    return f"/{prefix}/{path}" if resource in _CLUSTER_WIDE else f"/{prefix}{NAMESPACED}{path}"


@dataclass(frozen=True)
class Step:
    """One request, and what of its answer counts."""

    method: str
    path: str
    body: Any = None  # an object is sent as JSON, str and bytes as they are
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    keep: Mapping[str, str] = field(default_factory=dict[str, str])  # variable -> path in the answer's body
    until: Mapping[str, Any] | None = None  # asked again until these paths of the answer hold these values
    only: Sequence[str] = ()  # the paths of the body that count; all of it when empty
    any_order: bool = False  # of the causes of a failure
    events: int | None = None  # of a watch: how many to wait for; 0 means until the server closes

    @property
    def watches(self) -> bool:
        return self.events is not None

    def keeping(self, **paths: str) -> Step:
        """The step, remembering parts of its answer: `keeping(uid="metadata.uid")` makes {uid} usable later."""
        return replace(self, keep={**self.keep, **paths})

    def only_of(self, *paths: str) -> Step:
        """The step, with nothing but these paths of its body compared."""
        return replace(self, only=paths)

    def in_any_order(self) -> Step:
        """The step, with the order of the causes of a failure left open: the real server's order is random."""
        return replace(self, any_order=True)

    def polled(self, **conditions: Any) -> Step:
        """The step, repeated until `code` or a dotted path (with __ for dots) of its answer has the value."""
        return replace(self, until={path.replace("__", "."): value for path, value in conditions.items()})

    def as_(self, agent: str) -> Step:
        """The step, sent by another program: its name becomes the field manager."""
        return self.with_headers(**{"User-Agent": f"{agent}/1.0"})

    def with_headers(self, **headers: str) -> Step:
        """The step with more headers; underscores in names stand for dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})


@dataclass(frozen=True)
class Case:
    """A named sequence of steps in a namespace of its own.

    Where our server must answer otherwise, `differs` says why and `ours` holds, for a step's index, the paths of the
    recorded answer that change and their values.
    """

    name: str
    steps: tuple[Step, ...]
    differs: str = ""
    ours: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])

    @property
    def digest(self) -> str:
        """Changes when what is sent changes: a recording made for another digest is stale."""
        steps = [{name: value for name, value in asdict(step).items() if value} for step in self.steps]
        text = json.dumps(steps, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def case(
    name: str,
    *steps: Step | Sequence[Step],
    differs: str = "",
    ours: Mapping[int, Mapping[str, Any]] | None = None,
) -> Case:
    """A case of steps and groups of steps."""
    return Case(name, tuple(_flat(steps)), differs, ours or {})


NEVER_A_SERVER_ERROR = "kube-apiserver answers 500 here; ours answers no bad input with a server error"


def bad_request_in(*indices: int) -> dict[int, dict[str, Any]]:
    """What ours answers in the steps where the real server answers 500: the same words as a bad request."""
    return {index: {"code": 400, "body.code": 400, "body.reason": "BadRequest"} for index in indices}


def _flat(steps: Sequence[Step | Sequence[Step]]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Step):
            yield step
        else:
            yield from step


def _url(path: str, query: Mapping[str, Any]) -> str:
    pairs = [(name, str(value).lower() if isinstance(value, bool) else value) for name, value in query.items()]
    if not pairs:
        return at(path)
    return f"{at(path)}{'&' if '?' in path else '?'}{urlencode(pairs, doseq=True, safe='{}', quote_via=quote)}"


def get(path: str, accept: str = "", **query: Any) -> Step:
    """A GET."""
    return Step("GET", _url(path, query), headers={"Accept": accept} if accept else {})


def create(path: str, body: Any, content_type: str = "", **query: Any) -> Step:
    """A POST."""
    return Step("POST", _url(path, query), body, {"Content-Type": content_type} if content_type else {})


def update(path: str, body: Any, content_type: str = "", **query: Any) -> Step:
    """A PUT."""
    return Step("PUT", _url(path, query), body, {"Content-Type": content_type} if content_type else {})


def delete(path: str, body: Any = None, **query: Any) -> Step:
    """A DELETE, with DeleteOptions as its body."""
    return Step("DELETE", _url(path, query), body)


def _patch(path: str, body: Any, content_type: str, query: Mapping[str, Any]) -> Step:
    return Step("PATCH", _url(path, query), body, {"Content-Type": content_type})


def merge(path: str, body: Any, **query: Any) -> Step:
    """A JSON merge patch."""
    return _patch(path, body, MERGE, query)


def json_patch(path: str, *operations: Any, **query: Any) -> Step:
    """A JSON patch."""
    return _patch(path, list(operations), JSON_PATCH, query)


def strategic(path: str, body: Any, **query: Any) -> Step:
    """A strategic merge patch."""
    return _patch(path, body, STRATEGIC, query)


def apply(path: str, body: Any, manager: str = "alice", **query: Any) -> Step:
    """A server-side apply."""
    named = {"fieldManager": manager} if manager else {}
    return _patch(path, body, APPLY, {**named, **query})


def watch(path: str, events: int, accept: str = "", **query: Any) -> Step:
    """A watch, read until so many events came, or with 0 until the server closes it."""
    return replace(get(path, accept, watch=True, **query), events=events)
