"""Probes."""

from __future__ import annotations

import pytest

from rayward.kinds import shapes
from tests.kinds.shapes.sample import Object, cluster, ray, template

_AGENT = (
    "wget --tries 1 -T 2 -q -O- http://localhost:52365/api/local_raylet_healthz | grep success > /dev/null "
    "|| { echo 'Ray node does not answer at port 52365'; exit 1; }"
)


def _probes(pod: Object) -> tuple[Object, Object]:
    return ray(pod)["livenessProbe"], ray(pod)["readinessProbe"]


def test_an_older_ray_is_asked_by_a_command() -> None:
    made = cluster({"rayVersion": "2.52.9"})

    live, ready = _probes(shapes.head_pod(made, "h"))
    worker_live, worker_ready = _probes(shapes.worker_pod(made, made.groups[0], "w"))

    gcs = "wget --tries 1 -T 10 -q -O- http://localhost:8265/api/gcs_healthz | grep success > /dev/null "
    gcs += "|| { echo 'the GCS of Ray does not answer at port 8265'; exit 1; }"
    assert live == {
        "exec": {"command": ["bash", "-c", f"{_AGENT} && {gcs}"]},
        "initialDelaySeconds": 30,
        "timeoutSeconds": 5,
        "periodSeconds": 5,
        "successThreshold": 1,
        "failureThreshold": 120,
    }
    assert ready == {**live, "initialDelaySeconds": 10, "failureThreshold": 10}
    assert worker_live["exec"] == worker_ready["exec"] == {"command": ["bash", "-c", _AGENT]}
    assert worker_ready["timeoutSeconds"] == 2


@pytest.mark.parametrize("version", ["2.53.0", "v2.53", "2.100.1", "3.0", "2.53.0rc1"])
def test_a_newer_ray_is_asked_over_http(version: str) -> None:
    made = cluster({"rayVersion": version}, head={"rayStartParams": {"dashboard-agent-listen-port": "77"}})

    live, ready = _probes(shapes.head_pod(made, "h"))

    assert live["httpGet"] == ready["httpGet"] == {"path": "/api/healthz", "port": 77}


@pytest.mark.parametrize("port", ["", "x", "4294967296", "9" * 5000, "0x10", "1_0", "٣"])
def test_a_port_that_is_none_is_the_usual_one(port: str) -> None:
    made = cluster({"rayVersion": "2.60.0"}, head={"rayStartParams": {"dashboard-agent-listen-port": port}})

    assert _probes(shapes.head_pod(made, "h"))[0]["httpGet"]["port"] == 52365


def test_the_users_own_stay() -> None:
    own = {"tcpSocket": {"port": 1}}
    made = cluster(head={"template": template({"livenessProbe": own})})

    live, ready = _probes(shapes.head_pod(made, "h"))

    assert live == own
    assert "exec" in ready


def test_a_services_head_is_asked_earlier_and_given_up_after_the_same_time() -> None:
    served = cluster({"rayVersion": "2.60.0"}, labels={"ray.io/originated-from-crd": "RayService"})

    (live, usual), (served_live, ready) = (
        _probes(shapes.head_pod(made, "h")) for made in (cluster({"rayVersion": "2.60.0"}), served)
    )

    assert served_live == live
    assert (ready["initialDelaySeconds"], ready["periodSeconds"]) == (3, 2)
    assert ready["periodSeconds"] * ready["failureThreshold"] == usual["periodSeconds"] * usual["failureThreshold"]
    assert ready["httpGet"] == usual["httpGet"]


def test_a_services_worker_is_ready_when_its_proxy_answers() -> None:
    worker = {"template": template({"ports": [{"name": "serve", "containerPort": 8001}]})}
    made = cluster({"rayVersion": "2.60.0"}, groups=[worker], labels={"ray.io/originated-from-crd": "RayService"})

    live, ready = _probes(shapes.worker_pod(made, made.groups[0], "w"))

    assert "httpGet" in live
    command = ready["exec"]["command"][2]
    assert "http://localhost:8001/-/healthz" in command
    assert "echo 'Serve proxy does not answer at port 8001 yet'; exit 1" in command
    assert ready["failureThreshold"] == 1
