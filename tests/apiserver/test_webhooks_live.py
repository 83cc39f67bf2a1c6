"""Admission webhooks over HTTPS, and quotas on the number of objects: what they see, and what their word is worth."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.apiserver import hooks
from tests.apiserver.fuzz.subjects import definition_spec
from tests.apiserver.hooks import HookServer, allow, patch
from tests.contract.server import Connection, Reply, Server
from tests.contract.target import embedded_server
from tests.waiting import eventually

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_MUTATING, _VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
_numbers = itertools.count()
Object = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with embedded_server() as server:
        yield server


class Api:
    """A server and a namespace on it that one test has for itself."""

    def __init__(self, server: Server, namespace: str) -> None:
        self._server = server
        self._connection: Connection = server.connect()
        self._others: list[Api] = []
        self.namespace = namespace
        self.installed: list[str] = []

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Reply:
        data = None if body is None else json.dumps(body).encode()
        return self._connection.send(method, path, data, {"Content-Type": content_type if data else ""})

    def maps(self, name: str = "", query: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps{f'/{name}' if name else ''}{query}"

    def create(self, name: str, query: str = "", **metadata: Any) -> Reply:
        return self.call("POST", self.maps(query=query), {"metadata": {"name": name, **metadata}, "data": {"a": "1"}})

    def install(self, kind: str, *webhooks: Object) -> None:
        """A configuration that sees the test's namespace alone."""
        path = f"{_ADMISSION}/{kind.lower()}s"
        name = f"hooks-{next(_numbers)}"
        made = self.call("POST", path, {"metadata": {"name": name}, "webhooks": list(webhooks)})
        assert made.code == 201, made.content
        self.installed.append(f"{path}/{name}")

    def again(self) -> Api:
        """The same namespace over another connection."""
        other = Api(self._server, self.namespace)
        self._others.append(other)
        return other

    def close(self) -> None:
        for other in self._others:
            other.close()
        for path in self.installed:
            self.call("DELETE", path)
        self._connection.close()


@pytest.fixture
def api(server: Server) -> Generator[Api]:
    api = Api(server, f"hooks-{next(_numbers)}")
    labels = {"kubernetes.io/metadata.name": api.namespace, "team": "ours"}
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": api.namespace, "labels": labels}})
    yield api
    api.close()


@pytest.fixture
def hook_server() -> Generator[HookServer]:
    with hooks.serving() as serving:
        yield serving


@pytest.fixture
def hook(api: Api, hook_server: HookServer) -> Any:
    """Makes webhooks of the test's namespace."""

    def make(path: str, decide: hooks.Decide, resources: tuple[str, ...] = ("configmaps",), **settings: Any) -> Object:
        hook_server.answers[path] = decide
        rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": list(resources)}
        name = f"{path.strip('/')}.example.com"
        return {
            "name": name,
            "clientConfig": {"url": hook_server.url + path, "caBundle": hook_server.ca_bundle},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 10,
            **settings,
        }

    return make


def _label(name: str, value: str = "yes") -> Object:
    return patch({"op": "add", "path": f"/metadata/labels/{name}", "value": value})


def _messages(reply: Reply) -> tuple[int, str, str]:
    status = reply.json()
    return reply.code, status.get("reason", ""), status["message"]


