"""Which pods take requests, by what their own Serve proxy answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rayward.kinds import labels
from rayward.kinds.raycluster import HeadGroup, RayCluster, RayClusterSpec
from rayward.kube.core.objects import Condition, ObjectMeta
from rayward.kube.core.pod import ContainerStatus, PodStatus
from rayward.operator.cluster.pod import PodContainer, RayPod, RayPodSpec
from rayward.operator.ray.answers import Application, Proxy, Serve
from rayward.operator.ray.observation import Observation, Routes
from rayward.operator.service.annotations import ClusterAnnotations
from rayward.operator.service.routing import pod_labels, proxy_pods, required_routes, serve_pod
from rayward.operator.service.state import ChildCluster

_APP = frozenset({"app"})


def pod(kind: str = labels.HEAD, label: str = "false", *, ready: bool = True, restarts: int = 0) -> RayPod:
    return RayPod(
        metadata=ObjectMeta(
            name=f"x-{kind}", namespace="default", uid="u1", labels={labels.NODE_TYPE: kind, labels.SERVE: label}
        ),
        spec=RayPodSpec(containers=(PodContainer(name="ray"),)),
        status=PodStatus(
            phase="Running",
            pod_ip="10.0.0.1",
            conditions=(Condition(type="Ready", status=str(ready)),),
            container_statuses=(ContainerStatus(name="ray", restart_count=restarts),),
        ),
    )


def seen(routes: Routes | None, *, proxy: str = "HEALTHY", app: str = "RUNNING", **more: Any) -> Observation:
    serve = Serve({"app": Application(app)}, {"n": Proxy(proxy, node_instance_id="x-head")})
    return Observation("s", serve=serve, routes={"u1/0": routes} if routes else {}, **more)


def label(found: RayPod, observation: Observation, *, serving: bool = True, excluded: bool = False) -> str:
    """The label that a pod has after a decision."""
    known = serve_pod(found, observation, _APP)
    traffic = {"x": 100} if serving else {"other": 100}
    changes = pod_labels([ChildCluster("x", "h", "c", pods=(known,))], traffic, no_heads=excluded)
    assert all((change.pod, change.uid) == (found.metadata.name, "u1") for change in changes)
    return changes[0].label if changes else known.label


def test_a_head_takes_requests_when_its_proxy_leads_to_the_applications() -> None:
    assert label(pod(), seen(Routes.ALL)) == "true"
    assert label(pod(label="true"), seen(Routes.MISSING)) == "false"
    assert label(pod(), seen(Routes.ALL, proxy="DRAINING")) == "false"
    assert label(pod(), seen(Routes.ALL), excluded=True) == "false"


def test_a_head_that_is_not_ready_loses_the_label_so_that_it_does_not_come_back_with_it() -> None:
    assert label(pod(label="true", ready=False), seen(Routes.ALL)) == "false"
    assert label(pod(label="true", ready=False), Observation()) == "false"


def test_answers_of_a_container_that_ended_say_nothing_of_the_next_one() -> None:
    assert pod(restarts=0).incarnation != pod(restarts=1).incarnation
    assert label(pod(restarts=1), seen(Routes.ALL)) == "false"


@pytest.mark.parametrize("before", ["true", "false"])
def test_an_operator_that_has_asked_nobody_yet_changes_nothing(before: str) -> None:
    assert label(pod(label=before), seen(None)) == before
    assert label(pod(label=before), Observation()) == before
    assert label(pod(labels.WORKER, before), Observation()) == before


def test_a_proxy_that_cannot_be_asked_is_believed_as_far_as_the_controller_knows() -> None:
    assert label(pod(), seen(Routes.SILENT)) == "true"
    assert label(pod(), seen(Routes.SILENT, app="DEPLOYING")) == "false"
    assert label(pod(label="true"), seen(Routes.SILENT, app="DEPLOYING")) == "true"
    assert label(pod(label="true"), seen(Routes.SILENT, app="DEPLOYING", starting=True)) == "false"


def test_workers_behind_a_wall_come_back_when_the_controller_says_so() -> None:
    worker = pod(labels.WORKER, "false")
    assert label(worker, seen(Routes.SILENT)) == "true"
    assert label(worker, seen(Routes.SILENT, app="DEPLOYING")) == "false"


def test_workers_of_a_session_that_starts_anew_take_requests_when_they_have_routes() -> None:
    worker = pod(labels.WORKER, "true")
    assert label(worker, seen(None, starting=True)) == "false"
    assert label(worker, seen(None, starting=True), serving=False) == "true"
    assert label(worker, seen(Routes.MISSING)) == "false"
    withdrawn = pod(labels.WORKER, "false")
    assert label(withdrawn, seen(None)) == "false"
    assert label(withdrawn, seen(Routes.ALL)) == "true"


def _config(**routes: str | None) -> str:
    return json.dumps({"applications": [{"name": name, "route_prefix": route} for name, route in routes.items()]})


def test_an_application_that_an_edit_adds_takes_no_pod_out_of_traffic() -> None:
    both, one = _config(a="/a", b="/b"), _config(a="/a")
    assert required_routes(ClusterAnnotations(config=both)) == {"a", "b"}
    assert required_routes(ClusterAnnotations(config=both, good_config=one)) == {"a"}
    assert required_routes(ClusterAnnotations(config=one, good_config=both)) == {"a"}


def test_an_application_without_a_route_is_not_waited_for() -> None:
    assert required_routes(ClusterAnnotations(config=_config(a="/", hidden=None))) == {"a"}
    assert required_routes(ClusterAnnotations(config="no JSON")) == frozenset()


def test_ready_pods_are_asked_at_the_port_of_serve() -> None:
    template = {"spec": {"containers": [{"name": "ray", "ports": [{"name": "serve", "containerPort": 8123}]}]}}
    spec = RayClusterSpec(head_group_spec=HeadGroup(template=template))
    cluster = RayCluster(metadata=ObjectMeta(name="x", namespace="default"), spec=spec)
    (asked,) = proxy_pods(cluster, [pod(), pod(ready=False)])
    assert str(asked.place) == "pod default/x-head port 8123"
