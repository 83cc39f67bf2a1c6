"""A pod that serves a page, a service in front of it, and a request through it."""

from __future__ import annotations

import urllib.request

from demo.shell import rayward, show, until

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


def show_page() -> None:
    """A page through a service."""
    show(f"\n$ cat web.yaml\n{_MANIFEST.rstrip()}")
    rayward("apply", "-f", "-", given=_MANIFEST)
    until(_ready, "the pod web is ready", "rayward describe pod web", patience=60)
    rayward("get", "pods,services")
    address = rayward("get", "service", "web", "--no-headers", quiet=True).split()[-1]
    show(f"\n$ curl http://{address}/")
    until(lambda: bool(_page(address)), f"http://{address}/ answers", "rayward get services", patience=60)
    show(_page(address).rstrip())
    if "hello from a pod" not in _page(address):
        raise SystemExit("error: that is not the page of the pod\n  next: rayward describe service web")
    rayward("logs", "web", "--tail", "2")


def _ready() -> bool:
    form = "jsonpath={.status.containerStatuses[0].ready}"
    return rayward("get", "pod", "web", "-o", form, quiet=True).strip() == "true"


def _page(address: str) -> str:
    """The page; empty while the service has not heard of its pod."""
    try:
        with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
            return answer.read().decode()
    except OSError:
        return ""
