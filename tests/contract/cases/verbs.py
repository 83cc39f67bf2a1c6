"""Create, read, replace and delete: what each verb answers and changes."""

from __future__ import annotations

from tests.contract.case import NEVER_A_SERVER_ERROR, bad_request_in, case, create, delete, get, merge, update
from tests.contract.objects import configmap, meta, pod, secret

CASES = [
    case(
        "an object is created, read, replaced and deleted",
        create("configmaps", configmap("c")).keeping(rv="metadata.resourceVersion"),
        get("configmaps/c"),
        update("configmaps/c", configmap("c", {"a": "2"}, resourceVersion="{rv}")),
        get("configmaps/c"),
        delete("configmaps/c"),
        get("configmaps/c"),
    ),
    case(
        "a second create of the same name is refused",
        create("configmaps", configmap("c")),
        create("configmaps", configmap("c")),
    ),
    case(
        "apiVersion and kind may be left out of a body",
        create("configmaps", {"metadata": meta("c"), "data": {"a": "1"}}),
        update("configmaps/c", {"metadata": meta("c"), "data": {"a": "2"}}),
    ),
    case("the namespace may be given in the body", create("configmaps", configmap("c", namespace="{ns}"))),
    case("a foreign namespace in the body is refused", create("configmaps", configmap("c", namespace="default"))),
    case("a create without a name is refused", create("configmaps", {"metadata": {}, "data": {}})),
    case("a create without metadata is refused", create("configmaps", {"data": {}})),
    case("a create with an empty body is refused", create("configmaps", "")),
    case(
        "the server sets what a client may not",
        create(
            "configmaps",
            configmap(
                "c",
                uid="11111111-1111-1111-1111-111111111111",
                creationTimestamp="2020-01-01T00:00:00Z",
                deletionTimestamp="2020-01-01T00:00:00Z",
                deletionGracePeriodSeconds=5,
                generation=7,
                selfLink="/nowhere",
            ),
        ),
    ),
    case(
        "a resource version on create is refused",
        create("configmaps", configmap("c", resourceVersion="5")),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case(
        "an update that changes nothing keeps the resource version",
        create("configmaps", configmap("c")),
        update("configmaps/c", configmap("c")),
        merge("configmaps/c", {"data": {"a": "1"}}),
        update("configmaps/c", configmap("c", {"a": "2"})),
    ),
    case("an update of what does not exist is refused", update("configmaps/c", configmap("c"))),
    case(
        "an update with a uid of another object is refused",
        create("configmaps", configmap("c")),
        update("configmaps/c", configmap("c", uid="11111111-1111-1111-1111-111111111111")),
    ),
    case(
        "an update under another name is refused",
        create("configmaps", configmap("c")),
        update("configmaps/c", configmap("d")),
    ),
    case(
        "an update without a name takes the one of the path",
        create("configmaps", configmap("c")),
        update("configmaps/c", {"data": {"b": "2"}}),
    ),
    case(
        "an update in another namespace is refused",
        create("configmaps", configmap("c")),
        update("configmaps/c", configmap("c", namespace="default")),
    ),
    case(
        "labels and annotations are replaced as a whole",
        create("configmaps", configmap("c", labels={"a": "1", "b": "2"}, annotations={"x": "1"})),
        update("configmaps/c", configmap("c", labels={"b": "3"})),
    ),
    case("get of what does not exist", get("configmaps/nothing")),
    case("delete of what does not exist", delete("configmaps/nothing")),
    case("patch of what does not exist", merge("configmaps/nothing", {"data": {}})),
    case(
        "create in a namespace that does not exist",
        create("/api/v1/namespaces/nowhere-to-be/configmaps", configmap("c")),
    ),
    case("get in a namespace that does not exist", get("/api/v1/namespaces/nowhere-to-be/configmaps/c")),
    case("list in a namespace that does not exist is empty", get("/api/v1/namespaces/nowhere-to-be/configmaps")),
    case(
        "create through the path of all namespaces is refused",
        create("/api/v1/configmaps", configmap("c")),
        create("/api/v1/configmaps", configmap("c", namespace="{ns}")),
    ),
    case(
        "generation follows the spec of a Pod and not its metadata or status",
        create("pods", pod("p")),
        merge("pods/p", {"metadata": {"labels": {"a": "1"}}}),
        merge("pods/p", {"spec": {"activeDeadlineSeconds": 100}}),
        merge("pods/p/status", {"status": {"phase": "Running"}}),
    ),
    case(
        "plain strings of a Secret become data",
        create("secrets", secret("s", {"user": "ä", "key": "x"})),
        get("secrets/s"),
        merge("secrets/s", {"stringData": {"user": "b"}}),
    ),
    case(
        "deleting answers with a Status, or with the object when it stays",
        create("configmaps", configmap("c")),
        create("configmaps", configmap("d", finalizers=["example.com/hold"])),
        delete("configmaps/c"),
        delete("configmaps/d"),
        merge("configmaps/d", {"metadata": {"finalizers": None}}),
        get("configmaps/d"),
    ),
    case(
        "pretty answers are indented",
        create("configmaps", configmap("c")),
        get("configmaps/c", pretty=True).only_of("metadata.name", "data"),
    ),
    case(
        "a body in YAML is understood",
        create(
            "configmaps",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
            "data:\n  text: |\n    a\n    b\n  day: '2020-01-01'\n",
            "application/yaml",
        ),
        get("configmaps/c"),
    ),
    case(
        "an answer in YAML can be asked for",
        create("configmaps", configmap("c")),
        get("/api/v1/namespaces/{ns}/configmaps/nothing", "application/yaml"),
    ),
]
