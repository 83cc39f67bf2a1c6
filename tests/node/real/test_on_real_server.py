"""The same node on a real kube-apiserver with kube-controller-manager, seen by kubectl."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.net.certificates import issue_client, make_authority
from tests.kube.real.cluster import RealControlPlane
from tests.node.machine import Machine, sh
from tests.waiting import eventually

pytestmark = pytest.mark.kube


class _OnRealServer(Machine):
    """A machine whose API server is Kubernetes' own."""

    def __init__(self, plane: RealControlPlane, *options: str) -> None:
        super().__init__(*options)
        self._plane = plane

    def start_control_plane(self) -> Path:
        return self._plane.kubeconfig

    def kubectl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run kubectl."""
        return self._plane.run_kubectl(*arguments)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_OnRealServer]:
    folder = tmp_path_factory.mktemp("kubelet-client")
    authority = make_authority("kubelet-clients")
    client = issue_client(authority, "kube-apiserver", ["system:masters"])
    for name, data in (
        ("ca.crt", authority.certificate),
        ("client.crt", client.certificate),
        ("client.key", client.key),
    ):
        (folder / name).write_bytes(data)
    arguments = (
        f"--kubelet-client-certificate={folder / 'client.crt'}",
        f"--kubelet-client-key={folder / 'client.key'}",
        "--kubelet-preferred-address-types=InternalIP",
    )
    with (
        RealControlPlane(controller_manager=True, apiserver_args=arguments) as plane,
        _OnRealServer(plane, "--client-ca", str(folder / "ca.crt"), "--name", "here") as machine,
    ):
        yield machine


def test_a_pod_runs_and_tells_its_log(real: _OnRealServer) -> None:
    name = real.run(sh("echo hello from $HOSTNAME; exec sleep 600"))
    real.until_ready(name)
    done = real.kubectl("logs", name)
    assert (done.returncode, done.stdout) == (0, f"hello from {name}\n"), done.stderr
    real.delete(name)
    real.until_gone(name)


def test_logs_follow_and_go_back(real: _OnRealServer) -> None:
    name = real.run(sh("for i in 1 2 3; do echo $i; sleep 0.2; done"))
    eventually(lambda: "running" in real.state(name) or "terminated" in real.state(name))
    done = real.kubectl("logs", "-f", "--tail=10", name)
    assert (done.returncode, done.stdout) == (0, "1\n2\n3\n"), done.stderr
    previous = real.kubectl("logs", "--previous", name)
    assert previous.returncode != 0
    assert f'previous terminated container "c" in pod "{name}" not found' in previous.stderr


def test_a_service_account_a_config_map_and_a_deployments_pods(real: _OnRealServer) -> None:
    plain = real.config_map(k="v")
    said = real.output(
        sh(
            "cat /m/k; ls /var/run/secrets/kubernetes.io/serviceaccount",
            volumeMounts=[{"name": "m", "mountPath": "/m"}],
        ),
        volumes=[{"name": "m", "configMap": {"name": plain}}],
    )
    assert said == "vca.crt\nnamespace\ntoken\n"
    made = real.kubectl("create", "deployment", "web", "--image=busybox", "--replicas=2", "--", "sleep", "600")
    assert made.returncode == 0, made.stderr
    done = real.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    assert done.returncode == 0, done.stderr
    assert real.kubectl("delete", "deployment", "web", "--wait=false").returncode == 0


def test_a_job_completes(real: _OnRealServer) -> None:
    assert real.kubectl("create", "job", "once", "--image=busybox", "--", "echo", "done").returncode == 0
    done = real.kubectl("wait", "--for=condition=complete", "job/once", "--timeout=60s")
    assert done.returncode == 0, done.stderr
    assert real.kubectl("logs", "job/once").stdout == "done\n"


def test_a_description_of_the_node(real: _OnRealServer) -> None:
    text = real.kubectl("describe", "node", "here").stdout
    for expected in (
        "KubeletReady",
        "InternalIP:  127.0.0.1",
        "Container Runtime Version:  rayward://",
        "Allocated resources:",
    ):
        assert expected in text


def test_a_failed_probe_and_a_crash_are_told_as_by_a_kubelet(real: _OnRealServer) -> None:
    name = real.run(sh("exit 1"), restartPolicy="Always")
    real.until_waiting(name, "CrashLoopBackOff")
    assert "CrashLoopBackOff" in real.kubectl("get", "pod", name).stdout
    real.delete(name)


def test_the_node_dies_and_comes_back(real: _OnRealServer) -> None:
    name = real.run(sh("exec sleep 600"))
    real.until_ready(name)
    before = real.container(name)
    real.kill_node()
    real.start_node()
    assert real.container(name) == before
    real.delete(name)
    real.until_gone(name)
