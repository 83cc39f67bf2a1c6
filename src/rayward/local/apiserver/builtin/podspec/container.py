"""Containers of a pod: regular, init and ephemeral ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rayward.kube.machinery.fielderror import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from rayward.kube.machinery.names import check_port_name, check_port_number
from rayward.local.apiserver.builtin.check import Errors, dns_label, one_of, one_of_required
from rayward.local.apiserver.builtin.empty import NO_ITEMS
from rayward.local.apiserver.builtin.podspec.env import check_env, check_env_from
from rayward.local.apiserver.builtin.podspec.mounts import check_devices, check_mounts
from rayward.local.apiserver.builtin.podspec.probes import check_lifecycle_and_probes
from rayward.local.apiserver.builtin.podspec.security import check_container_security
from rayward.local.apiserver.builtin.podspec.volumes import pull_policy
from rayward.local.apiserver.builtin.resources import check_requirements

Spec = Mapping[str, Any]

PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS = ("Restart", "RestartAllContainers")
_RESTART_OPERATORS = ("In", "NotIn")
_RESIZED = ("cpu", "memory")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the checks of a container need to know of its pod."""

    volumes: Mapping[str, Spec]
    claims: Collection[str]
    restart_policy: str
    host_users: bool
    grace: int | None


def check_containers(spec: Spec, around: Surroundings, at: str, out: Errors) -> None:
    """Regular containers, at least one."""
    containers: Sequence[Spec] = spec.get("containers") or NO_ITEMS
    if not containers:
        out.append(required(at))
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        here = f"{at}[{index}]"
        _check_common(container, around, here, out)
        name = container.get("name") or ""
        if name in names:
            out.append(duplicate(f"{here}.name", name))
        names.add(name)
        check_lifecycle_and_probes(container, around.grace, here, out)
        _check_restart_policy(container, here, out)
    _check_host_ports(containers, at, out)


def check_init_containers(spec: Spec, around: Surroundings, at: str, out: Errors) -> None:
    """Containers that run first; those with restartPolicy Always keep running."""
    names = {container.get("name") or "" for container in spec.get("containers") or NO_ITEMS}
    for index, container in enumerate(spec.get("initContainers") or NO_ITEMS):
        here = f"{at}[{index}]"
        _check_common(container, around, here, out)
        if container.get("restartPolicy") is not None or container.get("restartPolicyRules"):
            _check_restart_policy(container, here, out)
        name = container.get("name") or ""
        if name in names:
            out.append(duplicate(f"{here}.name", name))
        elif name:
            names.add(name)
        _check_host_ports([container], at, out)
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            check_lifecycle_and_probes(container, around.grace, here, out)
            continue
        for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(field) is not None:
                out.append(forbidden(f"{here}.{field}", _ONLY_SIDECARS))
        for number, policy in enumerate(container.get("resizePolicy") or NO_ITEMS):
            if policy.get("restartPolicy") == "RestartContainer":
                text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                out.append(invalid(f"{here}.resizePolicy[{number}].restartPolicy", "RestartContainer", text))


def check_ephemeral_containers(spec: Spec, around: Surroundings, at: str, out: Errors) -> None:
    """Containers added to a running pod; they own nothing of the pod's work."""
    ephemeral: Sequence[Spec] = spec.get("ephemeralContainers") or NO_ITEMS
    if not ephemeral:
        return
    others = {c.get("name") or "" for field in ("containers", "initContainers") for c in spec.get(field) or NO_ITEMS}
    names = set(others)
    for index, container in enumerate(ephemeral):
        here = f"{at}[{index}]"
        _check_common(container, around, here, out)
        check_image_of_pod(container, here, out)
        name = container.get("name") or ""
        if name in names:
            out.append(duplicate(f"{here}.name", name))
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            out.append(not_found(f"{here}.targetContainerName", target))
        for field in _NOT_EPHEMERAL:
            if container.get(field):
                out.append(forbidden(f"{here}.{field}", "cannot be set for an Ephemeral Container"))
        for number, mount in enumerate(container.get("volumeMounts") or NO_ITEMS):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    path = f"{here}.volumeMounts[{number}].{field}"
                    out.append(forbidden(path, "cannot be set for an Ephemeral Container"))


