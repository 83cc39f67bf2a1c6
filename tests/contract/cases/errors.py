"""What bad input gets: malformed bodies, wrong types, unknown paths."""

from __future__ import annotations

from tests.contract.case import MERGE, STRATEGIC, Case, Step, at, case, create, delete, get, merge, update
from tests.contract.objects import configmap, pod, raycluster, service

_CM = at("configmaps")


def _post(body: str | bytes, content_type: str = "application/json", path: str = _CM) -> Step:
    return Step("POST", path, body, {"Content-Type": content_type})


def _deep(depth: int) -> str:
    return '{"metadata":{"name":"c"},"data":' + '{"a":' * depth + "1" + "}" * depth + "}"


_BODIES = {
    "half an object": '{"metadata": {"name": "c"',
    "two objects": '{"metadata": {"name": "c"}} {"metadata": {"name": "d"}}',
    "a trailing comma": '{"metadata": {"name": "c"},}',
    "single quotes": "{'metadata': {'name': 'c'}}",
    "a list": "[]",
    "a number": "5",
    "a string": '"c"',
    "null": "null",
    "an empty object": "{}",
    "bytes that are no text": b"\xff\xfe\x00",
    "a NUL in a name": '{"metadata": {"name": "c\\u0000"}}',
    "half a surrogate": '{"metadata": {"name": "c"}, "data": {"a": "\\ud800"}}',
    "a number too big": '{"metadata": {"name": "c", "generation": 99999999999999999999}}',
    "a fraction for a whole number": '{"metadata": {"name": "c", "generation": 1.5}}',
    "metadata that is a string": '{"metadata": "c"}',
    "a name that is a number": '{"metadata": {"name": 5}}',
    "labels that are a list": '{"metadata": {"name": "c", "labels": ["a"]}}',
    "a label that is a number": '{"metadata": {"name": "c", "labels": {"a": 1}}}',
    "a date that is none": '{"metadata": {"name": "c", "creationTimestamp": "yesterday"}}',
    "a kind that is a number": '{"kind": 5, "metadata": {"name": "c"}}',
    "binary data that is no base64": '{"metadata": {"name": "c"}, "binaryData": {"a": "%%%"}}',
}

_NAMES = ["", "UPPER", "under_score", "-a", "a-", "a..b", "a/b", "a b", ".", "..", "a" * 254, "ä", "a%b"]


_MULTIPLYING = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{letter}: &{letter} [{','.join([f'*{chr(ord(letter) - 1)}'] * 9)}]\n" for letter in "bcdefg"
)


