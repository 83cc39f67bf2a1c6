"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

from tests.contract.case import MERGE, Step, case, create, get, merge
from tests.contract.objects import configmap, container, pod, raycluster, service, worker_group

_START = create("configmaps", configmap("c", {"a": "1", "b": "2"}, labels={"x": "1"}))


def _raw(path: str, body: str) -> Step:
    return Step("PATCH", merge(path, None).path, body, {"Content-Type": MERGE})


CASES = [
    case(
        "fields are set, replaced and removed by null",
        _START,
        merge("configmaps/c", {"data": {"a": None, "b": "x", "c": "3"}}),
        get("configmaps/c"),
    ),
    case("a map is removed by null", _START, merge("configmaps/c", {"data": None, "metadata": {"labels": None}})),
    case("null for what is not there changes nothing", _START, merge("configmaps/c", {"data": {"zzz": None}})),
    case("an empty patch changes nothing", _START, merge("configmaps/c", {})),
    case(
        "lists are replaced",
        create("pods", pod("p", container(), metadata={"finalizers": ["example.com/a", "example.com/b"]})),
        merge("pods/p", {"metadata": {"finalizers": ["example.com/b"]}}),
        merge("pods/p", {"metadata": {"finalizers": None}}),
    ),
    case(
        "lists of a custom kind are replaced",
        create("rayclusters", raycluster("r", workerGroupSpecs=[worker_group("a"), worker_group("b")])),
        merge("rayclusters/r", {"spec": {"workerGroupSpecs": [worker_group("c")]}}),
    ),
    case("a value of a wrong type is refused", _START, merge("configmaps/c", {"data": {"a": 1}})),
    case("a list where a map belongs is refused", _START, merge("configmaps/c", {"data": []})),
    case(
        "a wrong type in a custom kind is refused",
        create("rayclusters", raycluster("r")),
        merge("rayclusters/r", {"spec": {"suspend": "yes"}}),
    ),
    case("a list as the patch is refused", _START, _raw("configmaps/c", "[]")),
    case("a string as the patch is refused", _START, _raw("configmaps/c", '"x"')),
    case("null as the patch", _START, _raw("configmaps/c", "null")),
    case("a patch that is no JSON is refused", _START, _raw("configmaps/c", "{nope")),
    case("an empty body is refused", _START, _raw("configmaps/c", "")),
    case("a patch in YAML is refused", _START, _raw("configmaps/c", "data:\n  a: '2'\n")),
    case(
        "a resource version in the patch is a precondition",
        _START.keeping(rv="metadata.resourceVersion"),
        merge("configmaps/c", {"metadata": {"resourceVersion": "{rv}"}, "data": {"a": "2"}}),
        merge("configmaps/c", {"metadata": {"resourceVersion": "{rv}"}, "data": {"a": "3"}}),
    ),
    case(
        "a uid in the patch is a precondition",
        _START,
        merge("configmaps/c", {"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}}),
    ),
    case("the name cannot be changed", _START, merge("configmaps/c", {"metadata": {"name": "d"}})),
    case("the namespace cannot be changed", _START, merge("configmaps/c", {"metadata": {"namespace": "other"}})),
    case("the kind cannot be changed", _START, merge("configmaps/c", {"kind": "Secret"})),
    case(
        "the times of creation and deletion cannot be changed",
        _START,
        merge(
            "configmaps/c",
            {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z", "deletionTimestamp": "2020-01-01T00:00:00Z"}},
        ),
    ),
    case(
        "creation time null is put back",
        _START,
        merge("configmaps/c", {"metadata": {"creationTimestamp": None, "labels": {"x": "2"}}}),
    ),
    case(
        "a patched object is validated",
        create("services", service("s")),
        merge("services/s", {"spec": {"ports": [{"port": 0}]}}),
    ),
    case("unknown fields warn", _START, merge("configmaps/c", {"unknown": 1, "metadata": {"strange": True}})),
    case(
        "unknown fields are refused when strict",
        _START,
        merge("configmaps/c", {"unknown": 1, "metadata": {"strange": True}}, fieldValidation="Strict"),
    ),
    case(
        "duplicate fields are refused when strict",
        _START,
        Step(
            "PATCH",
            merge("configmaps/c", None, fieldValidation="Strict").path,
            '{"data": {"a": "1", "a": "2"}}',
            {"Content-Type": MERGE},
        ),
    ),
    case("a patch of a whole collection is not allowed", merge("configmaps", {"data": {}})),
    case(
        "the field manager of a patch is the program or what it says",
        _START.as_("first"),
        merge("configmaps/c", {"data": {"b": "3"}}).as_("second"),
        merge("configmaps/c", {"data": {"c": "3"}}, fieldManager="third"),
    ),
    case("force is refused outside of apply", _START, merge("configmaps/c", {"data": {"b": "3"}}, force=True)),
    case(
        "spec and metadata of a status patch are ignored but for managed fields",
        create("rayclusters", raycluster("r")),
        merge(
            "rayclusters/r/status",
            {"metadata": {"labels": {"x": "1"}}, "spec": {"suspend": True}, "status": {"state": "ready"}},
        ),
    ),
    case(
        "status in a patch of the main resource is ignored",
        create("rayclusters", raycluster("r")),
        merge("rayclusters/r", {"spec": {"suspend": True}, "status": {"state": "ready"}}),
    ),
]
