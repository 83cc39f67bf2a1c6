"""ConfigMaps and Secrets."""

from __future__ import annotations

from tests.contract.case import Case, case, create, get, merge, update
from tests.contract.objects import configmap, secret


def _secret(kind: str, **data: str) -> dict[str, object]:
    return {"metadata": {"name": "s"}, "type": kind, "stringData": data}


def _refused(name: str, body: dict[str, object]) -> Case:
    return case(f"secret refused: {name}", create("secrets", body))


CASES = [
    case(
        "configmap: text and binary data",
        create("configmaps", {"metadata": {"name": "c"}, "data": {"a": "ä\n"}, "binaryData": {"b": "AAEC"}}),
    ),
    case(
        "configmap: one key in both is refused",
        create("configmaps", {"metadata": {"name": "c"}, "data": {"a": "1"}, "binaryData": {"a": "AAEC"}}),
    ),
    case(
        "configmap: keys that are not allowed",
        *[create("configmaps", configmap("c", {key: "1"})) for key in ("a b", ".", "..", "..a", "a/b", "k" * 254)],
    ),
    case("configmap: an empty key", create("configmaps", configmap("c", {"": "1"}))),
    case(
        "configmap: immutable",
        create("configmaps", {**configmap("c"), "immutable": True}),
        merge("configmaps/c", {"data": {"a": "2"}}),
        merge("configmaps/c", {"immutable": False}),
        merge("configmaps/c", {"immutable": None}),
        merge("configmaps/c", {"metadata": {"labels": {"x": "y"}}}),
    ),
    case(
        "configmap: becomes immutable",
        create("configmaps", configmap("c")),
        merge("configmaps/c", {"immutable": True}),
        merge("configmaps/c", {"binaryData": {"z": "AAEC"}}),
    ),
    case(
        "configmap: null values",
        create("configmaps", {"metadata": {"name": "c"}, "data": {"a": None}, "binaryData": None}),
    ),
    case(
        "configmap: wrong types",
        create("configmaps", {"metadata": {"name": "c"}, "data": {"a": 1}}),
        create("configmaps", {"metadata": {"name": "c"}, "data": {"a": {"b": "c"}}}),
        create("configmaps", {"metadata": {"name": "c"}, "immutable": "yes"}),
    ),
    case(
        "secret: plain strings win over data",
        create("secrets", {"metadata": {"name": "s"}, "data": {"a": "MQ==", "b": "Mg=="}, "stringData": {"a": "x"}}),
    ),
    case(
        "secret: the type is Opaque by default and does not change",
        create("secrets", secret("s")),
        merge("secrets/s", {"type": "kubernetes.io/tls"}),
        merge("secrets/s", {"type": "example.com/mine"}),
    ),
    case("secret: an own type", create("secrets", _secret("example.com/mine", a="b"))),
    case(
        "secret: immutable",
        create("secrets", {**secret("s"), "immutable": True}),
        merge("secrets/s", {"data": {"a": "Mg=="}}),
        merge("secrets/s", {"stringData": {"a": "2"}}),
        merge("secrets/s", {"immutable": False}),
        merge("secrets/s", {"metadata": {"labels": {"x": "y"}}}),
    ),
    case(
        "secret: an empty one",
        create("secrets", {"metadata": {"name": "s"}}),
        update("secrets/s", {"metadata": {"name": "s"}, "data": {"a": ""}}),
        get("secrets/s"),
    ),
    case("secret: basic auth", create("secrets", _secret("kubernetes.io/basic-auth", username="u"))),
    _refused("basic auth without a name", _secret("kubernetes.io/basic-auth", other="u")),
    _refused("ssh without a key", _secret("kubernetes.io/ssh-auth", other="u")),
    _refused("TLS without a pair", _secret("kubernetes.io/tls", other="u")),
    _refused("docker config that is no JSON", _secret("kubernetes.io/dockerconfigjson", **{".dockerconfigjson": "{"})),
    _refused("docker config without its key", _secret("kubernetes.io/dockerconfigjson", other="x")),
    _refused("keys that are not allowed", {"metadata": {"name": "s"}, "stringData": {"a b": "1"}}),
    _refused("data that is no base64", {"metadata": {"name": "s"}, "data": {"a": "not base64!"}}),
    _refused("data without padding", {"metadata": {"name": "s"}, "data": {"a": "YQ"}}),
    _refused("a token without an account", _secret("kubernetes.io/service-account-token")),
    case(
        "secret: data of more than 1 MB",
        create("secrets", {"metadata": {"name": "s"}, "stringData": {"a": "x" * 1_048_577}}),
    ),
]
