"""What webhooks are asked when a part of an object is used: evictions, bindings, tokens, scales; and namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.admission.api import MERGE, MUTATING, VALIDATING, Api, Object, numbers
from tests.apiserver.admission.hooks import HookServer, allow, patch

_EVERYTHING = ("*/*",)


def _refuse(_: Object) -> Object:
    return {"allowed": False, "status": {"message": "not this one"}}


def _rule(operation: str, resource: str, group: str = "") -> Object:
    rule = {"operations": [operation], "apiGroups": [group], "apiVersions": ["v1"], "resources": [resource]}
    return {"rules": [rule]}


@pytest.fixture
def pod(api: Api) -> str:
    """The path of a pod that no node has yet."""
    place = f"/api/v1/namespaces/{api.namespace}"
    api.call("POST", f"{place}/serviceaccounts", {"metadata": {"name": "default"}})
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert api.call("POST", f"{place}/pods", body).code == 201
    return f"{place}/pods/p"


def _asked(hook_server: HookServer, path: str = "/see") -> list[tuple[str, str, str, str]]:
    """Operation, resource, kind and the object's own kind of every request."""
    seen: list[tuple[str, str, str, str]] = []
    for request in hook_server.asked.get(path, []):
        part = f"/{request['subResource']}" if "subResource" in request else ""
        shown = (request["object"] or {}).get("kind", "")
        seen.append((request["operation"], request["resource"]["resource"] + part, request["kind"]["kind"], shown))
    return seen


