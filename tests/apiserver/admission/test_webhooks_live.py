"""Admission webhooks over HTTPS: what they see, and what their word is worth."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.apiserver.admission import hooks
from tests.apiserver.admission.api import CONFIGURATIONS, MERGE, MUTATING, VALIDATING, Api, Object, numbers, refusal
from tests.apiserver.admission.hooks import HookServer, allow, patch
from tests.waiting import eventually


def _label(name: str, value: str = "yes") -> Object:
    return patch({"op": "add", "path": f"/metadata/labels/{name}", "value": value})


class TestMutating:
    def test_its_patch_is_applied(self, api: Api, hook: Any) -> None:
        added = patch(
            {"op": "add", "path": "/data/b", "value": "2"},
            {"op": "add", "path": "/metadata/labels", "value": {"c": "3"}},
        )
        api.install(MUTATING, hook("/patch", lambda _: added))

        created = api.create("m", "?fieldManager=me").json()

        assert (created["data"], created["metadata"]["labels"]) == ({"a": "1", "b": "2"}, {"c": "3"})
        stored = api.call("GET", api.maps("m")).json()
        assert stored == created
        owners = {entry["manager"]: entry["fieldsV1"] for entry in stored["metadata"]["managedFields"]}
        assert owners == {"me": {"f:data": {".": {}, "f:a": {}}}}

    def test_what_it_changes_on_an_update_belongs_to_the_writer(self, api: Api, hook: Any) -> None:
        api.create("m", "?fieldManager=me")
        api.install(MUTATING, hook("/patch", lambda _: patch({"op": "add", "path": "/data/b", "value": "2"})))

        changed = api.call("PATCH", api.maps("m", "?fieldManager=you"), {"data": {"c": "3"}}, MERGE).json()

        assert changed["data"] == {"a": "1", "b": "2", "c": "3"}
        owners = {entry["manager"]: entry["fieldsV1"] for entry in changed["metadata"]["managedFields"]}
        assert owners == {"me": {"f:data": {".": {}, "f:a": {}}}, "you": {"f:data": {"f:c": {}}}}

    def test_what_it_sees(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        api.install(MUTATING, hook("/see", allow))

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
        api.install(MUTATING, hook("/first", lambda _: labels), hook("/second", lambda _: _label("second")))

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
        api.install(MUTATING, again, hook("/late", lambda _: late))

        created = api.create("m").json()

        assert len(hook_server.asked["/count"]) == times
        assert created["data"]["size"] == str(times)
        assert len(hook_server.asked["/late"]) == 1

    def test_the_result_is_validated(self, api: Api, hook: Any) -> None:
        api.install(MUTATING, hook("/bad", lambda _: patch({"op": "add", "path": "/data/no%20key", "value": "2"})))

        code, reason, message = refusal(api.create("m"))

        assert (code, reason) == (422, "Invalid")
        assert "a valid config key must consist of alphanumeric characters" in message

    def test_a_patch_that_cannot_be_applied_fails_the_request(self, api: Api, hook: Any) -> None:
        api.install(MUTATING, hook("/bad", lambda _: patch({"op": "remove", "path": "/data/none"})))

        assert refusal(api.create("m"))[:2] == (500, "InternalError")
        assert api.call("GET", api.maps("m")).code == 404

    def test_deletions_are_asked_about_before_validating_ones_are(
        self, api: Api, hook: Any, hook_server: HookServer
    ) -> None:
        api.create("m")
        order: list[str] = []

        def note(name: str) -> hooks.Decide:
            return lambda _: order.append(name) or {"allowed": True}

        api.install(VALIDATING, hook("/second", note("second")))
        api.install(MUTATING, hook("/first", note("first")))

        assert api.call("DELETE", api.maps("m")).code == 200

        assert order == ["first", "second"]
        request = hook_server.asked["/first"][0]
        assert (request["operation"], request["object"]) == ("DELETE", None)
        assert request["oldObject"]["metadata"]["name"] == "m"

    def test_its_refusal_of_a_deletion_keeps_the_object(self, api: Api, hook: Any) -> None:
        api.create("m")
        api.install(MUTATING, hook("/no", lambda _: {"allowed": False}))

        assert api.call("DELETE", api.maps("m")).code == 400
        assert api.call("GET", api.maps("m")).code == 200

    def test_what_is_deleted_cannot_be_changed(self, api: Api, hook: Any) -> None:
        api.create("m")
        api.install(MUTATING, hook("/patch", lambda _: patch({"op": "add", "path": "/data/b", "value": "2"})))

        code, reason, message = refusal(api.call("DELETE", api.maps("m")))

        assert (code, reason) == (500, "InternalError")
        text = 'webhook "patch.example.com" attempted to modify the object, which is not supported for this operation'
        assert message == f"Internal error occurred: admission {text}"
        assert api.call("GET", api.maps("m")).code == 200


class TestValidating:
    def test_its_refusal_ends_the_request(self, api: Api, hook: Any) -> None:
        api.install(VALIDATING, hook("/no", lambda _: {"allowed": False, "status": {"message": "not today"}}))

        assert refusal(api.create("m")) == (
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
        api.install(VALIDATING, hook("/no", lambda _: {"allowed": False, "status": status}))

        code, reason, message = refusal(api.create("m"))

        assert (code, reason) == expected[:2]
        assert message == f'admission webhook "no.example.com" {expected[2]}'

    def test_it_sees_what_mutating_ones_did(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        api.install(MUTATING, hook("/patch", lambda _: patch({"op": "add", "path": "/data/b", "value": "2"})))
        api.install(VALIDATING, hook("/see", allow))

        api.create("m")

        assert hook_server.asked["/see"][0]["object"]["data"] == {"a": "1", "b": "2"}

    def test_updates_and_deletions(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        api.create("m")
        api.install(VALIDATING, hook("/see", allow))

        api.call("PATCH", api.maps("m"), {"data": {"a": "2"}}, MERGE)
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
        api.install(VALIDATING, hook("/see", allow))

        api.call("DELETE", api.maps())

        assert sorted(r["oldObject"]["metadata"]["name"] for r in hook_server.asked["/see"]) == ["a", "b", "c"]

    def test_a_refused_deletion_deletes_nothing(self, api: Api, hook: Any) -> None:
        api.create("m")
        api.install(VALIDATING, hook("/no", lambda _: {"allowed": False}))

        assert api.call("DELETE", api.maps("m")).code == 400
        assert api.call("GET", api.maps("m")).code == 200

    def test_its_warnings_reach_the_caller(self, api: Api, hook: Any) -> None:
        api.install(VALIDATING, hook("/warn", lambda _: {"allowed": True, "warnings": ["mind the gap"]}))

        assert api.create("m").headers["Warning"] == '299 - "mind the gap"'

    def test_all_are_asked(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        api.install(VALIDATING, hook("/a", allow), hook("/b", lambda _: {"allowed": False}))
        api.install(VALIDATING, hook("/c", allow))

        assert api.create("m").code == 400
        eventually(lambda: set(hook_server.asked) == {"/a", "/b", "/c"})


class TestFailures:
    @pytest.mark.parametrize("kind", [MUTATING, VALIDATING])
    def test_nobody_answers(self, api: Api, hook: Any, kind: str) -> None:
        nobody: Object = {"clientConfig": {"url": "https://127.0.0.1:1/"}}
        api.install(kind, hook("/nobody", allow, failurePolicy="Fail", **nobody))

        code, reason, message = refusal(api.create("m"))

        assert (code, reason) == (500, "InternalError")
        start = 'Internal error occurred: failed calling webhook "nobody.example.com": failed to call webhook: Post '
        assert message.startswith(start)

    @pytest.mark.parametrize("kind", [MUTATING, VALIDATING])
    def test_nobody_answers_and_nobody_minds(self, api: Api, hook: Any, kind: str) -> None:
        nobody: Object = {"clientConfig": {"url": "https://127.0.0.1:1/"}}
        api.install(kind, hook("/nobody", allow, failurePolicy="Ignore", **nobody))

        assert api.create("m").code == 201

    @pytest.mark.parametrize(("policy", "code"), [("Fail", 500), ("Ignore", 201)])
    def test_one_that_hangs(self, api: Api, hook: Any, policy: str, code: int) -> None:
        api.install(VALIDATING, hook("/hang", lambda _: None, failurePolicy=policy, timeoutSeconds=1))

        answered = api.create("m")

        assert answered.code == code
        if code == 500:
            assert 'failed calling webhook "hang.example.com"' in answered.json()["message"]
            assert "context deadline exceeded" in answered.json()["message"]

    def test_one_that_is_slow_holds_up_nobody_else(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        enough = threading.Event()
        mine = hook("/slow", lambda _: allow({}) if enough.wait(60) else None, timeoutSeconds=30)
        mine["objectSelector"] = {"matchLabels": {"slow": "yes"}}
        api.install(VALIDATING, mine)
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
        api.install(VALIDATING, hook("/odd", lambda _: answer))

        assert refusal(api.create("m"))[:2] == (500, "InternalError")

    def test_a_certificate_of_someone_else(self, api: Api, hook: Any, hook_server: HookServer) -> None:
        with hooks.serving() as other:
            config = {"url": f"{hook_server.url}/x", "caBundle": other.ca_bundle}
            api.install(VALIDATING, hook("/x", allow, clientConfig=config))

            assert refusal(api.create("m"))[:2] == (500, "InternalError")
        assert hook_server.asked == {}

    def test_configurations_cannot_be_locked_away(self, api: Api, hook: Any) -> None:
        never = hook("/no", lambda _: {"allowed": False}, resources=("*",), namespaceSelector={})
        never["objectSelector"] = {"matchLabels": {"locked": "yes"}}
        api.install(VALIDATING, never)

        body: Object = {"metadata": {"name": f"hooks-{next(numbers)}", "labels": {"locked": "yes"}}, "webhooks": []}
        path = f"{CONFIGURATIONS}/validatingwebhookconfigurations"
        assert api.call("POST", path, body).code == 201
        assert api.call("DELETE", f"{path}/{body['metadata']['name']}").code == 200
