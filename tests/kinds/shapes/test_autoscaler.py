"""The autoscaler's container."""

from __future__ import annotations

from rayward.kinds import shapes
from tests.kinds.shapes.sample import Object, cluster, variables

_COMMAND = "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"


def _container(options: Object | None) -> Object:
    made = cluster({"enableInTreeAutoscaling": True, "autoscalerOptions": options})
    return shapes.head_pod(made, "h")["spec"]["containers"][1]


def test_it_runs_rays_own_autoscaler_in_rays_own_image() -> None:
    made = _container(None)

    assert (made["name"], made["image"], made["imagePullPolicy"]) == ("autoscaler", "ray:1", "IfNotPresent")
    assert made["args"] == [_COMMAND]
    assert variables(made)["RAY_HEAD_POD_NAME"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert variables(made)["KUBERAY_CRD_VER"] == "v1"


def test_the_user_may_replace_all_of_it() -> None:
    made = _container(
        {
            "image": "own",
            "imagePullPolicy": "Never",
            "resources": {},
            "securityContext": {"runAsUser": 1},
            "env": [{"name": "A", "value": "b"}],
            "envFrom": [{"secretRef": {"name": "s"}}],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
    )

    assert (made["image"], made["imagePullPolicy"], made["resources"]) == ("own", "Never", {})
    assert made["securityContext"] == {"runAsUser": 1}
    assert made["env"][-1] == {"name": "A", "value": "b"}
    assert made["envFrom"] == [{"secretRef": {"name": "s"}}]
    assert [mount["name"] for mount in made["volumeMounts"]] == ["v", "ray-logs"]


def test_a_command_of_the_users_own_can_end_in_the_usual_one() -> None:
    made = _container({"command": ["/bin/sh", "-c"], "args": ["sleep 1; $KUBERAY_GEN_AUTOSCALER_START_CMD"]})

    assert made["command"] == ["/bin/sh", "-c"]
    assert made["args"] == ["sleep 1; $KUBERAY_GEN_AUTOSCALER_START_CMD"]
    assert variables(made)["KUBERAY_GEN_AUTOSCALER_START_CMD"] == _COMMAND
