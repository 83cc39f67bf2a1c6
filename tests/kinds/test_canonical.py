"""The same object written back by other clients stays the same release.

KubeRay's own Go types are in ``test_typed_client``, as they need Go; here a smaller imitation draws more often.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.client import ApiClient, Configuration

from rayward.kinds.canonical import canonical_template
from rayward.kinds.crds import manifest as definition
from rayward.kinds.hashing import release_hash
from rayward.kinds.shapes import drift, template_record
from rayward.kube.machinery import quantity
from rayward.kube.machinery.apply import apply_config, custom_type_of
from rayward.local.apiserver.builtin.podspec.defaults import default_pod_only
from tests.kinds.clusters import Object, manifest, typed
from tests.kinds.drawn import drawn
from tests.kinds.filled import filled_in, with_text_amounts

_AMOUNTS = st.sampled_from(["1", "1000m", 1, "2Gi", "2048Mi", "500m", "1500m", "0.5", "1e3", "64k"])
_RESOURCES = st.fixed_dictionaries(
    {},
    optional={
        "limits": st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), _AMOUNTS),
        "requests": st.dictionaries(st.sampled_from(["cpu", "memory"]), _AMOUNTS),
    },
)
_TEXT = st.sampled_from(["", "a", "b c", "$(RAY_IP)"])
_PROBE = st.fixed_dictionaries(
    {"exec": st.just({"command": ["true"]})},
    optional={"initialDelaySeconds": st.integers(0, 3), "periodSeconds": st.integers(0, 10)},
)
_CONTAINER = st.fixed_dictionaries(
    {"name": st.just("ray"), "image": st.sampled_from(["rayproject/ray:2.60.0", "ray", "ray:latest", "ray@sha256:ab"])},
    optional={
        "args": st.lists(_TEXT, max_size=2),
        "command": st.lists(_TEXT, max_size=2),
        "env": st.lists(st.fixed_dictionaries({"name": st.just("A")}, optional={"value": _TEXT}), max_size=1),
        "resources": _RESOURCES,
        "securityContext": st.fixed_dictionaries({}, optional={"runAsUser": st.integers(0, 1)}),
        "livenessProbe": _PROBE,
        "ports": st.lists(
            st.fixed_dictionaries({"containerPort": st.just(8000)}, optional={"protocol": st.just("TCP")}), max_size=1
        ),
        "stdin": st.booleans(),
        "lifecycle": st.just({}),
        "volumeMounts": st.just([{"name": "v", "mountPath": "/v", "readOnly": False}]),
    },
)
_MAP = st.dictionaries(st.sampled_from(["a", "b"]), _TEXT, max_size=2)
_TEMPLATE = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {"containers": st.lists(_CONTAINER, min_size=1, max_size=1)},
            optional={
                "nodeSelector": _MAP,
                "hostNetwork": st.booleans(),
                "terminationGracePeriodSeconds": st.sampled_from([0, 30, 60]),
                "affinity": st.just({}),
                "volumes": st.just([{"name": "v", "emptyDir": {}}]),
                "securityContext": st.just({}),
            },
        )
    },
    optional={"metadata": st.fixed_dictionaries({}, optional={"labels": _MAP, "annotations": _MAP})},
)

# What Go's types do to fields: structs that are always written, plain values whose zero is dropped, quantities.
_GO_STRUCTS = {"template": ("metadata",), "containers": ("resources",)}
_GO_OMITTED = frozenset(
    (
        *("args", "command", "env", "ports", "volumeMounts", "nodeSelector", "labels", "annotations", "limits"),
        *("requests", "value", "stdin", "hostNetwork", "readOnly", "initialDelaySeconds", "periodSeconds"),
    )
)


def _client_go(value: Any, field: str = "") -> Any:
    """Decode into Go's types and encode them."""
    if isinstance(value, list):
        return [_client_go(item, field) for item in value]
    if field in ("limits", "requests"):
        return {name: str(quantity.parse(amount)) for name, amount in value.items()}
    if field in ("labels", "annotations", "nodeSelector") or not isinstance(value, dict):
        return value
    found = {name: _client_go(part, name) for name, part in value.items() if part is not None}
    found = {name: part for name, part in found.items() if not (name in _GO_OMITTED and not part)}
    for name in _GO_STRUCTS.get(field, ()):
        found.setdefault(name, {"creationTimestamp": None} if name == "metadata" else {})
    return found


