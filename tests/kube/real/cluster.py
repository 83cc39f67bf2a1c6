"""A real control plane on loopback for the length of a ``with`` block."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import yaml

from tests.kube.real import build, certs

USER: Final = "admin"
TOKEN: Final = "administrator-of-the-tests"
SERVICE_CIDR: Final = "10.43.0.0/16"
_ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
# Published as the endpoint of the `kubernetes` Service; from the range reserved for documentation, so that recordings
# do not depend on the machine and the server starts where there is no network.
_ADVERTISED: Final = "192.0.2.1"
_READY_SECONDS: Final = 120
_POLL_SECONDS: Final = 0.05


class StartError(Exception):
    """A component ended, or did not become ready; carries the end of its log."""


class _Component:
    """One running binary and its log."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.log = log
        guard = [sys.executable, "-S", "-E", str(Path(__file__).with_name("guard.py")), str(log.parent)]
        with log.open("ab") as stream:
            self._guard = subprocess.Popen(
                [*guard, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream, start_new_session=True
            )
        assert self._guard.stdout
        self.pid = int(self._guard.stdout.readline())

    @property
    def ended(self) -> bool:
        return self._guard.poll() is not None

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> None:
        self._guard.communicate(b".")


class RealControlPlane:
    """kube-apiserver on its own etcd, and kube-controller-manager if asked, in a temporary folder.

    Everything ends with the block, and also when the process that entered it is killed.

    Args:
        controller_manager: Also run kube-controller-manager; without it no ServiceAccount is required of a Pod.
        fsync: Let etcd flush every write to disk, as a benchmark needs.
        apiserver_args: More flags for kube-apiserver.
        controller_manager_args: More flags for kube-controller-manager.

    Attributes:
        url: Base address, ``https://127.0.0.1:PORT``.
        token: A bearer token of the group system:masters.
        ca_file: The authority that signed the server's certificate.
        client_certificate: A certificate and key of the same rights as the token.
        kubeconfig: A kubeconfig file with address, authority and token.
        kubectl: The kubectl binary.
        kuberay_operator: KubeRay's operator binary.
        kuberay_crds: The folder with KubeRay's CRD manifests.
        folder: The temporary folder; ``folder/NAME.log`` is a component's log.
    """

    def __init__(
        self,
        controller_manager: bool = False,
        *,
        fsync: bool = False,
        apiserver_args: Sequence[str] = (),
        controller_manager_args: Sequence[str] = (),
    ) -> None:
        self._with_controllers = controller_manager
        self._fsync = fsync
        self._apiserver_args = apiserver_args
        self._controller_manager_args = controller_manager_args
        self._components: dict[str, _Component] = {}

    def __enter__(self) -> Self:
        self._binaries = build.build()
        self.token = TOKEN
        self.kubectl = self._binaries / "kubectl"
        self.kuberay_operator = self._binaries / "kuberay-operator"
        self.kuberay_crds = self._binaries / "kuberay-crds"
        self.folder = Path(tempfile.mkdtemp(prefix="rayward-real-"))
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def pids(self) -> dict[str, int]:
        """Process id by component name."""
        return {name: component.pid for name, component in self._components.items()}

    def run_kubectl(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs kubectl against this server; the caller looks at the exit code."""
        return subprocess.run(
            [str(self.kubectl), f"--kubeconfig={self.kubeconfig}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"},
        )

    def _start(self) -> None:
        service_address = SERVICE_CIDR.rsplit(".", 1)[0] + ".1"
        names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        self._files = certs.make(self.folder, ["127.0.0.1", service_address], names, USER, "system:masters")
        self.ca_file = self._files.ca
        self.client_certificate = (self._files.client, self._files.client_key)
        (self.folder / "tokens.csv").write_text(f"{TOKEN},{USER},{USER},system:masters\n")
        for attempt in range(3):
            # Another process may take a port between choosing and using it: then choose again.
            client_port, peer_port, secure_port, metrics_port = free_ports(4)
            try:
                self._start_etcd(client_port, peer_port)
                self._start_apiserver(client_port, secure_port)
                self._wait(f"{self.url}/readyz", "kube-apiserver")
                if self._with_controllers:
                    self._start_controller_manager(metrics_port)
                    self._wait(f"https://127.0.0.1:{metrics_port}/healthz", "kube-controller-manager")
                    # Without it the first Pod of a test would be refused.
                    self._wait(
                        f"{self.url}/api/v1/namespaces/default/serviceaccounts/default", "kube-controller-manager"
                    )
                return
            except StartError as error:
                if attempt == 2 or "address already in use" not in str(error):
                    raise
                self._stop_components()

    def _start_etcd(self, client_port: int, peer_port: int) -> None:
        data = self.folder / "etcd"
        shutil.rmtree(data, ignore_errors=True)
        client, peer = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
        self._run(
            "etcd",
            f"--data-dir={data}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=warn",
            *([] if self._fsync else ["--unsafe-no-fsync"]),
        )

    def _start_apiserver(self, etcd_port: int, secure_port: int) -> None:
        self.url = f"https://127.0.0.1:{secure_port}"
        self.kubeconfig = self._write_kubeconfig()
        self._run(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={secure_port}",
            f"--advertise-address={_ADVERTISED}",
            f"--cert-dir={self.folder}",
            f"--tls-cert-file={self._files.server}",
            f"--tls-private-key-file={self._files.server_key}",
            f"--client-ca-file={self._files.ca}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            f"--service-account-key-file={self._files.signing_key}",
            f"--service-account-signing-key-file={self._files.signing_key}",
            f"--service-account-issuer={_ISSUER}",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--authorization-mode=RBAC",
            "--allow-privileged=true",
            *([] if self._with_controllers else ["--disable-admission-plugins=ServiceAccount"]),
            *self._apiserver_args,
        )

    def _start_controller_manager(self, port: int) -> None:
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--authentication-kubeconfig={self.kubeconfig}",
            f"--authorization-kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self._files.signing_key}",
            f"--root-ca-file={self._files.ca}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={self._files.server}",
            f"--tls-private-key-file={self._files.server_key}",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            *self._controller_manager_args,
        )

    def _run(self, name: str, *arguments: str) -> None:
        log = self.folder / f"{name}.log"
        self._components[name] = _Component(name, [str(self._binaries / name), *arguments], log)

    def _wait(self, address: str, name: str) -> None:
        """Polls a health address; a component that ends, or two minutes without an answer, is an error."""
        context = ssl.create_default_context(cafile=str(self.ca_file))
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {TOKEN}"})
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            for component in self._components.values():
                if component.ended:
                    raise StartError(f"{component.name} ended before it was ready:\n{component.tail()}")
            try:
                with opener.open(request, timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(_POLL_SECONDS)
        raise StartError(f"{name} was not ready in {_READY_SECONDS} s:\n{self._components[name].tail()}")

    def _write_kubeconfig(self) -> Path:
        path = self.folder / "kubeconfig"
        path.touch(mode=0o600)
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": USER, "user": {"token": TOKEN}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": USER, "namespace": "default"}}],
            "current-context": "real",
        }
        path.write_text(yaml.safe_dump(content))
        return path

    def _stop_components(self) -> None:
        while self._components:
            _, component = self._components.popitem()
            component.stop()

    def _stop(self) -> None:
        self._stop_components()
        shutil.rmtree(self.folder, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now."""
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()