CASES: list[Case] = [
    *[case(f"body: {name}", _post(body), get("configmaps/c").only_of("kind")) for name, body in _BODIES.items()],
    case("body: nesting of 1,000", _post(_deep(1_000))),
    case("body: nesting of 20,000", _post(_deep(20_000))),
    case("body: nested lists", _post("[" * 20_000 + "]" * 20_000)),
    case(
        "body: more than 3 MB",
        _post(b'{"metadata":{"name":"c"},"data":{"a":"' + b"x" * 3_200_000 + b'"}}').only_of(
            "code", "reason", "message", "details"
        ),
    ),
    case(
        "body: a patch of more than 3 MB",
        create("configmaps", configmap("c")),
        Step("PATCH", f"{_CM}/c", b'{"data":{"a":"' + b"x" * 3_200_000 + b'"}}', {"Content-Type": MERGE}),
    ),
    case("body: data of more than 1 MB", _post(b'{"metadata":{"name":"c"},"data":{"a":"' + b"x" * 1_100_000 + b'"}}')),
    case(
        "body: a broken custom object",
        _post('{"apiVersion": "ray.io/v1", "kind": ', path=at("rayclusters")),
        _post("[]", path=at("rayclusters")),
        _post("null", path=at("rayclusters")),
        _post("{}", path=at("rayclusters")),
    ),
    case(
        "body: a custom object of another kind",
        _post('{"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "c"}}', path=at("rayclusters")),
    ),
    case(
        "body: a custom object of another group",
        _post(
            '{"apiVersion": "example.com/v1", "kind": "RayCluster", "metadata": {"name": "c"}}', path=at("rayclusters")
        ),
    ),
    case(
        "body: a custom object of another version",
        _post('{"apiVersion": "ray.io/v9", "kind": "RayCluster", "metadata": {"name": "c"}}', path=at("rayclusters")),
    ),
    case(
        "body: a custom object with metadata of a wrong type",
        create("rayclusters", {**raycluster("r"), "metadata": {"name": "r", "labels": {"a": 1}}}),
        create("rayclusters", {**raycluster("r"), "metadata": "r"}),
        create("rayclusters", {**raycluster("r"), "metadata": {"name": 5}}),
        create("rayclusters", {**raycluster("r"), "metadata": {"name": "r", "finalizers": "a"}}),
    ),
    case("YAML: a tab", _post("metadata:\n\tname: c\n", "application/yaml")),
    case("YAML: an open bracket", _post("metadata: {name: c\n", "application/yaml")),
    case("YAML: a text", _post("hello", "application/yaml")),
    case("YAML: an unknown alias", _post("metadata: *nothing\n", "application/yaml")),
    case(
        "YAML: a repeated key",
        _post("metadata: {name: c}\ndata: {a: '1', a: '2'}\n", "application/yaml"),
        get("configmaps/c").only_of("data"),
    ),
    case(
        "YAML: two documents",
        _post("metadata: {name: c}\n---\nmetadata: {name: d}\n", "application/yaml"),
        get("configmaps/c").only_of("kind"),
        get("configmaps/d").only_of("kind"),
    ),
    case(
        "YAML: numbers and booleans where strings belong",
        _post("metadata: {name: c}\ndata: {a: 1}\n", "application/yaml"),
        _post("metadata: {name: c}\ndata: {a: yes}\n", "application/yaml"),
    ),
    case("YAML: anchors", _post("metadata: {name: c, labels: &l {a: b}, annotations: *l}\n", "application/yaml")),
    case(
        "YAML: aliases that multiply",
        _post(
            _MULTIPLYING,
            "application/yaml",
        ),
    ),
    case("protobuf: no magic", _post(b"hello", "application/vnd.kubernetes.protobuf")),
    case("protobuf: magic alone", _post(b"k8s\x00", "application/vnd.kubernetes.protobuf")),
    case(
        "protobuf: garbage after the magic",
        _post(b"k8s\x00\xff\xff\xff\xff\xff", "application/vnd.kubernetes.protobuf"),
    ),
    case(
        "protobuf: an object cut short",
        _post(b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x50\n", "application/vnd.kubernetes.protobuf"),
    ),
    case(
        "protobuf: another kind",
        _post(
            b"k8s\x00\n\x0c\n\x02v1\x12\x06Secret\x12\x05\n\x03\n\x01c\x1a\x00\x22\x00",
            "application/vnd.kubernetes.protobuf",
        ),
    ),
    case(
        "protobuf: a valid object",
        _post(
            b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x0d\n\x03\n\x01c\x12\x06\n\x01a\x12\x011\x1a\x00\x22\x00",
            "application/vnd.kubernetes.protobuf",
        ),
        get("configmaps/c"),
    ),
    case(
        "content type: unknown",
        _post("{}", "text/plain"),
        _post("{}", "application/xml"),
        _post("{}", "nonsense"),
        _post("{}", "application/json; charset=utf-8"),
    ),
    case("content type: none is JSON", Step("POST", _CM, configmap("c"), {"Content-Type": ""})),
    case(
        "content type: of an update",
        create("configmaps", configmap("c")),
        Step("PUT", f"{_CM}/c", "{}", {"Content-Type": "text/plain"}),
    ),
    case(
        "content type: of a patch",
        create("configmaps", configmap("c")),
        *[
            Step("PATCH", f"{_CM}/c", "{}", {"Content-Type": kind})
            for kind in (
                "application/json",
                "text/plain",
                "",
                "application/yaml",
                "application/apply-patch+json",
                "application/apply-patch+cbor",
                f"{MERGE}; charset=utf-8",
            )
        ],
    ),
    case(
        "content type: of a patch to a custom object",
        create("rayclusters", raycluster("r")),
        *[Step("PATCH", at("rayclusters/r"), "{}", {"Content-Type": kind}) for kind in ("application/json", STRATEGIC)],
    ),
    case(
        "content type: of delete options",
        create("configmaps", configmap("c")),
        Step("DELETE", f"{_CM}/c", "{}", {"Content-Type": "text/plain"}),
    ),
    case(
        "accept: unknown",
        create("configmaps", configmap("c")),
        get("configmaps/c", "text/html"),
        get("configmaps/c", "application/xml"),
        get("configmaps/c", "text/html, */*;q=0.8").only_of("kind"),
    ),
    case(
        "accept: wildcards",
        create("configmaps", configmap("c")),
        get("configmaps/c", "*/*").only_of("kind"),
        get("configmaps/c", "application/*").only_of("kind"),
    ),
    case(
        "accept: yaml",
        create("configmaps", configmap("c", {"a": "1"})),
        get("/api/v1/namespaces/{ns}/configmaps?fieldSelector=metadata.name%3Dnothing", "application/yaml"),
    ),
    case(
        "accept: an unknown transformation",
        create("configmaps", configmap("c")),
        get("configmaps/c", "application/json;as=Poem;g=meta.k8s.io;v=v1"),
        get("configmaps/c", "application/json;as=Table;g=example.com;v=v1"),
        get("configmaps/c", "application/json;as=Table;g=meta.k8s.io;v=v1,application/json").only_of("kind"),
    ),
    *[
        case(
            f"name: {name[:12]!r}{'...' if len(name) > 12 else ''}", create("configmaps", {"metadata": {"name": name}})
        )
        for name in _NAMES
    ],
    case(
        "name: of a Service",
        create("services", service("1abc")),
        create("services", service("a.b")),
        create("services", service("a" * 64)),
    ),
    case("name: of a Pod", create("pods", pod("a.b")), create("pods", pod("A"))),
    case(
        "name: of a custom object",
        create("rayclusters", raycluster("Bad_Name")),
        create("rayclusters", raycluster("a" * 254)),
    ),
    case(
        "name: of a Role may hold more",
        create("roles", {"metadata": {"name": "system:a b"}}),
        create("roles", {"metadata": {"name": "a/b"}}),
        create("roles", {"metadata": {"name": "a%b"}}),
    ),
    case(
        "labels and annotations that are not allowed",
        create("configmaps", configmap("c", labels={"a b": "c"})),
        create("configmaps", configmap("c", labels={"a": "b c"})),
        create("configmaps", configmap("c", labels={"a": "x" * 64})),
        create("configmaps", configmap("c", annotations={"a b": "c"})),
        create("configmaps", configmap("c", labels={"UPPER.com/a": "x"})),
        create("configmaps", configmap("c", labels={"/a": "x"})),
    ),
    case("annotations of more than 256 KB", create("configmaps", configmap("c", annotations={"a": "x" * 262_200}))),
    case(
        "owner references that are not allowed",
        create("configmaps", configmap("c", ownerReferences=[{}])),
        create(
            "configmaps", configmap("c", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}])
        ),
        create(
            "configmaps",
            configmap("c", ownerReferences=[{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "u"}]),
        ),
        create(
            "configmaps",
            configmap("c", ownerReferences=[{"apiVersion": "a/b/c", "kind": "Pod", "name": "p", "uid": "u"}]),
        ),
    ),
    case(
        "two controllers are refused",
        create(
            "configmaps",
            configmap(
                "c",
                ownerReferences=[
                    {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True} for name in "pq"
                ],
            ),
        ),
    ),
    case(
        "one owner twice warns",
        create(
            "configmaps",
            configmap("c", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}] * 2),
        ),
    ),
    case(
        "a body of another kind",
        create("configmaps", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}}),
        create("configmaps", {"apiVersion": "v1", "kind": "Nonsense", "metadata": {"name": "c"}}),
        create("configmaps", {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "c"}}),
        create("configmaps", {"apiVersion": "apps/v1", "kind": "ConfigMap", "metadata": {"name": "c"}}),
        create("configmaps", {"kind": "ConfigMap", "metadata": {"name": "c"}}),
        create("configmaps", {"apiVersion": "v1", "metadata": {"name": "d"}}),
    ),
    case(
        "unknown paths",
        get("/nothing"),
        get("/api/v9"),
        get("/apis/nothing.example.com"),
        get("/apis/nothing.example.com/v1"),
        get("/apis/apps/v9/deployments"),
        get("/api/v1/nonsense"),
        get("/api/v1/namespaces/{ns}/nonsense"),
        get("/api/v1/namespaces/{ns}/nonsense/x"),
        create("/api/v1/namespaces/{ns}/nonsense", {}),
        delete("/api/v1/namespaces/{ns}/nonsense/x"),
    ),
    case(
        "unknown subresources",
        create("configmaps", configmap("c")),
        get("configmaps/c/nonsense"),
        get("configmaps/c/status"),
        get("configmaps/c/scale"),
        get("rayclusters/r/nonsense"),
        get("pods/p/nonsense"),
    ),
    case(
        "unknown custom kinds",
        get("/apis/ray.io/v1/namespaces/{ns}/rayrockets"),
        get("/apis/ray.io/v9/namespaces/{ns}/rayclusters"),
        create("/apis/ray.io/v1/namespaces/{ns}/rayrockets", {}),
    ),
    case(
        "methods that are not allowed",
        Step("POST", at("configmaps/c"), configmap("c")),
        Step("PUT", _CM, configmap("c")),
        Step("PATCH", _CM, "{}", {"Content-Type": MERGE}),
        Step("DELETE", "/api/v1/configmaps"),
        Step("OPTIONS", _CM),
        Step("POST", at("rayclusters/r"), raycluster("r")),
        Step("PUT", at("rayclusters"), raycluster("r")),
        Step("DELETE", "/api/v1/namespaces"),
    ),
    case(
        "methods that are not allowed on subresources",
        create("pods", pod("p")),
        Step("DELETE", at("pods/p/status")),
        Step("POST", at("pods/p/status"), pod("p")),
        Step("GET", at("pods/p/binding")),
        Step("GET", at("pods/p/eviction")),
    ),
    case(
        "a cluster-wide kind inside a namespace",
        get("/api/v1/namespaces/{ns}/nodes"),
        get("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/clusterroles"),
    ),
    case("a namespaced kind outside of one", get("/api/v1/configmaps/c"), delete("/api/v1/pods/p")),
    case(
        "query values that are not allowed",
        create("configmaps", configmap("c"), dryRun="Some"),
        create("configmaps", configmap("c"), dryRun=""),
        create("configmaps", configmap("c"), fieldValidation="Loose"),
        create("configmaps", configmap("c"), fieldManager="x" * 200),
        update("configmaps/c", configmap("c"), dryRun="Some"),
        merge("configmaps/c", {}, dryRun="Some"),
        delete("configmaps/c", dryRun="Some"),
        get("configmaps", timeoutSeconds="x"),
    ),
    case("an unknown query value is ignored", get("leases?nonsense=1&other=2")),
    case("no token", get("configmaps").with_headers(Authorization="")),
    case(
        "a wrong token",
        get("configmaps").with_headers(Authorization="Bearer nonsense"),
        get("configmaps").with_headers(Authorization="Basic YTpi"),
    ),
    case("HEAD", create("configmaps", configmap("c")), Step("HEAD", at("configmaps/c"))),
]