def _kubectl(value: Any, field: str = "") -> Any:
    """What a person writes who spells out what is so anyway."""
    if isinstance(value, list):
        return [_kubectl(item, field) for item in value]
    if not isinstance(value, dict):
        return value
    found = {name: _kubectl(part, name) for name, part in value.items()}
    if field == "containers":
        found = {"terminationMessagePolicy": "File", **found}
    if field == "ports":
        found = {"protocol": "TCP", **found}
    return found


_CLIENTS: dict[str, Callable[[Any, str], Any]] = {
    "client-go": _client_go,
    "kubectl": _kubectl,
}


_SCHEMA = definition("rayclusters")["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
_TYPE = custom_type_of(_SCHEMA)
_MODELS = ApiClient(Configuration())
_MODELS.configuration.client_side_validation = False


def _official_python_client(template: Object) -> Object:
    """Its models, and what it sends for them."""
    model = _MODELS.deserialize(json.dumps(template), "V1PodTemplateSpec", "application/json")
    back: Any = _MODELS.sanitize_for_serialization(model)
    return back


def _applied_by_another(template: Object) -> Object:
    whole = _cluster(template)
    now = "2026-01-01T00:00:00Z"
    live, _ = apply_config(whole, whole, type=_TYPE, manager="other", api_version="ray.io/v1", now=now, force=True)
    return live["spec"]["headGroupSpec"]["template"]


def _copied_from_a_server(template: Object) -> Object:
    """With all that an API server fills into a template, and into the pod of it."""
    template = filled_in(template)
    if "resources" not in template["spec"]:
        # Those of a whole pod are filled in from what its containers ask for, and only in the pod.
        default_pod_only(template["spec"])
    return template


_WHOLE: dict[str, Callable[[Object], Object]] = {
    "the official Python client": _official_python_client,
    "server-side apply": _applied_by_another,
    "an API server's defaults": _copied_from_a_server,
}


def _cluster(template: Object) -> Object:
    value = manifest()
    value["spec"]["headGroupSpec"]["template"] = copy.deepcopy(template)
    value["spec"]["workerGroupSpecs"][0]["template"] = copy.deepcopy(template)
    return value


@pytest.mark.parametrize("client", _WHOLE.values(), ids=_WHOLE)
def test_templates_of_every_field_are_the_same_release_when_written_back(client: Callable[[Object], Object]) -> None:
    schema = _SCHEMA["properties"]["spec"]["properties"]["headGroupSpec"]["properties"]["template"]
    changed = 0
    for seed in range(100):
        template: Object = {"spec": {"containers": []}, **with_text_amounts(drawn(schema, seed, often=1.5))}
        # No client of today knows it: it was an alpha feature, and is gone.
        template["spec"].pop("workloadRef", None)
        back = client(copy.deepcopy(template))
        before, after = typed(_cluster(template)), typed(_cluster(back))
        assert drift(*(template_record(each.spec.head_group_spec, each) for each in (before, after))) == [], seed
        assert release_hash(before.spec) == release_hash(after.spec), seed
        changed += template != back
    if client is _copied_from_a_server:
        assert changed > 50, "a server fills in what nobody wrote"


@pytest.mark.parametrize("client", _CLIENTS.values(), ids=_CLIENTS)
@given(template=_TEMPLATE)
def test_what_a_client_writes_back_is_the_same_release(client: Callable[[Any, str], Any], template: Object) -> None:
    before, after = typed(_cluster(template)), typed(_cluster(client(template, "template")))
    assert release_hash(before.spec) == release_hash(after.spec)
    records = [template_record(each.spec.head_group_spec, each) for each in (before, after)]
    assert drift(*records) == []


@given(template=_TEMPLATE, other=_TEMPLATE)
def test_releases_differ_where_a_record_names_a_field(template: Object, other: Object) -> None:
    before, after = typed(_cluster(template)), typed(_cluster(other))
    records = [template_record(each.spec.head_group_spec, each) for each in (before, after)]
    assert (release_hash(before.spec) == release_hash(after.spec)) == (drift(*records) == [])


@pytest.mark.parametrize(
    "odd",
    [{"containers": [None]}, {"containers": ["x"]}, {"initContainers": True}, {"containers": [{"ports": 8080}]}],
)
def test_what_no_server_accepts_has_a_canonical_form_too(odd: Object) -> None:
    """A plan of a file hashes before anybody has validated it."""
    template: Object = {"spec": {"hostNetwork": True, **odd}}
    assert canonical_template(template) == canonical_template(copy.deepcopy(template))