class TestEviction:
    def test_it_is_created(self, api: Api, hook: Any, hook_server: HookServer, pod: str) -> None:
        api.call("POST", f"{pod}/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
        api.install(VALIDATING, hook("/see", allow, resources=_EVERYTHING))

        assert api.call("POST", f"{pod}/eviction", {"metadata": {"name": "p"}}).code == 201

        assert _asked(hook_server) == [("CREATE", "pods/eviction", "Eviction", "Eviction")]
        request = hook_server.asked["/see"][0]
        assert request["kind"] == request["requestKind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
        assert request["requestSubResource"] == "eviction"
        assert (request["name"], request["namespace"], request["oldObject"]) == ("p", api.namespace, None)
        assert (request["object"]["apiVersion"], request["object"]["metadata"]["name"]) == ("policy/v1", "p")
        assert request["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}

    @pytest.mark.parametrize("kind", [MUTATING, VALIDATING])
    def test_a_guard_keeps_the_pod(self, api: Api, hook: Any, pod: str, kind: str) -> None:
        api.install(kind, hook("/guard", _refuse, **_rule("CREATE", "pods/eviction")))

        assert api.call("POST", f"{pod}/eviction", {"metadata": {"name": "p"}}).code == 400
        left = api.call("GET", pod).json()
        assert "deletionTimestamp" not in left["metadata"]
        assert "DisruptionTarget" not in str(left["status"])

    def test_its_options_can_be_changed(self, api: Api, hook: Any, pod: str) -> None:
        api.call("POST", f"{pod}/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
        slower = patch({"op": "add", "path": "/deleteOptions", "value": {"gracePeriodSeconds": 77}})
        api.install(MUTATING, hook("/slower", lambda _: slower, **_rule("CREATE", "pods/eviction")))

        assert api.call("POST", f"{pod}/eviction", {"metadata": {"name": "p"}}).code == 201
        assert api.call("GET", pod).json()["metadata"]["deletionGracePeriodSeconds"] == 77


class TestBinding:
    @pytest.mark.parametrize(("path", "resource"), [("pods/p/binding", "pods/binding"), ("bindings", "bindings")])
    def test_it_is_created(
        self, api: Api, hook: Any, hook_server: HookServer, pod: str, path: str, resource: str
    ) -> None:
        api.install(VALIDATING, hook("/see", allow, resources=_EVERYTHING))

        body = {"metadata": {"name": "p"}, "target": {"name": "n"}}
        assert api.call("POST", f"/api/v1/namespaces/{api.namespace}/{path}", body).code == 201

        assert api.call("GET", pod).json()["spec"]["nodeName"] == "n"
        assert _asked(hook_server) == [("CREATE", resource, "Binding", "Binding")]
        request = hook_server.asked["/see"][0]
        assert (request["name"], request["object"]["target"]) == ("p", {"name": "n"})

    def test_a_guard_keeps_the_pod_from_the_node(self, api: Api, hook: Any, pod: str) -> None:
        api.install(VALIDATING, hook("/guard", _refuse, **_rule("CREATE", "pods/binding")))

        assert api.call("POST", f"{pod}/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}}).code == 400
        assert "nodeName" not in api.call("GET", pod).json()["spec"]

    def test_it_can_be_changed(self, api: Api, hook: Any, pod: str) -> None:
        other = patch({"op": "replace", "path": "/target/name", "value": "other"})
        api.install(MUTATING, hook("/other", lambda _: other, **_rule("CREATE", "pods/binding")))

        assert api.call("POST", f"{pod}/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}}).code == 201
        assert api.call("GET", pod).json()["spec"]["nodeName"] == "other"


class TestToken:
    @pytest.fixture
    def token(self, api: Api) -> str:
        place = f"/api/v1/namespaces/{api.namespace}/serviceaccounts"
        assert api.call("POST", place, {"metadata": {"name": "account"}}).code == 201
        return f"{place}/account/token"

    def test_its_request_is_created(self, api: Api, hook: Any, hook_server: HookServer, token: str) -> None:
        api.install(VALIDATING, hook("/see", allow, resources=_EVERYTHING))

        assert api.call("POST", token, {"spec": {"expirationSeconds": 700}}).code == 201

        assert _asked(hook_server) == [("CREATE", "serviceaccounts/token", "TokenRequest", "TokenRequest")]
        request = hook_server.asked["/see"][0]
        assert (request["name"], request["namespace"]) == ("account", api.namespace)
        assert request["object"]["spec"]["expirationSeconds"] == 700
        assert request["object"]["status"]["token"] == ""

    def test_a_guard_keeps_it(self, api: Api, hook: Any, token: str) -> None:
        api.install(VALIDATING, hook("/guard", _refuse, **_rule("CREATE", "serviceaccounts/token")))

        assert api.call("POST", token, {"spec": {}}).code == 400

    def test_it_can_be_made_shorter(self, api: Api, hook: Any, token: str) -> None:
        shorter = patch({"op": "replace", "path": "/spec/expirationSeconds", "value": 601})
        api.install(MUTATING, hook("/shorter", lambda _: shorter, **_rule("CREATE", "serviceaccounts/token")))

        issued = api.call("POST", token, {"spec": {"expirationSeconds": 7000}})
        assert (issued.code, issued.json()["spec"]["expirationSeconds"]) == (201, 601)


class TestScale:
    @pytest.fixture
    def scale(self, api: Api) -> str:
        place = f"/apis/apps/v1/namespaces/{api.namespace}/deployments"
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        assert api.call("POST", place, {"metadata": {"name": "d"}, "spec": spec}).code == 201
        return f"{place}/d/scale"

    def test_the_scale_is_updated(self, api: Api, hook: Any, hook_server: HookServer, scale: str) -> None:
        api.install(VALIDATING, hook("/see", allow, resources=_EVERYTHING))

        assert api.call("PATCH", scale, {"spec": {"replicas": 3}}, MERGE).code == 200

        assert _asked(hook_server) == [("UPDATE", "deployments/scale", "Scale", "Scale")]
        request = hook_server.asked["/see"][0]
        assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        assert (request["oldObject"]["kind"], request["name"]) == ("Scale", "d")
        assert (request["oldObject"]["spec"], request["object"]["spec"]) == ({"replicas": 1}, {"replicas": 3})

    def test_a_guard_keeps_it(self, api: Api, hook: Any, scale: str) -> None:
        api.install(VALIDATING, hook("/guard", _refuse, **_rule("UPDATE", "deployments/scale", "apps")))

        assert api.call("PATCH", scale, {"spec": {"replicas": 3}}, MERGE).code == 400
        assert api.call("GET", scale).json()["spec"]["replicas"] == 1

    def test_it_can_be_changed(self, api: Api, hook: Any, scale: str) -> None:
        fewer = patch({"op": "replace", "path": "/spec/replicas", "value": 2})
        api.install(MUTATING, hook("/fewer", lambda _: fewer, **_rule("UPDATE", "deployments/scale", "apps")))

        assert api.call("PATCH", scale, {"spec": {"replicas": 30}}, MERGE).json()["spec"]["replicas"] == 2
        assert api.call("GET", scale).json()["spec"]["replicas"] == 2


def test_a_namespace_is_in_itself(api: Api, hook: Any, hook_server: HookServer) -> None:
    name = f"inner-{next(numbers)}"
    mine = {"namespaceSelector": {"matchLabels": {"of": name}}}
    api.install(VALIDATING, hook("/see", allow, resources=("namespaces",), **mine))

    assert api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": {"of": name}}}).code == 201
    path = f"/api/v1/namespaces/{name}"
    assert api.call("PATCH", path, {"metadata": {"annotations": {"a": "b"}}}, MERGE).code == 200
    assert api.call("DELETE", path).code == 200

    seen = [(r["operation"], r["name"], r.get("namespace")) for r in hook_server.asked["/see"]]
    assert seen == [("CREATE", name, name), ("UPDATE", name, name), ("DELETE", name, name)]
