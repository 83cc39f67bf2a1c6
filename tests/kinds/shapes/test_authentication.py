"""Tokens."""

from __future__ import annotations

import pytest

from rayward.kinds import shapes
from rayward.operator.cluster import children
from tests.kinds.shapes.sample import Object, cluster, ray, template, variables


def test_a_secret_keeps_the_token_and_every_ray_process_gets_it() -> None:
    made = cluster({"authOptions": {"mode": "token"}, "enableInTreeAutoscaling": True})
    head, worker = shapes.head_pod(made, "h"), shapes.worker_pod(made, made.groups[0], "w")

    secret = children.auth_secret(made, "t")

    assert secret is not None
    assert secret["metadata"]["name"] == "demo"
    assert secret["stringData"] == {"auth_token": "t"}
    for container in (*head["spec"]["containers"], ray(worker), worker["spec"]["initContainers"][0]):
        assert variables(container)["RAY_AUTH_MODE"] == "token"
        assert variables(container)["RAY_AUTH_TOKEN"] == {"secretKeyRef": {"name": "demo", "key": "auth_token"}}


def test_the_users_secret_is_used() -> None:
    made = cluster({"authOptions": {"mode": "token", "secretName": "mine"}})

    assert children.auth_secret(made, "t") is None
    assert variables(ray(shapes.head_pod(made, "h")))["RAY_AUTH_TOKEN"]["secretKeyRef"]["name"] == "mine"


def test_the_users_variables_stay() -> None:
    own = [{"name": "RAY_AUTH_MODE", "value": "disabled"}, {"name": "RAY_AUTH_TOKEN", "value": "t"}]
    made = cluster({"authOptions": {"mode": "token"}}, head={"template": template({"env": own})})

    assert ray(shapes.head_pod(made, "h"))["env"][:2] == own
    assert variables(ray(shapes.head_pod(made, "h")))["RAY_AUTH_TOKEN"] == "t"


def test_accounts_bring_their_tokens_as_files() -> None:
    made = cluster({"authOptions": {"mode": "token", "enableK8sTokenAuth": True}})
    pod = shapes.worker_pod(made, made.groups[0], "w")

    assert children.auth_secret(made, "t") is None
    assert {"name": "ray-token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}} in pod["spec"][
        "volumes"
    ]
    mount = {"name": "ray-token", "mountPath": "/var/run/secrets/ray.io/serviceaccount", "readOnly": True}
    for container in (ray(pod), pod["spec"]["initContainers"][0]):
        assert mount in container["volumeMounts"]
        assert variables(container)["RAY_ENABLE_K8S_TOKEN_AUTH"] == "true"


@pytest.mark.parametrize("options", [None, {}, {"mode": ""}, {"mode": "disabled"}])
def test_no_token_is_asked_for(options: Object | None) -> None:
    made = cluster({"authOptions": options})

    assert children.auth_secret(made, "t") is None
    assert "RAY_AUTH_MODE" not in variables(ray(shapes.head_pod(made, "h")))
