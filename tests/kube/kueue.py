"""Real Kueue's whole manager on any API server, with the manifests and the configuration it ships.

It runs as a process of this machine, seeing the paths of its pod (``real/kueue/pod.sh``). What a kubelet and
kube-proxy would do is done here: its certificates are mounted once they are there, and its webhooks' Service answers.
Of its configuration only the ports differ, because a pod has all ports to itself and a process has not.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from rayward.local.addresses import shell_addresses_of
from rayward.quota.engine.takeover import LEASE
from tests.kube.real import build
from tests.kube.real.cluster import RealControlPlane, free_ports
from tests.kube.relay import connecting_through, egress_config, listening_at

NAMESPACE: Final = "kueue-system"
_POD: Final = Path(__file__).parent / "real" / "kueue" / "pod.sh"
_PATIENCE: Final = 300.0
_FLAVOR: Final = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "asked"}}
# An APIService needs aggregation, and the Deployment is what this module stands in for.
_NOT_APPLIED: Final = frozenset({"APIService", "Deployment"})

Object = dict[str, Any]
Kubectl = Callable[..., str]


class KueueError(Exception):
    """The manager ended, or did not do in time what a test waits for."""


def missing() -> str:
    """Why Kueue's manager cannot run on this machine; empty where it can."""
    if shutil.which("unshare") is None:
        return "unshare (util-linux) is not installed: Kueue's manager needs the paths of its pod"
    return ""


