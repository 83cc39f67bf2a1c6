"""What the cluster's pods may talk to, where the manifest restricts it."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import GroupNetworkRules, NetworkRules, RayCluster
from rayward.kube.core.resource import NETWORK_POLICIES
from rayward.operator.cluster.desired.children import Object, application_labels, child, fresh

_DENY_ALL: Final = "DenyAll"
_INGRESS: Final = "DenyAllIngress"
_EGRESS: Final = "DenyAllEgress"


def network_policies(cluster: RayCluster) -> list[Object]:
    """One policy for the head and one for each group: the cluster's own traffic, and what the user adds."""
    options = cluster.spec.network_policy
    if options is None:
        return []
    mode = options.mode or _DENY_ALL
    name = cluster.metadata.name
    made = [_policy(cluster, mode, names.head_network_policy(name), labels.HEAD, labels.HEAD_GROUP, options.head)]
    own_rules = {rules.group_name: rules for rules in options.worker_groups or ()}
    for group in cluster.groups:
        policy = names.worker_network_policy(name, group.group_name)
        rules = own_rules.get(group.group_name, options.worker)
        made.append(_policy(cluster, mode, policy, labels.WORKER, group.group_name, rules))
    return made


def _policy(
    cluster: RayCluster,
    mode: str,
    name: str,
    node_type: str,
    group: str,
    rules: NetworkRules | GroupNetworkRules | None,
) -> Object:
    selector = {labels.CLUSTER: cluster.metadata.name, labels.NODE_TYPE: node_type, labels.GROUP: group}
    peers = [{"podSelector": {"matchLabels": {labels.CLUSTER: cluster.metadata.name}}}]
    spec: Object = {"podSelector": {"matchLabels": selector}, "policyTypes": []}
    if mode in (_DENY_ALL, _INGRESS):
        spec["policyTypes"].append("Ingress")
        spec["ingress"] = [{"from": peers}, *fresh((rules and rules.ingress_rules) or [])]
    if mode in (_DENY_ALL, _EGRESS):
        spec["policyTypes"].append("Egress")
        spec["egress"] = [{"to": fresh(peers)}, _names(), *fresh((rules and rules.egress_rules) or [])]
    its_labels = application_labels(cluster) | {labels.GROUP: group}
    return {**child(cluster, NETWORK_POLICIES, name, its_labels), "spec": spec}


def _names() -> Object:
    """Without names a worker cannot find its head."""
    return {"ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]}
