"""Services: addresses, ports, types."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Case, case, create, delete, get, json_patch, merge, update
from tests.contract.objects import service


def _refused(name: str, /, *ports: dict[str, Any], **spec: Any) -> Case:
    return case(f"refused: {name}", create("services", service("s", *ports, **spec)))


CASES = [
    case("defaults", create("services", service("s")), get("services/s")),
    case(
        "defaults: of several ports",
        create(
            "services",
            service(
                "s",
                {"name": "a", "port": 80, "targetPort": "web"},
                {"name": "b", "port": 53, "protocol": "UDP"},
                {"name": "c", "port": 90, "appProtocol": "http"},
            ),
        ),
    ),
    case("headless", create("services", service("s", clusterIP="None"))),
    case(
        "headless without ports",
        create("services", {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}}),
    ),
    case(
        "a node port",
        create("services", service("s", type="NodePort")),
        create("services", service("t", {"port": 80, "nodePort": 30_007}, type="NodePort")),
        create("services", service("u", {"port": 80, "nodePort": 30_007}, type="NodePort")),
        delete("services/t"),
    ),
    case("a load balancer", create("services", service("s", type="LoadBalancer", externalTrafficPolicy="Local"))),
    case(
        "an external name",
        create(
            "services", {"metadata": {"name": "s"}, "spec": {"type": "ExternalName", "externalName": "example.com"}}
        ),
    ),
    case("no selector", create("services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})),
    case("session affinity", create("services", service("s", sessionAffinity="ClientIP"))),
    case(
        "an address of one's own",
        create("services", service("s")).keeping(ip="spec.clusterIP"),
        create("services", service("t", clusterIP="{ip}")),
        delete("services/s"),
        create("services", service("t", clusterIP="{ip}")),
        delete("services/t"),
    ),
    case(
        "two stacks on a cluster of one",
        create("services", service("s", ipFamilyPolicy="PreferDualStack")),
        create("services", service("t", ipFamilyPolicy="RequireDualStack")),
    ),
    case(
        "the address stays over an update without one",
        create("services", service("s")),
        update("services/s", service("s", {"port": 81})),
        merge("services/s", {"spec": {"clusterIP": ""}}),
    ),
    case(
        "the address may not change",
        create("services", service("s")),
        merge("services/s", {"spec": {"clusterIP": "10.96.55.2", "clusterIPs": ["10.96.55.2"]}}),
        merge("services/s", {"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}),
    ),
    case(
        "a change of type",
        create("services", service("s")),
        merge("services/s", {"spec": {"type": "NodePort"}}),
        merge("services/s", {"spec": {"type": "ClusterIP"}}),
        merge("services/s", {"spec": {"type": "ExternalName", "externalName": "example.com"}}),
    ),
    case(
        "ports are added and removed",
        create("services", service("s", {"name": "a", "port": 80})),
        json_patch("services/s", {"op": "add", "path": "/spec/ports/-", "value": {"name": "b", "port": 81}}),
        json_patch("services/s", {"op": "remove", "path": "/spec/ports/0"}),
    ),
    case(
        "a selector is changed and removed",
        create("services", service("s")),
        merge("services/s", {"spec": {"selector": {"app": None, "x": "y"}}}),
        merge("services/s", {"spec": {"selector": None}}),
    ),
    _refused("no ports", ports=[]),
    _refused("two ports without names", {"port": 80}, {"port": 81}),
    _refused("two ports of one name", {"name": "a", "port": 80}, {"name": "a", "port": 81}),
    _refused("two ports of one number", {"name": "a", "port": 80}, {"name": "b", "port": 80}),
    _refused("port numbers", {"port": 0}),
    _refused("a port's name and protocol", {"port": 80, "name": "Up", "protocol": "ICMP"}),
    _refused("a target port", {"port": 80, "targetPort": "no such name!"}),
    _refused("a target port of too high a number", {"port": 80, "targetPort": 70_000}),
    _refused("a node port on a cluster IP", {"port": 80, "nodePort": 30_001}),
    _refused("a node port out of range", {"port": 80, "nodePort": 80}, type="NodePort"),
    _refused("a type", type="Teleport"),
    _refused("an address outside of the range", clusterIP="192.168.1.1"),
    _refused("an address that is none", clusterIP="nonsense"),
    _refused("a headless node port", type="NodePort", clusterIP="None"),
    _refused("an external name without a name", type="ExternalName"),
    _refused("affinity", sessionAffinity="Strong"),
    _refused("a selector", selector={"a b": "c"}),
    _refused("external addresses", externalIPs=["127.0.0.1", "x"]),
    _refused("traffic policies", internalTrafficPolicy="Maybe", externalTrafficPolicy="Local"),
    _refused("two addresses of one family", clusterIPs=["10.96.1.1", "10.96.1.2"], clusterIP="10.96.1.1"),
    _refused("addresses that contradict", clusterIPs=["10.96.1.1"], clusterIP="10.96.1.2"),
]
