"""The main job, shown: Kubernetes comes up, an object is applied, watched and shown, and a pod runs and is heard.

Everything lies in .cache/demo of this checkout; `make down` removes it.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

from rayward.kube.client import verbs
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.client.watch import Change
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import CONFIG_MAPS, NAMESPACES, PODS
from rayward.stack import control
from rayward.stack.folder import Folder

_FOLDER = Folder((Path(__file__).parent.parent / ".cache" / "demo").resolve())
_GREETING = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "greeting", "namespace": "default"},
    "data": {"text": "hello"},
}


def _say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    """Run the demo."""
    _say("$ rayward up")
    up = control.up(_FOLDER, node=[], tell=lambda text: _say(f"  {text}"))
    _say(f"  {'it runs already' if up.already else f'ready in {up.seconds:.1f} s'}")
    _say(f"  export KUBECONFIG={_FOLDER.kubeconfig}")
    with SyncClient.connect(find_access(_FOLDER.kubeconfig)) as client:
        names = [item["metadata"]["name"] for item in client.list(NAMESPACES).items]
        _say(f"\nnamespaces: {', '.join(names)}")
        _apply_and_watch(client)
        stored = client.get(CONFIG_MAPS, "greeting", "default")
        owners = ", ".join(f"{m['manager']} ({m['operation']})" for m in stored["metadata"]["managedFields"])
        _say(f"\nconfigmap/greeting says {stored['data']['text']!r}; its fields belong to {owners}")
        _run_a_pod(client)
    _say(f"\n$ rayward status --data-dir {_FOLDER.root}")
    command = [sys.executable, "-m", "rayward.cli", "status", "--data-dir", str(_FOLDER.root)]
    subprocess.run(command, check=True)
    _say("\nIt stays up for you: point kubectl at the KUBECONFIG above. `make down` ends it and removes its data.")
    return 0


def _run_a_pod(client: SyncClient) -> None:
    script = "import os, socket; print('hello from', socket.gethostname(), 'where I am process', os.getpid())"
    container = {"name": "main", "image": "python", "command": ["python3", "-c", script]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    if any(item["metadata"]["name"] == "talker" for item in client.list(PODS, "default").items):
        client.delete(PODS, "talker", "default", grace_period_seconds=0)
    _say("\nrunning pod/talker, a process in namespaces of its own:")
    client.create(PODS, {"metadata": {"name": "talker"}, "spec": spec}, "default")
    deadline = time.monotonic() + 60
    while True:
        status = client.get(PODS, "talker", "default")["status"]
        if status["phase"] in {"Succeeded", "Failed"}:
            break
        if time.monotonic() > deadline:
            why = status.get("conditions", [{}])[-1].get("message", "no reason given")
            raise SystemExit(f"error: the pod did not finish\n  why: {why}\n  next: read {_FOLDER.logs}/node.log")
        time.sleep(0.05)
    log = client.answer(verbs.get(PODS, "talker", "default", subresource="log"))
    _say(f"  {status['phase']} on {status.get('podIP', 'no address')}; its log: {log.body.decode().strip()}")


def _apply_and_watch(client: SyncClient) -> None:
    start = client.list(CONFIG_MAPS, "default").resource_version
    seen = threading.Event()

    def watch() -> None:
        with (
            SyncClient.connect(find_access(_FOLDER.kubeconfig)) as watcher,
            watcher.watch(CONFIG_MAPS, KubeObject, "default", resource_version=start) as events,
        ):
            for event in events:
                if isinstance(event, Change):
                    _say(f"  watch: {event.type} configmap/{event.object.metadata.name}")
                    if event.type == "MODIFIED":
                        seen.set()
                        return

    follower = threading.Thread(target=watch, daemon=True)
    follower.start()
    _say("\napplying configmap/greeting twice, with a watch open:")
    client.apply(CONFIG_MAPS, _GREETING, field_manager="demo", force=True)
    client.apply(CONFIG_MAPS, {**_GREETING, "data": {"text": "hello, Ray"}}, field_manager="demo", force=True)
    if not seen.wait(30):
        raise SystemExit("error: the watch did not see the change\n  next: rayward status")
    follower.join()


if __name__ == "__main__":
    sys.exit(main())
