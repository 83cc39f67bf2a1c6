"""kubectl's streams into pods of our node: behind our own API server, and behind Kubernetes' own."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rayward.kube.core.resource import SERVICES
from rayward.net.certificates import issue_client, make_authority
from tests.kube.real import build
from tests.kube.real.cluster import RealControlPlane
from tests.kube.terminal import Terminal
from tests.node.machine import Machine, sh
from tests.waiting import eventually

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]

_WEBSOCKET: dict[str, str] = {}
_SPDY = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"}
_both_ways = pytest.mark.parametrize("way", [_WEBSOCKET, _SPDY], ids=["websocket", "spdy"])
_SERVER = Path(__file__).parents[1] / "node" / "behaviour" / "server.py"


class _Cluster(Machine):
    """Our node, and kubectl at its API server: our own, or the one of a real control plane."""

    def __init__(self, plane: RealControlPlane | None, *options: str) -> None:
        super().__init__("--name", "here", "--cpus", "8", "--memory", "16Gi", *options)
        self._plane = plane

    def start_control_plane(self) -> Path:
        return self._plane.kubeconfig if self._plane is not None else super().start_control_plane()

    def command(self, *arguments: str) -> list[str]:
        return [str(build.build() / "kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        return {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "TERM": "dumb", **more}

    def kubectl(self, *arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=self.environment(**more),
            cwd=self.folder,
        )

    @contextmanager
    def listening(self, *arguments: str, **more: str) -> Generator[tuple[str, subprocess.Popen[str]]]:
        """kubectl that listens on loopback; its address and its process."""
        process = subprocess.Popen(
            self.command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment(**more),
        )
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert "127.0.0.1:" in line, line + process.stdout.read()
            yield "127.0.0.1:" + line.split("127.0.0.1:")[1].split()[0], process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.fixture(scope="module")
def ours() -> Iterator[_Cluster]:
    with _Cluster(None) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Cluster]:
    folder = tmp_path_factory.mktemp("kubelet-client")
    authority = make_authority("kubelet-clients")
    client = issue_client(authority, "kube-apiserver", ["system:masters"])
    certificate, key, trusted = folder / "client.crt", folder / "client.key", folder / "ca.crt"
    for file, data in ((certificate, client.certificate), (key, client.key), (trusted, authority.certificate)):
        file.write_bytes(data)
    arguments = (
        f"--kubelet-client-certificate={certificate}",
        f"--kubelet-client-key={key}",
        "--kubelet-preferred-address-types=InternalIP",
    )
    with (
        RealControlPlane(controller_manager=True, apiserver_args=arguments) as plane,
        _Cluster(plane, "--client-ca", str(trusted)) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module", params=["ours", "real"])
def cluster(request: pytest.FixtureRequest) -> _Cluster:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def pod(cluster: _Cluster) -> str:
    """A pod that serves HTTP on 8000."""
    command = ["python", "-c", _SERVER.read_text()]
    probe = {"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    container = {"name": "c", "image": "x", "command": command, "readinessProbe": probe}
    cluster.run({**container, "ports": [{"containerPort": 8000}]}, name="pages", metadata={"labels": {"app": "pages"}})
    cluster.until_ready("pages")
    return "pages"


def test_a_log_is_followed_to_its_end(cluster: _Cluster) -> None:
    name = cluster.run(sh("for i in 1 2 3; do echo $i; sleep 0.2; done"))
    eventually(lambda: "running" in cluster.state(name) or "terminated" in cluster.state(name))
    done = cluster.kubectl("logs", "-f", name)
    assert (done.returncode, done.stdout) == (0, "1\n2\n3\n"), done.stderr


@_both_ways
def test_commands_have_their_streams_and_codes(cluster: _Cluster, pod: str, way: dict[str, str]) -> None:
    done = cluster.kubectl("exec", pod, "--", "sh", "-c", "echo out; echo err >&2; exit 42", **way)
    assert (done.returncode, done.stdout) == (42, "out\n"), done.stderr
    assert done.stderr == "err\ncommand terminated with exit code 42\n"
    said = "".join(f"line {number}\n" for number in range(20_000))
    done = cluster.kubectl("exec", "-i", pod, "--", "cat", stdin=said, **way)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == said
    absent = cluster.kubectl("exec", pod, "--", "no-such-command", **way)
    assert absent.returncode != 0
    assert "executable file not found in $PATH" in absent.stderr


@_both_ways
def test_a_shell_in_a_terminal(cluster: _Cluster, pod: str, way: dict[str, str]) -> None:
    command = cluster.command("exec", "-it", pod, "--", "sh")
    with Terminal(command, cluster.environment(**way), 33, 77) as terminal:
        terminal.until("# ")
        terminal.type("stty size; tty\n")
        terminal.until("/dev/pts/")
        assert "33 77" in terminal.heard
        terminal.resize(44, 88)
        # the size arrives in its own time
        terminal.type("while [ \"$(stty size)\" != '44 88' ]; do sleep 0.1; done; echo re''sized\n")
        terminal.until("resized")
        terminal.type("exit 5\n")
        assert terminal.code() == 5


@_both_ways
def test_a_program_is_joined(cluster: _Cluster, way: dict[str, str]) -> None:
    name = cluster.run(sh("read line; echo heard $line", stdin=True, stdinOnce=True))
    cluster.until_ready(name)
    done = cluster.kubectl("attach", "-i", name, stdin="a word\n", **way)
    assert done.returncode == 0, done.stderr
    assert "heard a word" in done.stdout
    cluster.until_phase(name, "Succeeded")


@_both_ways
def test_a_pod_that_is_run_and_removed(cluster: _Cluster, way: dict[str, str]) -> None:
    name = "once-spdy" if way else "once"
    options = ("--rm", "-i", "--restart=Never", "--image=x", "--pod-running-timeout=2m")
    done = cluster.kubectl("run", name, *options, "--", "cat", stdin="through and through\n", **way)
    assert done.returncode == 0, done.stderr
    assert "through and through\n" in done.stdout


@_both_ways
def test_a_port_is_forwarded(cluster: _Cluster, pod: str, way: dict[str, str]) -> None:
    with cluster.listening("port-forward", f"pod/{pod}", ":8000", **way) as (address, _):
        for _ in range(5):
            with urllib.request.urlopen(f"http://{address}/hello", timeout=60) as answer:
                assert answer.read() == b"hello from pages"


@_both_ways
def test_a_port_where_nobody_listens_is_told(cluster: _Cluster, pod: str, way: dict[str, str]) -> None:
    with cluster.listening("port-forward", f"pod/{pod}", ":81", **way) as (address, process):
        with pytest.raises(OSError, match=r".*"), urllib.request.urlopen(f"http://{address}/", timeout=60):
            pass
        assert process.stdout is not None
        said = process.stdout.read()
        assert "error forwarding port 81 to pod" in said
        assert "connect: connection refused" in said
        assert "lost connection to pod" in said


def test_the_end_of_a_pod_ends_its_forwarding(cluster: _Cluster) -> None:
    name = cluster.run(sh("exec sleep 600"))
    cluster.until_ready(name)
    with cluster.listening("port-forward", f"pod/{name}", ":80") as (_, process):
        cluster.delete(name)
        assert process.wait(120) != 0


def test_a_service_is_forwarded(cluster: _Cluster, pod: str) -> None:
    ports = [{"name": "web", "port": 80, "targetPort": 8000}]
    cluster.make(SERVICES, {"metadata": {"name": "pages"}, "spec": {"selector": {"app": pod}, "ports": ports}})
    with (
        cluster.listening("port-forward", "service/pages", ":80") as (address, _),
        urllib.request.urlopen(f"http://{address}/hello", timeout=60) as answer,
    ):
        assert answer.read() == b"hello from pages"


def test_files_are_copied_both_ways(cluster: _Cluster, pod: str) -> None:
    content = os.urandom(300_000)
    (cluster.folder / "there").write_bytes(content)
    done = cluster.kubectl("cp", "there", f"{pod}:/tmp/here")
    assert done.returncode == 0, done.stderr
    back = cluster.kubectl("cp", f"{pod}:/tmp/here", "back")
    assert back.returncode == 0, back.stderr
    assert (cluster.folder / "back").read_bytes() == content


def test_a_description_of_the_node(cluster: _Cluster, pod: str) -> None:
    said = cluster.kubectl("describe", "node", "here").stdout
    for expected in ("Name:               here", "KubeletReady", "Allocated resources:", "Non-terminated Pods:", pod):
        assert expected in said, said


def test_kubectl_proxies_to_pods_and_services(ours: _Cluster) -> None:
    """On our server only: Kubernetes' own calls pods directly, and is not in their network."""
    command = ["python", "-c", _SERVER.read_text()]
    ours.run({"name": "c", "image": "x", "command": command}, name="behind", metadata={"labels": {"app": "behind"}})
    ours.until_ready("behind")
    spec = {"selector": {"app": "behind"}, "ports": [{"port": 80, "targetPort": 8000}]}
    ours.make(SERVICES, {"metadata": {"name": "behind"}, "spec": spec})
    base = "/api/v1/namespaces/default"
    eventually(
        lambda: ours.kubectl("get", "--raw", f"{base}/services/behind:80/proxy/hello").stdout == "hello from behind"
    )
    with ours.listening("proxy", "--port=0") as (address, _):
        for path in ("pods/behind:8000", "services/behind:80"):
            with urllib.request.urlopen(f"http://{address}{base}/{path}/proxy/hello", timeout=60) as answer:
                assert answer.read() == b"hello from behind"
    refused = ours.kubectl("get", "--raw", f"{base}/pods/behind:81/proxy/")
    assert "error trying to reach service: dial tcp" in refused.stderr
