"""The main job, shown: Kubernetes comes up, a pod serves a page, a service is in front of it, and both are reached.

Every step is a command that you can type yourself. It all lies in .cache/demo of this checkout; `make down` removes it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

_FOLDER = (Path(__file__).parent.parent / ".cache" / "demo").resolve()
_RAYWARD = (sys.executable, "-m", "rayward.cli")
_PATIENCE = 60.0
_MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data: {index.html: "hello from a pod on your own machine\\n"}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - name: main
    image: python
    command: [python3, -u, -m, http.server, "8080", --directory, /page]
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
    volumeMounts: [{name: page, mountPath: /page}]
  volumes: [{name: page, configMap: {name: page}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 8080}]}
"""


def _show(text: str) -> None:
    print(text, flush=True)


def _rayward(*words: str, given: str = "", quiet: bool = False) -> str:
    """Run a command as a user would type it; returns its answer."""
    if not quiet:
        _show(f"\n$ rayward {' '.join(words)}")
    done = subprocess.run([*_RAYWARD, *words], input=given, stdout=subprocess.PIPE, text=True, check=False)
    if not quiet:
        _show(done.stdout.rstrip())
    if done.returncode:
        raise SystemExit(f"error: `rayward {' '.join(words)}` ended with {done.returncode}\n  next: rayward status")
    return done.stdout


def _until_ready() -> None:
    deadline = time.monotonic() + _PATIENCE
    ready = "jsonpath={.status.containerStatuses[0].ready}"
    while _rayward("get", "pod", "web", "-o", ready, quiet=True).strip() != "true":
        if time.monotonic() > deadline:
            _rayward("describe", "pod", "web")
            raise SystemExit(f"error: the pod is not ready after {_PATIENCE:.0f} s\n  next: see its events above")
        time.sleep(0.1)


def _page(address: str) -> str:
    """Ask the service, which may hear of its pod a moment later than we do."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
                return answer.read().decode()
        except OSError as error:
            if time.monotonic() > deadline:
                raise SystemExit(
                    f"error: http://{address}/ does not answer: {error}\n  next: rayward get svc"
                ) from None
        time.sleep(0.1)


def main() -> int:
    """Run the demo."""
    os.environ["RAYWARD_DATA_DIR"] = str(_FOLDER)
    began = time.monotonic()
    _rayward("up")
    _show(f"\n$ cat web.yaml\n{_MANIFEST.rstrip()}")
    _rayward("apply", "-f", "-", given=_MANIFEST)
    _until_ready()
    _rayward("get", "pods,services", "-o", "wide")
    address = _rayward("get", "service", "web", "--no-headers", quiet=True).split()[-1]
    _show(f"\n$ curl http://{address}/")
    page = _page(address)
    _show(page.rstrip())
    if "hello from a pod" not in page:
        raise SystemExit("error: that is not the page of the pod\n  next: rayward describe service web")
    _rayward("exec", "web", "--", "python3", "-c", "import socket, os; print(socket.gethostname(), os.getpid())")
    _rayward("logs", "web", "--tail", "3")
    _rayward("status")
    _show(f"\nFrom nothing to here in {time.monotonic() - began:.1f} s. It stays up for you:")
    _show(f"  export RAYWARD_DATA_DIR={_FOLDER} KUBECONFIG={_FOLDER / 'kubeconfig'}")
    _show("  rayward get all   # or kubectl; `make down` ends it and removes its data")
    return 0


if __name__ == "__main__":
    sys.exit(main())
