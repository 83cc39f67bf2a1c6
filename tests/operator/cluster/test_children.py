"""The objects that a RayCluster should own beside its pods and Services."""

from __future__ import annotations

import pytest

from rayward.kinds import shapes
from rayward.operator.cluster import children
from tests.kinds.shapes.sample import Object, cluster, template

_ON: Object = {"enableInTreeAutoscaling": True}


def test_no_account_without_an_autoscaler() -> None:
    made = cluster()

    assert children.service_account(made) is children.role(made) is children.role_binding(made) is None


def test_an_account_may_watch_pods_and_say_how_many_there_should_be() -> None:
    made = cluster(_ON)
    account, role, binding = children.service_account(made), children.role(made), children.role_binding(made)

    assert account is not None
    assert role is not None
    assert binding is not None
    assert account["metadata"]["name"] == role["metadata"]["name"] == binding["metadata"]["name"] == "demo"
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["pods"], ["get", "list", "watch", "patch"]),
        (["pods/resize"], ["patch"]),
        (["rayclusters"], ["get", "patch"]),
    ]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "demo", "namespace": "lab"}]
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "demo"}


def test_the_users_account_is_used_as_it_is_named() -> None:
    name = f"0-{'long' * 15}"
    made = cluster(_ON, head={"template": template(serviceAccountName=name)})
    binding = children.role_binding(made)

    assert children.service_account(made) is None
    assert shapes.head_pod(made, "h")["spec"]["serviceAccountName"] == name
    assert binding is not None
    assert binding["subjects"][0]["name"] == name


def test_long_names_are_cut() -> None:
    made = cluster(_ON, name=f"a0{'b' * 51}")
    account = children.service_account(made)

    assert account is not None
    assert account["metadata"]["name"] == shapes.head_pod(made, "h")["spec"]["serviceAccountName"] == "b" * 50


def _backend(port: int) -> Object:
    return {"service": {"name": "demo-head-svc", "port": {"number": port}}}


def test_no_ingress_unless_asked_for() -> None:
    assert children.ingress(cluster()) is None
    assert children.ingress(cluster(head={"enableIngress": False})) is None


def test_annotations_of_the_cluster_are_its_settings() -> None:
    annotations = {"kubernetes.io/ingress.class": "nginx", "a": "b"}
    ports = [{"name": "dashboard", "containerPort": 9}]

    made = children.ingress(
        cluster(head={"enableIngress": True, "template": template({"ports": ports})}, annotations=annotations)
    )

    assert made is not None
    assert made["metadata"]["name"] == "demo-head-ingress"
    assert made["metadata"]["annotations"] == {"a": "b"}
    path = {"path": "/demo/(.*)", "pathType": "Exact", "backend": _backend(9)}
    assert made["spec"] == {"ingressClassName": "nginx", "rules": [{"http": {"paths": [path]}}]}


def test_options_say_where() -> None:
    tls = [{"hosts": ["ray.example"], "secretName": "tls"}]
    options = {"host": "ray.example", "tls": tls}

    made = children.ingress(cluster(head={"enableIngress": True, "ingressOptions": options}))

    assert made is not None
    path = {"path": "/", "pathType": "Prefix", "backend": _backend(8265)}
    assert made["spec"] == {"rules": [{"host": "ray.example", "http": {"paths": [path]}}], "tls": tls}


_OWN = {"podSelector": {"matchLabels": {"ray.io/cluster": "demo"}}}
_NAMES = {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]}


def _policies(options: Object) -> dict[str, Object]:
    made = children.network_policies(cluster({"networkPolicy": options}, groups=[{}, {}]))
    return {policy["metadata"]["name"]: policy for policy in made}


def test_no_policy_unless_asked_for() -> None:
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
def test_modes_of_a_network_policy(mode: str, kinds: list[str]) -> None:
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
