"""Every resource the server serves, with a small object that it accepts."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Final

from rayward.local.apiserver import builtin

Object = dict[str, Any]

_CONTAINER: Final[Object] = {"name": "main", "image": "example:1"}
_TEMPLATE: Final[Object] = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [_CONTAINER]}}
_ROLE: Final[Object] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
_RULES: Final[Object] = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
_SELECTOR: Final[Object] = {"matchLabels": {"app": "a"}}
_ACCESS: Final[Object] = {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}}
_CLAIM: Final[Object] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_VOLUME: Final[Object] = {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "1Gi"},
    "hostPath": {"path": "/data"},
}
_POLICY: Final[Object] = {
    "matchConstraints": {
        "resourceRules": [
            {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}
        ]
    },
    "validations": [{"expression": "has(object.spec)"}],
}

_CONTENT: Final[dict[str, Object]] = {
    "bindings": {"target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"}},
    "clusterrolebindings": {"roleRef": _ROLE, "subjects": []},
    "clusterroles": _RULES,
    "configmaps": {"data": {"a": "1"}},
    "controllerrevisions": {"revision": 1, "data": {"a": 1}},
    "deployments": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "replicasets": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "statefulsets": {"spec": {"serviceName": "s", "selector": _SELECTOR, "template": _TEMPLATE}},
    "endpoints": {"subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]},
    "endpointslices": {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"]}]},
    "ingresses": {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
    "jobs": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [_CONTAINER]}}}},
    "leases": {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
    "limitranges": {"spec": {"limits": [{"type": "Container", "max": {"cpu": "64"}}]}},
    "localsubjectaccessreviews": {"spec": {**_ACCESS, "user": "someone"}},
    "networkpolicies": {"spec": {"podSelector": {}}},
    "persistentvolumeclaims": {"spec": _CLAIM},
    "persistentvolumes": {"spec": _VOLUME},
    "poddisruptionbudgets": {"spec": {"maxUnavailable": 1, "selector": _SELECTOR}},
    "pods": {"spec": {"containers": [_CONTAINER]}},
    "priorityclasses": {"value": 10},
    "resourcequotas": {"spec": {"hard": {"count/leases.coordination.k8s.io": "1000"}}},
    "rolebindings": {"roleRef": _ROLE, "subjects": []},
    "roles": _RULES,
    "runtimeclasses": {"handler": "runc"},
    "secrets": {"stringData": {"a": "1"}},
    "selfsubjectaccessreviews": {"spec": _ACCESS},
    "selfsubjectrulesreviews": {"spec": {"namespace": "default"}},
    "services": {"spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}},
    "storageclasses": {"provisioner": "example.com/disk"},
    "subjectaccessreviews": {"spec": {**_ACCESS, "user": "someone"}},
    "tokenreviews": {"spec": {"token": "x"}},
    "validatingadmissionpolicies": {"spec": _POLICY},
    "validatingadmissionpolicybindings": {"spec": {"policyName": "nobody", "validationActions": ["Warn"]}},
}

GROUP: Final = "fuzz.example.com"
_STRING: Final[Object] = {"type": "string"}
_PART: Final[Object] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _STRING,
        "size": {"anyOf": [{"type": "integer"}, _STRING], "x-kubernetes-int-or-string": True},
    },
}
_SPEC: Final[Object] = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 9, "default": 1},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
        "mode": {"type": "string", "enum": ["slow", "fast"], "default": "slow"},
        "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
        "at": {"type": "string", "format": "date-time", "nullable": True},
        "tags": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set", "maxItems": 5},
        "parts": {
            "type": "array",
            "items": _PART,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "maxItems": 5,
        },
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "whole": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.code) || self.code != 'forbidden'", "message": "not that"},
        {"rule": "self.replicas >= oldSelf.replicas || oldSelf.replicas > 3"},
    ],
}
_SCHEMA: Final[Object] = {
    "type": "object",
    "properties": {
        "spec": _SPEC,
        "status": {
            "type": "object",
            "properties": {"replicas": {"type": "integer"}, "selector": _STRING},
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}


@dataclass(frozen=True)
class Subject:
    """One resource to try."""

    place: str
    """Of its OpenAPI document: ``api/v1``."""
    plural: str
    kind: str
    namespaced: bool
    content: str
    """Key of what a good object holds."""

    def __str__(self) -> str:
        return f"{self.place}/{self.plural}"

    @property
    def namespace(self) -> str:
        """A namespace of its own."""
        return f"fuzz-{self.plural}-{len(self.place)}"

    def has(self, path: str) -> bool:
        """Whether a path of its OpenAPI document is its own."""
        rest = path.removeprefix(f"/{self.place}").removeprefix("/namespaces/{namespace}")
        return rest.split("/")[1] == self.plural

    def collection(self, namespace: str = "") -> str:
        """The path of its objects."""
        middle = f"/namespaces/{namespace or self.namespace}" if self.namespaced else ""
        return f"/{self.place}{middle}/{self.plural}"

    @property
    def api_version(self) -> str:
        """Of its objects."""
        return self.place.partition("/")[2]

    @property
    def only_tried(self) -> bool:
        """Whether nothing of it may be stored: a webhook that nobody answers would stop all the others."""
        return self.plural.endswith("webhookconfigurations")

    @property
    def goes_on_by_itself(self) -> bool:
        """Whether the server itself changes an object after it answered."""
        return self.plural in ("customresourcedefinitions", "resourcequotas")

    def good(self, name: str) -> Object:
        """An object the server accepts."""
        metadata: Object = {"name": name, "labels": {"fuzz": "yes"}}
        body: Object = {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}
        if self.plural == "customresourcedefinitions":
            singular = name.partition(".")[0]
            metadata["name"] = f"{singular}.other.example.com"
            return {**body, "spec": definition_spec(singular, "other.example.com", {"type": "object"})}
        if self.content == "events.k8s.io":
            reason = {"reason": "Tested", "action": "Test", "type": "Normal", "reportingController": "example.com/fuzz"}
            metadata["namespace"] = self.namespace
            regarding = {"kind": "Pod", "namespace": self.namespace, "name": "p"}
            return {**body, **reason, "reportingInstance": "x", "eventTime": _TIME, "regarding": regarding}
        if self.content == "events":
            metadata["namespace"] = self.namespace
            return {**body, "involvedObject": {"kind": "Pod", "namespace": self.namespace, "name": "p"}}
        content = copy.deepcopy(_CONTENT.get(self.content, {}))
        if self.content == "localsubjectaccessreviews":
            content["spec"]["resourceAttributes"]["namespace"] = self.namespace
        return {**body, **content}


_TIME: Final = "2024-01-01T00:00:00.000000Z"


def definition_spec(singular: str, group: str, schema: Object, **version: Any) -> Object:
    """The spec of a CustomResourceDefinition."""
    names = {"plural": singular, "singular": singular, "kind": singular.capitalize()}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}


def definition() -> Object:
    """The custom kind among the subjects: a bit of everything a schema may hold."""
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    spec = definition_spec("widget", GROUP, _SCHEMA, subresources={"status": {}, "scale": scale})
    spec["names"]["plural"] = "widgets"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": spec,
    }


def subjects() -> list[Subject]:
    """All built-in resources, and one that a definition adds."""
    found = [
        Subject(
            f"apis/{each.api_version}" if each.group else "api/v1",
            each.plural,
            each.kind,
            each.namespaced,
            each.group if each.qualified_name == "events.events.k8s.io" else each.plural,
        )
        for each in builtin.resources()
    ]
    return [*found, Subject(f"apis/{GROUP}/v1", "widgets", "Widget", True, "widgets")]
