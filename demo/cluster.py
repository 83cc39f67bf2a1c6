"""A real Ray cluster, and a Ray program on it from this shell."""

from __future__ import annotations

from demo.shell import ray, rayward, show, until

_PROGRAM = (
    "import ray, socket, time; ray.init(log_to_driver=False); "
    "f = ray.remote(num_cpus=1)(lambda n: (time.sleep(1), n * n, socket.gethostname())[1:]); "
    "print(*ray.get([f.remote(n) for n in range(6)]), sep=chr(10))"
)


def show_cluster() -> None:
    """From a manifest to squares computed on three pods."""
    rayward("apply", "-f", "samples/raycluster.yaml")
    show("  (a head and two workers start: each is a pod with real Ray in it)")
    until(lambda: _state() == "ready", "RayCluster demo is ready", "rayward describe raycluster demo")
    rayward("get", "raycluster,pods")
    token = rayward("get", "token", "demo", quiet=True).strip()
    dashboard = rayward("get", "raycluster", "demo", "-o", "wide", "--no-headers", quiet=True)
    address = next(word for word in dashboard.split() if word.startswith("http://"))
    show("\n$ export RAY_AUTH_MODE=token RAY_AUTH_TOKEN=$(rayward get token demo)")
    ray("job", "submit", "--address", address, "--", "python", "-c", _PROGRAM, token=token)
    rayward("delete", "raycluster", "demo")


def _state() -> str:
    return rayward("get", "raycluster", "demo", "-o", "jsonpath={.status.state}", quiet=True).strip()