class TestMutating:
    def test_its_patch_is_applied(self, api: Api, hook: Any) -> None:
        added = patch(
            {"op": "add", "path": "/data/b", "value": "2"},
            {"op": "add", "path": "/metadata/labels", "value": {"c": "3"}},
        )
        api.install(_MUTATING, hook("/patch", lambda _: added))

        created = api.create("m", "?fieldManager=me").json()

        assert (created["data"], created["metadata"]["labels"]) == ({"a": "1", "b": "2"}, {"c": "3"})
        stored = api.call("GET", api.maps("m")).json()
        assert stored == created
        owners = {entry["manager"]: entry["fieldsV1"] for entry in stored["metadata"]["managedFields"]}
        assert owners == {"me": {"f:data": {".": {}, "f:a": {}}}}

    def test_what_it_changes_on_an_update_belongs_to_the_writer(self, api: Api, hook: Any) -> None:
        api.create("m", "?fieldManager=me")
        api.install(_MUTATING, hook("/patch", lambda _: patch({"op": "add", "path": "/data/b", "value": "2"})))

        merge = "application/merge-patch+json"
        changed = api.call("PATCH", api.maps("m", "?fieldManager=you"), {"data": {"c": "3"}}, merge).json()

        assert changed["data"] == {"a": "1", "b": "2", "c": "3"}
        owners = {entry["manager"]: entry["fieldsV1"] for entry in changed["metadata"]["managedFields"]}
        assert owners == {"me": {"f:data": {".": {}, "f:a": {}}}, "you": {"f:data": {"f:c": {}}}}

    def test_what_it_sees(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        api.install(_MUTATING, hook("/see", allow))

        api.create("m", "?dryRun=All&fieldManager=me")

        request = hook_server.asked["/see"][0]
        assert request["object"]["data"] == {"a": "1"}
        assert request["userInfo"]["groups"]
        del request["uid"], request["object"], request["userInfo"]
        kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
        resource = {"group": "", "version": "v1", "resource": "configmaps"}
        assert request == {
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": "m",
            "namespace": api.namespace,
            "operation": "CREATE",
            "oldObject": None,
            "dryRun": True,
            "options": {
                "kind": "CreateOptions",
                "apiVersion": "meta.k8s.io/v1",
                "dryRun": ["All"],
                "fieldManager": "me",
            },
        }
        assert api.call("GET", api.maps("m")).code == 404

    def test_webhooks_see_what_those_before_them_did(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        labels = patch({"op": "add", "path": "/metadata/labels", "value": {"first": "yes"}})
        api.install(_MUTATING, hook("/first", lambda _: labels), hook("/second", lambda _: _label("second")))

        created = api.create("m").json()

        assert created["metadata"]["labels"] == {"first": "yes", "second": "yes"}
        assert hook_server.asked["/second"][0]["object"]["metadata"]["labels"] == {"first": "yes"}

    @pytest.mark.parametrize(("policy", "times"), [("Never", 1), ("IfNeeded", 2)])
    def test_one_that_asks_for_it_is_asked_again(
        self, api: Api, hook: Any, hook_server: HookServer, policy: str, times: int
    ) -> None:
        def count(request: Object) -> Object:
            data = request["object"]["data"]
            return patch({"op": "add", "path": "/data/size", "value": str(len(data) - ("size" in data))})

        late = patch({"op": "add", "path": "/data/late", "value": "1"})
        again = hook("/count", count, reinvocationPolicy=policy)
        api.install(_MUTATING, again, hook("/late", lambda _: late))

        created = api.create("m").json()

        assert len(hook_server.asked["/count"]) == times
        assert created["data"]["size"] == str(times)
        assert len(hook_server.asked["/late"]) == 1

    def test_the_result_is_validated(self, api: Api, hook: Any) -> None:
        api.install(_MUTATING, hook("/bad", lambda _: patch({"op": "add", "path": "/data/no%20key", "value": "2"})))

        code, reason, message = _messages(api.create("m"))

        assert (code, reason) == (422, "Invalid")
        assert "a valid config key must consist of alphanumeric characters" in message

    def test_a_patch_that_cannot_be_applied_fails_the_request(self, api: Api, hook: Any) -> None:
        api.install(_MUTATING, hook("/bad", lambda _: patch({"op": "remove", "path": "/data/none"})))

        assert _messages(api.create("m"))[:2] == (500, "InternalError")
        assert api.call("GET", api.maps("m")).code == 404


class TestValidating:
    def test_its_refusal_ends_the_request(self, api: Api, hook: Any) -> None:
        api.install(_VALIDATING, hook("/no", lambda _: {"allowed": False, "status": {"message": "not today"}}))

        assert _messages(api.create("m")) == (
            400,
            "",
            'admission webhook "no.example.com" denied the request: not today',
        )
        assert api.call("GET", api.maps("m")).code == 404

    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            pytest.param({}, (400, "", "denied the request without explanation"), id="no word"),
            pytest.param({"reason": "Quota"}, (400, "Quota", "denied the request: Quota"), id="a reason alone"),
            pytest.param(
                {"code": 409, "reason": "Conflict", "message": "twice"},
                (409, "Conflict", "denied the request: twice"),
                id="a code",
            ),
        ],
    )
    def test_how_it_refuses(self, api: Api, hook: Any, status: Object, expected: tuple[int, str, str]) -> None:
        api.install(_VALIDATING, hook("/no", lambda _: {"allowed": False, "status": status}))

        code, reason, message = _messages(api.create("m"))

        assert (code, reason) == expected[:2]
        assert message == f'admission webhook "no.example.com" {expected[2]}'

    def test_it_sees_what_mutating_ones_did(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        api.install(_MUTATING, hook("/patch", lambda _: patch({"op": "add", "path": "/data/b", "value": "2"})))
        api.install(_VALIDATING, hook("/see", allow))

        api.create("m")

        assert hook_server.asked["/see"][0]["object"]["data"] == {"a": "1", "b": "2"}

    def test_updates_and_deletions(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        api.create("m")
        api.install(_VALIDATING, hook("/see", allow))

        api.call("PATCH", api.maps("m"), {"data": {"a": "2"}}, "application/merge-patch+json")
        api.call("DELETE", api.maps("m", "?propagationPolicy=Background"))

        update, delete = hook_server.asked["/see"]
        assert (update["operation"], delete["operation"]) == ("UPDATE", "DELETE")
        assert (update["oldObject"]["data"], update["object"]["data"]) == ({"a": "1"}, {"a": "2"})
        assert (delete["oldObject"]["data"], delete["object"]) == ({"a": "2"}, None)
        options = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "propagationPolicy": "Background"}
        assert (update["options"]["kind"], delete["options"]) == ("UpdateOptions", options)

    def test_a_collection_is_deleted_one_by_one(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        for name in "abc":
            api.create(name)
        api.install(_VALIDATING, hook("/see", allow))

        api.call("DELETE", api.maps())

        assert sorted(r["oldObject"]["metadata"]["name"] for r in hook_server.asked["/see"]) == ["a", "b", "c"]

    def test_a_refused_deletion_deletes_nothing(self, api: Api, hook: Any) -> None:
        api.create("m")
        api.install(_VALIDATING, hook("/no", lambda _: {"allowed": False}))

        assert api.call("DELETE", api.maps("m")).code == 400
        assert api.call("GET", api.maps("m")).code == 200

    def test_its_warnings_reach_the_caller(self, api: Api, hook: Any) -> None:
        api.install(_VALIDATING, hook("/warn", lambda _: {"allowed": True, "warnings": ["mind the gap"]}))

        assert api.create("m").headers["Warning"] == '299 - "mind the gap"'

    def test_all_are_asked(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        api.install(_VALIDATING, hook("/a", allow), hook("/b", lambda _: {"allowed": False}))
        api.install(_VALIDATING, hook("/c", allow))

        assert api.create("m").code == 400
        eventually(lambda: set(hook_server.asked) == {"/a", "/b", "/c"})


class TestFailures:
    @pytest.mark.parametrize("kind", [_MUTATING, _VALIDATING])
    def test_nobody_answers(self, api: Api, hook: Any, kind: str) -> None:
        nobody: Object = {"clientConfig": {"url": "https://127.0.0.1:1/"}}
        api.install(kind, hook("/nobody", allow, failurePolicy="Fail", **nobody))

        code, reason, message = _messages(api.create("m"))

        assert (code, reason) == (500, "InternalError")
        start = 'Internal error occurred: failed calling webhook "nobody.example.com": failed to call webhook: Post '
        assert message.startswith(start)

    @pytest.mark.parametrize("kind", [_MUTATING, _VALIDATING])
    def test_nobody_answers_and_nobody_minds(self, api: Api, hook: Any, kind: str) -> None:
        nobody: Object = {"clientConfig": {"url": "https://127.0.0.1:1/"}}
        api.install(kind, hook("/nobody", allow, failurePolicy="Ignore", **nobody))

        assert api.create("m").code == 201

    @pytest.mark.parametrize(("policy", "code"), [("Fail", 500), ("Ignore", 201)])
    def test_one_that_hangs(self, api: Api, hook: Any, policy: str, code: int) -> None:
        api.install(_VALIDATING, hook("/hang", lambda _: None, failurePolicy=policy, timeoutSeconds=1))

        answered = api.create("m")

        assert answered.code == code
        if code == 500:
            assert 'failed calling webhook "hang.example.com"' in answered.json()["message"]
            assert "context deadline exceeded" in answered.json()["message"]

    def test_one_that_is_slow_holds_up_nobody_else(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        enough = threading.Event()
        mine = hook("/slow", lambda _: allow({}) if enough.wait(60) else None, timeoutSeconds=30)
        mine["objectSelector"] = {"matchLabels": {"slow": "yes"}}
        api.install(_VALIDATING, mine)
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(api.again().create, "m", labels={"slow": "yes"})
            eventually(lambda: "/slow" in hook_server.asked)
            assert api.create("other").code == 201
            assert api.call("GET", api.maps("m")).code == 404
            enough.set()
            assert waiting.result().code == 201

    @pytest.mark.parametrize(
        "answer",
        [
            pytest.param(b"hello", id="no JSON"),
            pytest.param(b"{}", id="no review"),
            pytest.param(b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', id="no response"),
            pytest.param({"uid": "other", "allowed": True}, id="another's answer"),
            pytest.param({**patch(), "patch": "e30="}, id="a patch"),
        ],
    )
    def test_an_answer_that_is_none(self, api: Api, hook: Any, answer: Any) -> None:
        api.install(_VALIDATING, hook("/odd", lambda _: answer))

        assert _messages(api.create("m"))[:2] == (500, "InternalError")

    def test_a_certificate_of_someone_else(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        with hooks.serving() as other:
            config = {"url": f"{hook_server.url}/x", "caBundle": other.ca_bundle}
            api.install(_VALIDATING, hook("/x", allow, clientConfig=config))

            assert _messages(api.create("m"))[:2] == (500, "InternalError")
        assert hook_server.asked == {}

    def test_configurations_cannot_be_locked_away(self, api: Api, hook: Any) -> None:
        never = hook("/no", lambda _: {"allowed": False}, resources=("*",), namespaceSelector={})
        never["objectSelector"] = {"matchLabels": {"locked": "yes"}}
        api.install(_VALIDATING, never)

        body: Object = {"metadata": {"name": f"hooks-{next(_numbers)}", "labels": {"locked": "yes"}}, "webhooks": []}
        path = f"{_ADMISSION}/validatingwebhookconfigurations"
        assert api.call("POST", path, body).code == 201
        assert api.call("DELETE", f"{path}/{body['metadata']['name']}").code == 200


class TestMatching:
    @pytest.mark.parametrize(
        ("settings", "seen"),
        [
            pytest.param({}, ["plain", "marked"], id="all"),
            pytest.param({"objectSelector": {"matchLabels": {"mark": "x"}}}, ["marked"], id="objects"),
            pytest.param(
                {"objectSelector": {"matchExpressions": [{"key": "mark", "operator": "DoesNotExist"}]}},
                ["plain"],
                id="not these",
            ),
            pytest.param({"namespaceSelector": {"matchLabels": {"team": "theirs"}}}, [], id="another namespace"),
            pytest.param(
                {"matchConditions": [{"name": "marked", "expression": "has(object.metadata.labels)"}]},
                ["marked"],
                id="a condition on the object",
            ),
            pytest.param(
                {"matchConditions": [{"name": "name", "expression": "request.name == 'plain'"}]},
                ["plain"],
                id="a condition on the request",
            ),
            pytest.param(
                {
                    "matchConditions": [
                        {"name": "true", "expression": "request.operation == 'CREATE'"},
                        {"name": "false", "expression": "request.userInfo.username == 'nobody'"},
                    ]
                },
                [],
                id="all conditions must hold",
            ),
            pytest.param(
                {
                    "matchConditions": [{"name": "error", "expression": "object.nothing.at.all == 1"}],
                    "failurePolicy": "Ignore",
                },
                [],
                id="a condition that fails and is ignored",
            ),
        ],
    )
    def test_what_a_webhook_is_asked_about(
        self, api: Api, hook: Any, hook_server: HookServer, settings: Object, seen: list[str]
    ) -> None:
        api.install(_VALIDATING, hook("/see", allow, **settings))

        assert api.create("plain").code == 201
        assert api.create("marked", labels={"mark": "x"}).code == 201

        assert [request["name"] for request in hook_server.asked.get("/see", [])] == seen

    def test_a_condition_that_fails(self, api: Api, hook: Any) -> None:
        condition = {"name": "error", "expression": "object.nothing.at.all == 1"}
        api.install(_VALIDATING, hook("/see", allow, matchConditions=[condition]))

        code, reason, _ = _messages(api.create("m"))

        assert (code, reason) == (403, "Forbidden")

    def test_conditions_must_compile(self, api: Api, hook: Any) -> None:
        condition = {"name": "broken", "expression": "object.("}
        body = {"metadata": {"name": "broken"}, "webhooks": [hook("/x", allow, matchConditions=[condition])]}

        code, reason, message = _messages(api.call("POST", f"{_ADMISSION}/validatingwebhookconfigurations", body))

        assert (code, reason) == (422, "Invalid")
        assert "webhooks[0].matchConditions[0].expression: Invalid value" in message

    def test_subresources_are_asked_for_by_name(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        api.install(_VALIDATING, hook("/whole", allow, resources=("pods",)))
        api.install(_VALIDATING, hook("/status", allow, resources=("pods/status",)))
        api.install(_VALIDATING, hook("/all", allow, resources=("pods/*",)))
        pods = f"/api/v1/namespaces/{api.namespace}/pods"
        api.call("POST", f"/api/v1/namespaces/{api.namespace}/serviceaccounts", {"metadata": {"name": "default"}})
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

        assert api.call("POST", pods, pod).code == 201
        merge = "application/merge-patch+json"
        assert api.call("PATCH", f"{pods}/p/status", {"status": {"phase": "Running"}}, merge).code == 200

        seen = {path: [r.get("subResource", "") for r in asked] for path, asked in hook_server.asked.items()}
        assert seen == {"/whole": [""], "/status": ["status"], "/all": ["", "status"]}

    def test_custom_kinds(self, api: Api, hook: Any) -> None:
        spec = definition_spec(
            "gadget", "hooks.example.com", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        )
        made = api.call(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            {"metadata": {"name": "gadget.hooks.example.com"}, "spec": spec},
        )
        assert made.code == 201
        path = f"/apis/hooks.example.com/v1/namespaces/{api.namespace}/gadget"
        eventually(lambda: api.call("GET", path).code == 200)
        added = patch({"op": "add", "path": "/spec", "value": {"size": 3}})
        api.install(_MUTATING, hook("/patch", lambda _: added, resources=("gadget",)))

        body = {"apiVersion": "hooks.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}
        assert api.call("POST", path, body).json()["spec"] == {"size": 3}


class TestQuota:
    def _limit(self, api: Api, **hard: str) -> None:
        names = {name.replace("__", "/"): limit for name, limit in hard.items()}
        path = f"/api/v1/namespaces/{api.namespace}/resourcequotas"
        assert api.call("POST", path, {"metadata": {"name": "few"}, "spec": {"hard": names}}).code == 201

    @pytest.mark.parametrize("name", ["configmaps", "count__configmaps"])
    def test_no_more_objects_than_allowed(self, api: Api, name: str) -> None:
        self._limit(api, **{name: "2"})
        assert [api.create(each).code for each in "ab"] == [201, 201]

        shown = name.replace("__", "/")
        text = f"exceeded quota: few, requested: {shown}=1, used: {shown}=2, limited: {shown}=2"
        assert _messages(api.create("c")) == (403, "Forbidden", f'configmaps "c" is forbidden: {text}')
        assert api.call("GET", api.maps("c")).code == 404

    def test_what_is_gone_counts_no_more(self, api: Api) -> None:
        self._limit(api, configmaps="1")
        assert api.create("a").code == 201
        assert api.create("b").code == 403

        api.call("DELETE", api.maps("a"))

        assert api.create("b").code == 201

    def test_changes_and_dry_runs_take_no_room(self, api: Api) -> None:
        self._limit(api, configmaps="1")
        assert [api.create("a", "?dryRun=All").code for _ in range(3)] == [201] * 3
        assert api.create("a").code == 201

        assert api.call("PATCH", api.maps("a"), {"data": {"b": "2"}}, "application/merge-patch+json").code == 200
        assert api.create("b", "?dryRun=All").code == 403

    def test_many_at_once_get_no_more_than_one(self, api: Api) -> None:
        self._limit(api, configmaps="3")
        clients = [api.again() for _ in range(12)]

        with ThreadPoolExecutor(len(clients)) as pool:
            codes = [reply.code for reply in pool.map(lambda i: clients[i].create(f"m{i}"), range(len(clients)))]

        assert sorted(codes) == [201] * 3 + [403] * 9

    def test_another_namespace_has_its_own(self, api: Api) -> None:
        self._limit(api, configmaps="0")
        assert api.create("a").code == 403

        assert (
            api.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "a"}}).code == 201
        )
