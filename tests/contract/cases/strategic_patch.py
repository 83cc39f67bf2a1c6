"""Strategic merge patch: lists with merge keys, directives."""

from __future__ import annotations

from tests.contract.case import (
    NEVER_A_SERVER_ERROR,
    STRATEGIC,
    Case,
    Step,
    bad_request_in,
    case,
    create,
    get,
    strategic,
)
from tests.contract.objects import configmap, container, deployment, pod, raycluster, service

_ENV = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
_DEPLOYMENT = create(
    "deployments",
    deployment("d", template={
        "metadata": {"labels": {"app": "a"}},
        "spec": {
            "containers": [container("one", env=_ENV, ports=[{"containerPort": 80}]), container("two")],
            "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
            "tolerations": [{"key": "k", "operator": "Exists"}],
            "nodeSelector": {"disk": "fast"},
        },
    }),
)  # fmt: skip


def _in_pod(**spec: object) -> dict[str, object]:
    return {"spec": {"template": {"spec": spec}}}


def _refused(name: str, patch: dict[str, object]) -> Case:
    return case(
        f"{name} is refused",
        _DEPLOYMENT,
        strategic("deployments/d", patch),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(1),
    )


CASES = [
    case(
        "containers merge by name",
        _DEPLOYMENT,
        strategic("deployments/d", _in_pod(containers=[{"name": "two", "image": "alpine"}])),
    ),
    case(
        "a new container is put first",
        _DEPLOYMENT,
        strategic("deployments/d", _in_pod(containers=[{"name": "three", "image": "alpine"}])),
    ),
    case(
        "environment merges by name",
        _DEPLOYMENT,
        strategic(
            "deployments/d",
            _in_pod(containers=[{"name": "one", "env": [{"name": "B", "value": "x"}, {"name": "C", "value": "3"}]}]),
        ),
    ),
    case(
        "an item is deleted by a directive",
        _DEPLOYMENT,
        strategic("deployments/d", _in_pod(containers=[{"name": "one", "env": [{"name": "A", "$patch": "delete"}]}])),
    ),
    case(
        "a list is replaced by a directive",
        _DEPLOYMENT,
        strategic("deployments/d", _in_pod(containers=[{"name": "only", "image": "x"}, {"$patch": "replace"}])),
    ),
    case(
        "a map is replaced by a directive",
        _DEPLOYMENT,
        strategic("deployments/d", _in_pod(nodeSelector={"$patch": "replace", "zone": "z"})),
    ),
    case(
        "a map is deleted by a directive",
        _DEPLOYMENT,
        strategic("deployments/d", _in_pod(nodeSelector={"$patch": "delete"})),
    ),
    _refused("a merge directive for a map", _in_pod(nodeSelector={"$patch": "merge", "zone": "z"})),
    _refused("an unknown directive", _in_pod(nodeSelector={"$patch": "explode"})),
    case(
        "lists without a key are replaced",
        _DEPLOYMENT,
        strategic("deployments/d", _in_pod(tolerations=[{"key": "new", "operator": "Exists"}])),
    ),
    case("null removes", _DEPLOYMENT, strategic("deployments/d", _in_pod(nodeSelector=None, tolerations=None))),
    case(
        "the order of items can be set",
        _DEPLOYMENT,
        strategic(
            "deployments/d",
            _in_pod(
                **{
                    "$setElementOrder/containers": [{"name": "two"}, {"name": "one"}],
                    "containers": [{"name": "one", "image": "n"}],
                }
            ),
        ),
    ),
    _refused(
        "an order that misses an item of the patch",
        _in_pod(**{"$setElementOrder/containers": [{"name": "two"}], "containers": [{"name": "one", "image": "n"}]}),
    ),
    case(
        "keys are retained",
        _DEPLOYMENT,
        strategic(
            "deployments/d",
            _in_pod(volumes=[{"$retainKeys": ["name", "configMap"], "name": "v", "configMap": {"name": "c"}}]),
        ),
    ),
    case(
        "changing a volume's source without retaining keys is refused",
        _DEPLOYMENT,
        strategic("deployments/d", _in_pod(volumes=[{"name": "v", "configMap": {"name": "c"}}])),
    ),
    case(
        "the strategy of a Deployment retains keys",
        _DEPLOYMENT,
        strategic("deployments/d", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
    ),
    _refused("an item without its key", _in_pod(containers=[{"image": "x"}])),
    case(
        "finalizers merge as a set",
        create("configmaps", configmap("c", finalizers=["example.com/a", "example.com/b"])),
        strategic("configmaps/c", {"metadata": {"finalizers": ["example.com/c"]}}),
        strategic(
            "configmaps/c", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/c"]}}
        ),
        strategic("configmaps/c", {"metadata": {"finalizers": None}}),
    ),
    case(
        "the order of finalizers can be set",
        create("configmaps", configmap("c", finalizers=["example.com/a", "example.com/b"])),
        strategic(
            "configmaps/c",
            {
                "metadata": {
                    "$setElementOrder/finalizers": ["example.com/b", "example.com/a"],
                    "finalizers": ["example.com/a"],
                }
            },
        ),
    ),
    case(
        "owner references merge by uid",
        create(
            "configmaps",
            configmap("c", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}]),
        ),
        strategic(
            "configmaps/c",
            {"metadata": {"ownerReferences": [{"uid": "u2", "apiVersion": "v1", "kind": "Pod", "name": "q"}]}},
        ),
        strategic("configmaps/c", {"metadata": {"ownerReferences": [{"uid": "u1", "$patch": "delete"}]}}),
    ),
    case(
        "the ports of a Service merge by port",
        create("services", service("s", {"name": "a", "port": 80}, {"name": "b", "port": 81})),
        strategic("services/s", {"spec": {"ports": [{"port": 81, "targetPort": 9}, {"port": 82, "name": "c"}]}}),
    ),
    case(
        "conditions merge by type",
        create("pods", pod("p")),
        strategic(
            "pods/p/status",
            {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Mine", "status": "True"}]}},
        ),
        strategic("pods/p/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
    ),
    case(
        "data of a ConfigMap",
        create("configmaps", configmap("c", {"a": "1", "b": "2"})),
        strategic("configmaps/c", {"data": {"a": None, "c": "3"}}),
        strategic("configmaps/c", {"data": {"$patch": "replace", "z": "1"}}),
        get("configmaps/c"),
    ),
    case(
        "custom kinds refuse it",
        create("rayclusters", raycluster("r")),
        strategic("rayclusters/r", {"spec": {"suspend": True}}),
    ),
    case(
        "a body that is no JSON is refused",
        create("configmaps", configmap("c")),
        Step("PATCH", strategic("configmaps/c", None).path, "{", {"Content-Type": STRATEGIC}),
    ),
    case("a list as the patch is refused", create("configmaps", configmap("c")), strategic("configmaps/c", [])),
    case(
        "a value of a wrong type is refused",
        create("configmaps", configmap("c")),
        strategic("configmaps/c", {"data": "x"}),
        strategic("configmaps/c", {"data": {"a": 5}}),
    ),
    case(
        "a wrong type deep inside is refused",
        _DEPLOYMENT,
        strategic("deployments/d", _in_pod(containers="none")),
        strategic("deployments/d", {"spec": {"replicas": "two"}}),
    ),
    case(
        "unknown fields warn, or are refused when strict",
        create("configmaps", configmap("c")),
        strategic("configmaps/c", {"unknown": 1}),
        strategic("configmaps/c", {"unknown": 1}, fieldValidation="Strict"),
    ),
    case(
        "a stale resource version is a conflict",
        create("configmaps", configmap("c")),
        strategic("configmaps/c", {"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}}),
    ),
    case("an empty patch changes nothing", create("configmaps", configmap("c")), strategic("configmaps/c", {})),
]
