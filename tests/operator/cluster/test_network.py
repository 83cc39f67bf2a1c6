"""Network policies."""

from __future__ import annotations

import pytest

from rayward.operator.cluster import children
from tests.kinds.shapes.sample import Object, cluster

_OWN = {"podSelector": {"matchLabels": {"ray.io/cluster": "demo"}}}
_NAMES = {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]}


def _policies(options: Object) -> dict[str, Object]:
    made = children.network_policies(cluster({"networkPolicy": options}, groups=[{}, {}]))
    return {policy["metadata"]["name"]: policy for policy in made}


def test_none_unless_asked_for() -> None:
    assert children.network_policies(cluster()) == []


def test_the_cluster_talks_to_itself_and_asks_for_names() -> None:
    made = _policies({})

    assert list(made) == ["demo-head", "demo-workers-g0", "demo-workers-g1"]
    assert made["demo-workers-g0"]["metadata"]["labels"]["ray.io/group"] == "g0"
    assert made["demo-workers-g0"]["spec"] == {
        "podSelector": {"matchLabels": {"ray.io/cluster": "demo", "ray.io/node-type": "worker", "ray.io/group": "g0"}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [_OWN]}],
        "egress": [{"to": [_OWN]}, _NAMES],
    }


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [("DenyAll", ["Ingress", "Egress"]), ("DenyAllIngress", ["Ingress"]), ("DenyAllEgress", ["Egress"])],
)
def test_modes(mode: str, kinds: list[str]) -> None:
    spec = _policies({"mode": mode})["demo-head"]["spec"]

    assert spec["policyTypes"] == kinds
    assert [kind for kind in ("Ingress", "Egress") if kind.lower() in spec] == kinds


def test_rules_of_a_group_stand_in_place_of_those_of_all_workers() -> None:
    rules = {name: [{"ports": [{"port": port}]}] for port, name in enumerate(("head", "worker", "g1"), 1)}
    made = _policies(
        {
            "head": {"ingressRules": rules["head"]},
            "worker": {"ingressRules": rules["worker"]},
            "workerGroups": [{"groupName": "g1", "ingressRules": rules["g1"]}],
        }
    )

    assert [policy["spec"]["ingress"][1:] for policy in made.values()] == [rules["head"], rules["worker"], rules["g1"]]