def kubectl_of(binary: Path, kubeconfig: Path) -> Kubectl:
    """Runs kubectl; returns what it prints, and fails with what it says."""

    def run(*arguments: str, text: str = "") -> str:
        done = subprocess.run(
            [str(binary), f"--kubeconfig={kubeconfig}", *arguments],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise KueueError(f"kubectl {' '.join(arguments)}: {done.stderr[-2000:]}")
        return done.stdout

    return run


def until(what: str, condition: Callable[[], Any], alive: Callable[[], None] = lambda: None) -> Any:
    """The first answer that holds; a failing kubectl is asked again."""
    deadline, problem = time.monotonic() + _PATIENCE, ""
    while time.monotonic() < deadline:
        alive()
        try:
            if found := condition():
                return found
        except KueueError as error:
            problem = str(error)
        time.sleep(0.2)
    raise KueueError(f"{what}: not within {_PATIENCE:.0f} s. {problem}")


def define(kubectl: Kubectl, definitions: Sequence[Object]) -> None:
    """Kinds that Kueue is to find when it starts."""
    kubectl("apply", "--server-side", "-f", "-", text=yaml.safe_dump_all(definitions))


def deploy(kubectl: Kubectl) -> None:
    """Its manifests on a server that has nodes, as they are shipped; no image is pulled, so its program is mounted.

    It returns when the Deployment is available and its webhooks answer.
    """
    parts = build.build_kueue()
    objects = _shipped(kubectl("kustomize", str(parts / "config" / "default")))
    pod: Object = next(each for each in objects if each["kind"] == "Deployment")["spec"]["template"]["spec"]
    pod["volumes"].append({"name": "program", "hostPath": {"path": str(parts / "manager"), "type": "File"}})
    pod["containers"][0]["volumeMounts"].append({"name": "program", "mountPath": "/manager", "readOnly": True})
    wanted = [each for each in objects if each["kind"] != "APIService"]
    kubectl("apply", "--server-side", "-f", "-", text=yaml.safe_dump_all(wanted))
    available = ["--for=condition=Available", "deployment/kueue-controller-manager", f"--timeout={_PATIENCE:.0f}s"]
    kubectl("wait", "-n", NAMESPACE, *available)
    until("Kueue's webhooks answer", lambda: kubectl("create", "--dry-run=server", "-f", "-", text=json.dumps(_FLAVOR)))


class Kueue:
    """The manager's process, which a test may stop and start again."""

    def __init__(self, kubectl: Kubectl, kubeconfig: Path, binary: Path) -> None:
        self._kubectl = kubectl
        self._parts = build.build_kueue()
        command = [str(binary), "kustomize", str(self._parts / "config" / "default")]
        manifests = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self._objects = _shipped(manifests)
        self._cluster: Object = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        self._change: Object = {}
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="rayward-kueue-"))
        self.webhooks = 0
        """The port that its webhooks listen on."""

    @property
    def log(self) -> Path:
        return self.folder / "manager.log"

    def install(self) -> None:
        """Its manifests, as they are shipped."""
        wanted = [each for each in self._objects if each["kind"] not in _NOT_APPLIED]
        self._kubectl("apply", "--server-side", "-f", "-", text=yaml.safe_dump_all(wanted))
        account = self.folder / "account"
        account.mkdir()
        (self.folder / "certs").mkdir()
        token = self._kubectl("create", "token", "-n", NAMESPACE, "kueue-controller-manager", "--duration=3h")
        (account / "token").write_text(token.strip())
        (account / "ca.crt").write_bytes(_authority(self._cluster))
        (account / "namespace").write_text(NAMESPACE)

    def start(self, **change: Any) -> None:
        """Start it, and return when its webhooks answer; ``change`` is what is not as shipped in its configuration."""
        for attempt in range(3):
            # Another process may take a port between choosing and using it: then choose again.
            self._change = change
            self._spawn(free_ports(4))
            try:
                self._mount_certificates()
                until("Kueue's webhooks listen", lambda: _answers(self.webhooks), self._alive)
                # They listen a moment before they can answer.
                until("Kueue's webhooks answer", self._is_asked, self._alive)
                return
            except KueueError as error:
                if attempt == 2 or "address already in use" not in str(error):
                    raise
                self.stop()

    def change(self, **change: Any) -> None:
        """Have it run with ``change`` in its configuration, as ``start`` does, unless it already does."""
        if self._process is None or self._change != change:
            self.stop()
            self.start(**change)

    def restore(self) -> None:
        """Have it run as it was shipped, whatever a test did to it."""
        self.change()

    def stop(self) -> None:
        """Kill it; nobody holds its lease afterwards."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._process = None
        with contextlib.suppress(KueueError):
            self._kubectl("delete", "lease", "-n", NAMESPACE, LEASE, "--ignore-not-found")

    def service_place(self) -> tuple[str, int]:
        """Where the embedded API server looks for the Service of its webhooks."""
        found = self._kubectl("get", "service", "-n", NAMESPACE, "kueue-webhook-service", "-o", "json")
        place = shell_addresses_of(json.loads(found))[0]
        return place.host, place.shell_port

    def _spawn(self, ports: list[int]) -> None:
        health, metrics, self.webhooks, visibility = ports
        shipped = next(each for each in self._objects if _is_configuration(each))
        configuration: Object = yaml.safe_load(shipped["data"]["controller_manager_config.yaml"])
        configuration["health"]["healthProbeBindAddress"] = f":{health}"
        configuration["metrics"]["bindAddress"] = f":{metrics}"
        configuration["webhook"]["port"] = self.webhooks
        configuration["visibilityServer"] = {"bindPort": visibility}
        configuration |= self._change
        (self.folder / "config.yaml").write_text(yaml.safe_dump(configuration))
        deployment = next(each for each in self._objects if each["kind"] == "Deployment")
        arguments: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        server = urlsplit(self._cluster["server"])
        told = {"KUBERNETES_SERVICE_HOST": server.hostname or "", "KUBERNETES_SERVICE_PORT": str(server.port)}
        pod = ["unshare", "--map-root-user", "--mount", "--kill-child", "sh", str(_POD), str(self.folder)]
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [*pod, str(self._parts / "manager"), *arguments],
                env={"PATH": os.environ["PATH"], **told},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def _alive(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise KueueError(f"Kueue ended with {self._process.returncode}:\n{self.log.read_text()[-4000:]}")

    def _is_asked(self) -> bool:
        self._kubectl("create", "--dry-run=server", "-f", "-", text=json.dumps(_FLAVOR))
        return True

    def _mount_certificates(self) -> None:
        def data() -> Object:
            found = self._kubectl("get", "secret", "-n", NAMESPACE, "kueue-webhook-server-cert", "-o", "json")
            return json.loads(found).get("data") or {}

        folder = self.folder / "certs"
        for name, value in until("Kueue makes its certificates", data, self._alive).items():
            partial = folder / f".{name}"
            partial.write_bytes(base64.b64decode(value))
            partial.replace(folder / name)


@contextlib.contextmanager
def running(kubectl: Kubectl, kubeconfig: Path, binary: Path, *, socket_path: Path | None = None) -> Generator[Kueue]:
    """Kueue, ready to be asked.

    Args:
        kubectl: Speaks to the API server.
        kubeconfig: Of the same server.
        binary: kubectl itself, for kustomize.
        socket_path: The proxy through which a kube-apiserver reaches Services; the embedded one looks on loopback.
    """
    made = Kueue(kubectl, kubeconfig, binary)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, made.folder, ignore_errors=True)
        made.install()
        if socket_path is not None:
            stack.enter_context(connecting_through(socket_path, lambda: made.webhooks))
        else:
            stack.enter_context(listening_at(*made.service_place(), lambda: made.webhooks))
        stack.callback(made.stop)
        made.start()
        yield made


@contextlib.contextmanager
def on_real_server(controllers: Sequence[str], definitions: Sequence[Object]) -> Generator[tuple[Path, Kueue]]:
    """A control plane with Kueue: its kubeconfig, and the manager.

    Args:
        controllers: Those of kube-controller-manager that are needed.
        definitions: Kinds that Kueue is to find when it starts.
    """
    with real_server(controllers, definitions) as (kubeconfig, installed), installed() as kueue:
        yield kubeconfig, kueue


@contextlib.contextmanager
def real_server(
    controllers: Sequence[str], definitions: Sequence[Object]
) -> Generator[tuple[Path, Callable[[], contextlib.AbstractContextManager[Kueue]]]]:
    """The same before Kueue is installed: its kubeconfig, and what installs and starts the manager."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rayward-egress-")))
        path = folder / "services"
        (folder / "egress.yaml").write_text(egress_config(path))
        plane = stack.enter_context(
            RealControlPlane(
                controller_manager=True,
                controller_manager_args=[f"--controllers={','.join(controllers)}"],
                apiserver_args=[f"--egress-selector-config-file={folder / 'egress.yaml'}"],
            )
        )
        run = kubectl_of(plane.kubectl, plane.kubeconfig)
        define(run, definitions)
        yield plane.kubeconfig, lambda: running(run, plane.kubeconfig, plane.kubectl, socket_path=path)


def _shipped(manifests: str) -> list[Object]:
    return [each for each in yaml.safe_load_all(manifests) if each]


def _is_configuration(found: Object) -> bool:
    return found["kind"] == "ConfigMap" and found["metadata"]["name"].startswith("kueue-manager")


def _authority(cluster: Object) -> bytes:
    if "certificate-authority" in cluster:
        return Path(cluster["certificate-authority"]).read_bytes()
    return base64.b64decode(cluster["certificate-authority-data"])


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True
