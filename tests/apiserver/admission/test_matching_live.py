"""Which requests a webhook is asked about: rules, selectors, match conditions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.admission.api import CONFIGURATIONS, MERGE, MUTATING, VALIDATING, Api, Object, refusal
from tests.apiserver.admission.hooks import HookServer, allow, patch
from tests.apiserver.fuzz.subjects import definition_spec
from tests.waiting import eventually


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
                "matchConditions": [
                    {"name": "mine", "expression": "authorizer.requestResource.check('delete').allowed()"},
                    {
                        "name": "theirs",
                        "expression": "!authorizer.serviceAccount('n', 'sa').path('/metrics').check('get').allowed()",
                    },
                    {"name": "named", "expression": "authorizer.requestResource.name('x').check('get').reason() == ''"},
                ]
            },
            ["plain", "marked"],
            id="conditions on who may what",
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
    api: Api, hook: Any, hook_server: HookServer, settings: Object, seen: list[str]
) -> None:
    api.install(VALIDATING, hook("/see", allow, **settings))

    assert api.create("plain").code == 201
    assert api.create("marked", labels={"mark": "x"}).code == 201

    assert [request["name"] for request in hook_server.asked.get("/see", [])] == seen


def test_a_condition_that_fails(api: Api, hook: Any) -> None:
    condition = {"name": "error", "expression": "object.nothing.at.all == 1"}
    api.install(VALIDATING, hook("/see", allow, matchConditions=[condition]))

    code, reason, _ = refusal(api.create("m"))

    assert (code, reason) == (403, "Forbidden")


def test_conditions_must_compile(api: Api, hook: Any) -> None:
    condition = {"name": "broken", "expression": "object.("}
    body = {"metadata": {"name": "broken"}, "webhooks": [hook("/x", allow, matchConditions=[condition])]}

    code, reason, message = refusal(api.call("POST", f"{CONFIGURATIONS}/validatingwebhookconfigurations", body))

    assert (code, reason) == (422, "Invalid")
    assert "webhooks[0].matchConditions[0].expression: Invalid value" in message


def test_subresources_are_asked_for_by_name(api: Api, hook: Any, hook_server: HookServer) -> None:
    api.install(VALIDATING, hook("/whole", allow, resources=("pods",)))
    api.install(VALIDATING, hook("/status", allow, resources=("pods/status",)))
    api.install(VALIDATING, hook("/all", allow, resources=("pods/*",)))
    pods = f"/api/v1/namespaces/{api.namespace}/pods"
    api.call("POST", f"/api/v1/namespaces/{api.namespace}/serviceaccounts", {"metadata": {"name": "default"}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

    assert api.call("POST", pods, pod).code == 201
    assert api.call("PATCH", f"{pods}/p/status", {"status": {"phase": "Running"}}, MERGE).code == 200

    seen = {path: [r.get("subResource", "") for r in asked] for path, asked in hook_server.asked.items()}
    assert seen == {"/whole": [""], "/status": ["status"], "/all": ["", "status"]}


def test_custom_kinds(api: Api, hook: Any) -> None:
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
    api.install(MUTATING, hook("/patch", lambda _: added, resources=("gadget",)))

    body = {"apiVersion": "hooks.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}
    assert api.call("POST", path, body).json()["spec"] == {"size": 3}