def check_image_of_pod(container: Spec, at: str, out: Errors) -> None:
    """In a pod, unlike in a template, an image has no blanks around it."""
    image = container.get("image") or ""
    if image.strip() != image:
        out.append(invalid(f"{at}.image", image, "must not have leading or trailing whitespace"))


def _check_common(container: Spec, around: Surroundings, at: str, out: Errors) -> None:
    get = container.get
    name = get("name")
    if not name:
        out.append(required(f"{at}.name"))
    else:
        dns_label(name, f"{at}.name", out)
    if not get("image"):
        out.append(required(f"{at}.image"))
    one_of_required(get("terminationMessagePolicy") or "", _MESSAGE_POLICIES, f"{at}.terminationMessagePolicy", out)
    _check_ports(get("ports") or NO_ITEMS, f"{at}.ports", out)
    check_env(get("env") or NO_ITEMS, f"{at}.env", out)
    check_env_from(get("envFrom") or NO_ITEMS, f"{at}.envFrom", out)
    check_mounts(container, around.volumes, f"{at}.volumeMounts", out)
    check_devices(container, around.volumes, f"{at}.volumeDevices", out)
    pull_policy(get("imagePullPolicy") or "", f"{at}.imagePullPolicy", out)
    resources = get("resources")
    if resources:
        check_requirements(resources, around.claims, f"{at}.resources", out)
    _check_resize_policy(get("resizePolicy") or NO_ITEMS, around.restart_policy, f"{at}.resizePolicy", out)
    check_container_security(get("securityContext"), f"{at}.securityContext", out, host_users=around.host_users)


def _check_ports(ports: Sequence[Spec], at: str, out: Errors) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        here = f"{at}[{index}]"
        name = port.get("name")
        if name:
            messages = check_port_name(name)
            for message in messages:
                out.append(invalid(f"{here}.name", name, message))
            if not messages and name in names:
                out.append(duplicate(f"{here}.name", name))
            elif not messages:
                names.add(name)
        number, host = port.get("containerPort") or 0, port.get("hostPort") or 0
        if not number:
            out.append(required(f"{here}.containerPort"))
        else:
            for message in check_port_number(number):
                out.append(invalid(f"{here}.containerPort", number, message))
        if host:
            for message in check_port_number(host):
                out.append(invalid(f"{here}.hostPort", host, message))
        one_of_required(port.get("protocol") or "", PROTOCOLS, f"{here}.protocol", out)


def _check_host_ports(containers: Sequence[Spec], at: str, out: Errors) -> None:
    taken: set[str] = set()
    for number, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or NO_ITEMS):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if key in taken:
                out.append(duplicate(f"{at}[{number}].ports[{index}].hostPort", key))
            taken.add(key)


def _check_resize_policy(policies: Sequence[Spec], restart_policy: str, at: str, out: Errors) -> None:
    names: set[str] = set()
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in names:
            out.append(duplicate(f"{at}[{index}]", name))
        names.add(name)
        one_of_required(name, _RESIZED, at, out)
        one_of_required(restart, _RESIZE_POLICIES, at, out)
        if restart_policy == "Never" and restart != "NotRequired":
            out.append(invalid(at, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))


def _check_restart_policy(container: Spec, at: str, out: Errors) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or NO_ITEMS
    if policy is None:
        if not rules:
            return
        out.append(required(f"{at}.restartPolicy", "must specify restartPolicy when restart rules are used"))
    else:
        one_of(policy, _RESTART_POLICIES, f"{at}.restartPolicy", out)
    if len(rules) > 20:
        out.append(too_many(f"{at}.restartPolicyRules", len(rules), 20))
    for index, rule in enumerate(rules):
        here = f"{at}.restartPolicyRules[{index}]"
        one_of(rule.get("action") or "", _RESTART_ACTIONS, f"{here}.action", out)
        codes = rule.get("exitCodes")
        if codes is None:
            out.append(required(f"{here}.exitCodes", "must be specified"))
            continue
        operator = codes.get("operator") or ""
        if operator not in _RESTART_OPERATORS:
            out.append(not_supported(f"{here}.exitCodes.operator", operator, list(_RESTART_OPERATORS)))
        if len(codes.get("values") or NO_ITEMS) > 255:
            out.append(too_many(f"{here}.exitCodes.values", len(codes["values"]), 255))
