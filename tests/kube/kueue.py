"""Real Kueue's whole manager on any API server, with the manifests and the configuration it ships.

It runs as a process of this machine, seeing the paths of its pod (``real/kueue/pod.sh``). What a kubelet and
kube-proxy would do is done here: its certificates are mounted once they are there, and its webhooks' Service answers.
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
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from rayward.local.addresses import shell_addresses_of
from tests.kube.real import build

_NAMESPACE = "kueue-system"
_POD = Path(__file__).parent / "real" / "kueue" / "pod.sh"
_PATIENCE = 120.0
_WEBHOOKS = 9443
# An APIService needs aggregation, and the Deployment is what this module stands in for.
_NOT_APPLIED = frozenset({"APIService", "Deployment"})

Object = dict[str, Any]
Kubectl = Callable[..., str]


class KueueError(Exception):
    """The manager ended, or did not do in time what a test waits for."""


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


@contextlib.contextmanager
def running(kubectl: Kubectl, kubeconfig: Path, binary: Path) -> Generator[Path]:
    """Kueue, ready to be asked; yields the file with its log."""
    parts = build.build_kueue()
    manifests = subprocess.run(
        [str(binary), "kustomize", str(parts / "config" / "default")], capture_output=True, text=True, check=True
    ).stdout
    objects: list[Object] = [each for each in yaml.safe_load_all(manifests) if each]
    wanted = [each for each in objects if each["kind"] not in _NOT_APPLIED]
    kubectl("apply", "--server-side", "-f", "-", text=yaml.safe_dump_all(wanted))
    folder = Path(tempfile.mkdtemp(prefix="rayward-kueue-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.enter_context(_service(kubectl))
        process, log = _start(stack, kubectl, kubeconfig, folder, parts, objects)

        def alive() -> None:
            if process.poll() is not None:
                raise KueueError(f"Kueue ended with {process.returncode}:\n{log.read_text()[-4000:]}")

        _mount_certificates(kubectl, folder / "certs", alive)
        until("Kueue's webhooks listen", lambda: _answers(_WEBHOOKS), alive)
        yield log


def _start(
    stack: contextlib.ExitStack, kubectl: Kubectl, kubeconfig: Path, folder: Path, parts: Path, objects: list[Object]
) -> tuple[subprocess.Popen[bytes], Path]:
    account, certs, log = folder / "account", folder / "certs", folder / "manager.log"
    account.mkdir()
    certs.mkdir()
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    token = kubectl("create", "token", "-n", _NAMESPACE, "kueue-controller-manager", "--duration=3h")
    (account / "token").write_text(token.strip())
    (account / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    (account / "namespace").write_text(_NAMESPACE)
    shipped = next(
        each for each in objects if each["kind"] == "ConfigMap" and each["metadata"]["name"].startswith("kueue-manager")
    )
    (folder / "config.yaml").write_text(shipped["data"]["controller_manager_config.yaml"])
    deployment = next(each for each in objects if each["kind"] == "Deployment")
    arguments: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    server = urlsplit(cluster["server"])
    told = {"KUBERNETES_SERVICE_HOST": server.hostname or "", "KUBERNETES_SERVICE_PORT": str(server.port)}
    command = [
        "unshare",
        "--map-root-user",
        "--mount",
        "--kill-child",
        "sh",
        str(_POD),
        str(folder),
        str(parts / "manager"),
    ]
    output = stack.enter_context(log.open("wb"))
    process = subprocess.Popen(
        [*command, *arguments], env={"PATH": os.environ["PATH"], **told}, stdout=output, stderr=subprocess.STDOUT
    )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process, log


def _mount_certificates(kubectl: Kubectl, folder: Path, alive: Callable[[], None]) -> None:
    def data() -> Object:
        secret = json.loads(kubectl("get", "secret", "-n", _NAMESPACE, "kueue-webhook-server-cert", "-o", "json"))
        return secret.get("data") or {}

    for name, value in until("Kueue makes its certificates", data, alive).items():
        partial = folder / f".{name}"
        partial.write_bytes(base64.b64decode(value))
        partial.replace(folder / name)


@contextlib.contextmanager
def _service(kubectl: Kubectl) -> Generator[None]:
    """Lets the webhooks' Service answer where Services answer on this machine."""
    service = json.loads(kubectl("get", "service", "-n", _NAMESPACE, "kueue-webhook-service", "-o", "json"))
    place = shell_addresses_of(service)[0]
    listener = socket.create_server((place.host, place.shell_port))
    threading.Thread(target=_forward, args=(listener,), daemon=True).start()
    try:
        yield
    finally:
        listener.close()


def _forward(listener: socket.socket) -> None:
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:
            return
        try:
            called = socket.create_connection(("127.0.0.1", _WEBHOOKS), timeout=None)
        except OSError:
            caller.close()
            continue
        threading.Thread(target=_relay, args=(caller, called), daemon=True).start()


def _relay(caller: socket.socket, called: socket.socket) -> None:
    with caller, called:
        back = threading.Thread(target=_pump, args=(called, caller), daemon=True)
        back.start()
        _pump(caller, called)
        back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True
