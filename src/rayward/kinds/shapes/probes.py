"""How the kubelet learns whether a Ray node is well."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rayward.kinds import rayversion
from rayward.kinds.shapes.metadata import Object, fresh
from rayward.kinds.shapes.startcommand import AGENT_PORT

_DASHBOARD_PORT: Final = "8265"
_SERVE_PORT: Final = 8000
_MAX_PORT_DIGITS: Final = 10
_INT32: Final = 2**31


def add_probes(container: Object, params: dict[str, str], ray_version: str, *, head: bool, serving: bool) -> None:
    """Give the container the probes that the user did not."""
    agent = _port(params, "dashboard-agent-listen-port", AGENT_PORT)
    checks = [_saying(_check(2, agent, "api/local_raylet_healthz"), f"Ray node does not answer at port {agent}")]
    if head:
        # Ten seconds for a check whose probe ends after five: KubeRay's, and harmless.
        port = _port(params, "dashboard-port", _DASHBOARD_PORT)
        checks.append(_saying(_check(10, port, "api/gcs_healthz"), f"the GCS of Ray does not answer at port {port}"))
    # Since 2.53 one endpoint of the agent answers for everything.
    action = _http(agent) if rayversion.at_least(ray_version, 2, 53) else _shell(checks)
    timeout = 5 if head else 2
    if not container.get("livenessProbe"):
        container["livenessProbe"] = _probe(action, delay=30, timeout=timeout, failures=120)
    if not container.get("readinessProbe"):
        if not serving:
            ready = _probe(action, delay=10, timeout=timeout, failures=10)
        elif head:
            # An upgrade waits for it: asked earlier and more often than by KubeRay, given up after the same time.
            ready = _probe(action, delay=3, timeout=timeout, failures=25, period=2)
        else:
            serve = _serve_port(container)
            saying = (
                checks[0],
                _saying(_check(10, serve, "-/healthz"), f"Serve proxy does not answer at port {serve} yet"),
            )
            ready = _probe(_shell(saying), delay=10, timeout=timeout, failures=1)
        container["readinessProbe"] = ready


def _probe(action: Object, *, delay: int, timeout: int, failures: int, period: int = 5) -> Object:
    return {
        **fresh(action),
        "initialDelaySeconds": delay,
        "timeoutSeconds": timeout,
        "periodSeconds": period,
        "successThreshold": 1,
        "failureThreshold": failures,
    }


def _http(port: int) -> Object:
    return {"httpGet": {"path": "/api/healthz", "port": port}}


def _shell(checks: Iterable[str]) -> Object:
    return {"exec": {"command": ["bash", "-c", " && ".join(checks)]}}


def _saying(check: str, otherwise: str) -> str:
    """The check, which says what failed: a kubelet shows the output of a probe, and `success` of the first of two."""
    return f"{check} > /dev/null || {{ echo '{otherwise}'; exit 1; }}"


def _check(timeout: int, port: int, path: str) -> str:
    return f"wget --tries 1 -T {timeout} -q -O- http://localhost:{port}/{path} | grep success"


def _port(params: dict[str, str], name: str, default: str) -> int:
    text = params.get(name, default)
    digits = text[1:] if text[:1] in ("+", "-") else text
    if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_PORT_DIGITS and -_INT32 <= int(text) < _INT32:
        return int(text)
    return int(default)


def _serve_port(container: Object) -> int:
    ports: list[Object] = container.get("ports") or []
    return next((port["containerPort"] for port in ports if port.get("name") == "serve"), _SERVE_PORT)
