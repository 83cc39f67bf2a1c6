"""Probes and lifecycle hooks of a container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import forbidden, invalid, required
from rayward.kube.machinery.names import check_http_header_name
from rayward.local.apiserver.builtin.check import Errors, not_negative, one_of, port_number_or_name
from rayward.local.apiserver.builtin.empty import NO_ITEMS

Spec = Mapping[str, Any]

_SCHEMES = ("HTTP", "HTTPS")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def check_lifecycle_and_probes(container: Spec, grace: int | None, at: str, out: Errors) -> None:
    """What a container that keeps running may carry."""
    lifecycle = container.get("lifecycle")
    if lifecycle is not None:
        for hook in ("postStart", "preStop"):
            if lifecycle.get(hook) is not None:
                _check_handler(lifecycle[hook], grace, f"{at}.lifecycle.{hook}", out)
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(kind)
        if probe is None:
            continue
        here = f"{at}.{kind}"
        _check_probe(probe, grace, here, out)
        if kind == "readinessProbe":
            seconds = probe.get("terminationGracePeriodSeconds")
            if seconds is not None:
                text = "must not be set for readinessProbes"
                out.append(invalid(f"{here}.terminationGracePeriodSeconds", seconds, text))
        elif probe.get("successThreshold") != 1:
            out.append(invalid(f"{here}.successThreshold", probe.get("successThreshold") or 0, "must be 1"))


def _check_probe(probe: Spec, grace: int | None, at: str, out: Errors) -> None:
    _check_handler(probe, grace, at, out)
    for field in _NUMBERS:
        not_negative(probe.get(field) or 0, f"{at}.{field}", out)
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        out.append(invalid(f"{at}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))


def _check_handler(handler: Spec, grace: int | None, at: str, out: Errors) -> None:
    chosen = False
    for kind in _HANDLERS:
        action = handler.get(kind)
        if action is None:
            continue
        here = f"{at}.{kind}"
        if chosen:
            out.append(forbidden(here, "may not specify more than 1 handler type"))
            continue
        chosen = True
        if kind == "exec":
            if not action.get("command"):
                out.append(required(f"{here}.command"))
        elif kind == "httpGet":
            _check_http_get(action, here, out)
        elif kind == "sleep":
            _check_sleep(action.get("seconds") or 0, grace, here, out)
        else:
            port_number_or_name(action.get("port", 0), f"{here}.port", out)
    if not chosen:
        out.append(required(at, "must specify a handler type"))


def _check_http_get(action: Spec, at: str, out: Errors) -> None:
    if not action.get("path"):
        out.append(required(f"{at}.path"))
    port_number_or_name(action.get("port", 0), f"{at}.port", out)
    one_of(action.get("scheme") or "", _SCHEMES, f"{at}.scheme", out)
    for header in action.get("httpHeaders") or NO_ITEMS:
        for message in check_http_header_name(header.get("name") or ""):
            out.append(invalid(f"{at}.httpHeaders", header.get("name") or "", message))


def _check_sleep(seconds: int, grace: int | None, at: str, out: Errors) -> None:
    if grace is not None and not 0 <= seconds <= grace:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        out.append(invalid(at, seconds, text))
