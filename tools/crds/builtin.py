"""Built-in structures as a CRD can hold them: references resolved, published extras that are no schema left out."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from rayward.local.apiserver.recorded import schema
from tools.crds.shape import Object, listing, mapping, text

_CORE: Final = "io.k8s.api.core.v1."
_NETWORK: Final = "io.k8s.api.networking.v1."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."

QUANTITY: Final[Object] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    "x-kubernetes-int-or-string": True,
}
_INT_OR_STRING: Final[Object] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
# Only what of a child's metadata is the user's; the API server keeps nothing else of an embedded one.
_METADATA: Final[Object] = {
    "type": "object",
    "properties": {
        "annotations": mapping(text()),
        "finalizers": listing(text()),
        "labels": mapping(text()),
        "name": text(),
        "namespace": text(),
    },
}
_SPECIAL: Final[dict[str, Object]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    f"{_META}ObjectMeta": _METADATA,
}
# Fields that an older or newer Kubernetes than the recorded one has, and that KubeRay's CRDs therefore hold.
_MORE: Final[dict[str, Object]] = {
    f"{_CORE}PodSpec": {
        "workloadRef": {
            "type": "object",
            "required": ["name", "podGroup"],
            "properties": {"name": text(), "podGroup": text(), "podGroupReplicaKey": text()},
        }
    }
}
# Types that hold a reference and more; KubeRay's CRDs let one applier own them whole, as they do a reference.
_ATOMIC: Final = tuple(
    f"{_CORE}{kind}"
    for kind in (
        "ConfigMapEnvSource",
        "ConfigMapProjection",
        "ConfigMapVolumeSource",
        "SecretEnvSource",
        "SecretProjection",
    )
)
# A pod gets these defaults where it is made; a template keeps what its user wrote.
_LEFT_TO_THE_POD: Final = f"{_CORE}AzureDiskVolumeSource"
# Values of built-in enumerations grow with Kubernetes; the pods themselves are checked where they are made.
_DROPPED: Final = (
    "enum",
    "default",
    "allOf",
    "$ref",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-unions",
    "x-kubernetes-group-version-kind",
    "x-kubernetes-validations",
)


def pod_template() -> Object:
    """What pods are made from."""
    return _structure(f"{_CORE}PodTemplateSpec")


def core(kind: str) -> Object:
    """A type of core/v1, such as ``Service``."""
    return _structure(f"{_CORE}{kind}")


def networking(kind: str) -> Object:
    """A type of networking.k8s.io/v1."""
    return _structure(f"{_NETWORK}{kind}")


@cache
def _structure(reference: str) -> Object:
    name = reference.rsplit("/", 1)[-1]
    if special := _SPECIAL.get(name):
        return special
    structure = _convert(schema(name))
    if name in _ATOMIC:
        structure["x-kubernetes-map-type"] = "atomic"
    if name == _LEFT_TO_THE_POD:
        for field in ("cachingMode", "kind"):
            del structure["properties"][field]["default"]
    if more := _MORE.get(name):
        structure = {**structure, "properties": dict(sorted({**structure["properties"], **more}.items()))}
    return structure


def _convert(node: Object, *, required: bool = False) -> Object:
    references = [*node.get("allOf", ()), *([node] if "$ref" in node else ())]
    converted = dict(_structure(references[0]["$ref"])) if references else {}
    converted.update({name: part for name, part in node.items() if name not in _DROPPED})
    if (properties := node.get("properties")) is not None:
        needed = node.get("required", ())
        converted["properties"] = {name: _convert(part, required=name in needed) for name, part in properties.items()}
        if needed:
            converted["required"] = sorted(needed)
    if (items := node.get("items")) is not None:
        converted["items"] = _convert(items, required=True)
    if isinstance(values := node.get("additionalProperties"), dict):
        converted["additionalProperties"] = _convert(values, required=True)
    if not required and _is_meant(default := node.get("default")):
        converted["default"] = default
    return converted


def _is_meant(default: Any) -> bool:
    """A published default of a required field, or of a structure, only says what its zero value in Go is."""
    return default is not None and default != {}
