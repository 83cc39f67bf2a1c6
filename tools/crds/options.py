"""The options of a cluster, one function each."""

from __future__ import annotations

from typing import Final

from tools.crds import builtin
from tools.crds.group import MAX_GROUPS
from tools.crds.shape import Object, boolean, integer, listing, rule, structure, text, with_rules

_ROCKSDB: Final = "has(self.backend) && self.backend == 'rocksdb'"
_REDIS_FIELDS: Final = ("redisAddress", "redisUsername", "redisPassword", "externalStorageNamespace")
_OWN_CLAIM_FIELDS: Final = ("size", "storageClassName", "accessModes")
_TOKEN_AUTH: Final = "has(self.enableK8sTokenAuth) && self.enableK8sTokenAuth"


def managed_by() -> Object:
    """Which controller acts on the object."""
    return text(
        "Which controller acts on this object: ray.io/kuberay-operator, as if unset, or one that is not ours.",
        **with_rules(
            rule("self == oldSelf", "cannot be changed once set: delete the object and create it anew"),
            rule(
                "self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",
                "write ray.io/kuberay-operator or kueue.x-k8s.io/multikueue, or delete the field",
            ),
        ),
    )


def autoscaler() -> Object:
    """The autoscaler's container."""
    return structure(
        {
            "resources": builtin.core("ResourceRequirements"),
            "image": text("The autoscaler's image; the head's if unset."),
            "imagePullPolicy": text(),
            "securityContext": builtin.core("SecurityContext"),
            "idleTimeoutSeconds": integer("How long a worker may idle before it is removed; 60 if unset.", minimum=0),
            "upscalingMode": text("How fast workers are added.", enum=["Default", "Aggressive", "Conservative"]),
            "version": text("Which autoscaler runs; Ray decides if unset.", enum=["v1", "v2"]),
            "env": listing(builtin.core("EnvVar")),
            "envFrom": listing(builtin.core("EnvFromSource")),
            "volumeMounts": listing(builtin.core("VolumeMount")),
            "command": listing(text()),
            "args": listing(text()),
        },
        "The autoscaler's container and its pace.",
    )


def authentication() -> Object:
    """Who may call Ray."""
    return structure(
        {
            "mode": text("token asks every caller for a token.", enum=["disabled", "token"]),
            "secretName": text("A secret with the token under auth_token; one is made if unset."),
            "enableK8sTokenAuth": boolean("Lets the API server judge callers by their Kubernetes tokens."),
        },
        "How Ray authenticates its callers.",
        rules=(
            rule(
                f"!({_TOKEN_AUTH}) || (has(self.mode) && self.mode == 'token')",
                "works in token mode only: write mode: token beside it, or delete it",
                at=".enableK8sTokenAuth",
            ),
            rule(
                f"!({_TOKEN_AUTH}) || !has(self.secretName) || self.secretName == ''",
                "Kubernetes' tokens need no secret: delete secretName or enableK8sTokenAuth",
                at=".secretName",
                reason="FieldValueForbidden",
            ),
        ),
    )


def fault_tolerance() -> Object:
    """Where the head's state outlives the head."""
    any_redis = " || ".join(f"has(self.{field})" for field in _REDIS_FIELDS)
    return structure(
        {
            "backend": text(
                "redis (as if unset) or rocksdb, Ray's embedded storage.",
                enum=["redis", "rocksdb"],
                **with_rules(
                    rule("self == oldSelf", "cannot be changed once set: delete the cluster and create it anew")
                ),
            ),
            "redisAddress": text("Where Redis listens, such as redis:6379."),
            "redisUsername": _credential(),
            "redisPassword": _credential(),
            "externalStorageNamespace": text("Under which name the keys lie in Redis; the cluster's UID if unset."),
            "storage": _storage(),
        },
        "Where the head's state outlives the head.",
        rules=(
            rule(
                f"({_ROCKSDB}) || has(self.redisAddress)",
                "write where Redis listens, such as redisAddress: redis:6379, or backend: rocksdb to need none",
                at=".redisAddress",
                reason="FieldValueRequired",
            ),
            rule(
                f"!({_ROCKSDB}) || !({any_redis})",
                f"backend rocksdb needs no Redis: delete {', '.join(_REDIS_FIELDS[:-1])} and {_REDIS_FIELDS[-1]}",
                at=".backend",
                reason="FieldValueForbidden",
            ),
            rule(
                f"({_ROCKSDB}) || !has(self.storage)",
                "storage is for backend rocksdb: write backend: rocksdb beside it, or delete it",
                at=".storage",
                reason="FieldValueForbidden",
            ),
        ),
    )


def network_policy() -> Object:
    """What the pods may talk to."""
    rules = {
        "ingressRules": listing(builtin.networking("NetworkPolicyIngressRule")),
        "egressRules": listing(builtin.networking("NetworkPolicyEgressRule")),
    }
    return structure(
        {
            "mode": text(
                "What is denied unless allowed below.",
                enum=["DenyAll", "DenyAllIngress", "DenyAllEgress"],
                default="DenyAll",
            ),
            "head": structure(rules, "Allowed for the head beyond what the cluster needs."),
            "worker": structure(rules, "Allowed for workers beyond what the cluster needs."),
            "workerGroups": listing(
                structure({"groupName": text(maxLength=63), **rules}, required=("groupName",)),
                "Allowed for one group, in place of worker.",
                maxItems=MAX_GROUPS,
                **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["groupName"]},
            ),
        },
        "What the cluster's pods may talk to; they always reach each other.",
        rules=(_direction("Egress", "ingressRules"), _direction("Ingress", "egressRules")),
    )


def history_server() -> Object:
    """A collector beside every Ray container."""
    collector = structure(
        {
            "image": text(),
            "imagePullPolicy": text(),
            "resources": builtin.core("ResourceRequirements"),
            "env": listing(builtin.core("EnvVar")),
        }
    )
    return structure({"collectorOptions": collector}, "What is kept of a cluster after its end.")


def _credential() -> Object:
    return structure({"value": text(), "valueFrom": builtin.core("EnvVarSource")})


def _storage() -> Object:
    own_claim = " || ".join(f"has(self.{field})" for field in _OWN_CLAIM_FIELDS)
    return structure(
        {
            "claimName": text("A volume claim of your own; one is made if unset."),
            "size": builtin.QUANTITY,
            "storageClassName": text(),
            "accessModes": listing(text(), "[ReadWriteOnce] if unset."),
            "subPath": text(),
            "deletionPolicy": text(
                "Whether the claim goes with the cluster; DeleteWithCluster if unset.",
                enum=["DeleteWithCluster", "Retain"],
            ),
        },
        "The volume of the embedded storage.",
        rules=(
            rule(
                f"!has(self.claimName) || !({own_claim})",
                "a claim of your own has its own size, class and modes: "
                "delete claimName, or size, storageClassName and accessModes",
                at=".claimName",
                reason="FieldValueForbidden",
            ),
        ),
    )


def _direction(denied: str, field: str) -> Object:
    places = " || ".join(f"(has(self.{place}) && has(self.{place}.{field}))" for place in ("head", "worker"))
    groups = f"(has(self.workerGroups) && self.workerGroups.exists(group, has(group.{field})))"
    return rule(
        f"!has(self.mode) || self.mode != 'DenyAll{denied}' || !({places} || {groups})",
        f"mode DenyAll{denied} denies nothing that {field} could allow: delete {field}, or write mode: DenyAll",
        at=".mode",
    )
