"""What differs by the operating system a pod is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_dns1123_subdomain
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NOTHING
from rayward.local.apiserver.builtin.podspec.paths import containers_of

Spec = Mapping[str, Any]

_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_PART = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS = re.compile(rf"{_DNS_PART}(?:\.{_DNS_PART})*")
_BAD_USER = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_POD_FIELDS = (
    ("securityContext", "appArmorProfile"),
    ("securityContext", "seLinuxOptions"),
    ("", "hostUsers"),
    ("", "hostPID"),
    ("", "hostIPC"),
    ("securityContext", "seccompProfile"),
    ("securityContext", "fsGroup"),
    ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"),
    ("", "shareProcessNamespace"),
    ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"),
    ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"),
    ("securityContext", "seLinuxChangePolicy"),
)
_CONTAINER_FIELDS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def check_os(spec: Spec, at: str, out: Errors) -> None:
    """The operating system and the fields that only the other one knows."""
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name") or ""
    if not name:
        out.append(required(f"{at}.os.name"))
    elif name == "linux":
        _check_linux(spec, at, out)
    elif name == "windows":
        _check_windows(spec, at, out)
    else:
        out.append(not_supported(f"{at}.os", name, ["linux", "windows"]))


def _check_linux(spec: Spec, at: str, out: Errors) -> None:
    text = "windows options cannot be set for a linux pod"
    if (spec.get("securityContext") or NOTHING).get("windowsOptions") is not None:
        out.append(forbidden(f"{at}.securityContext.windowsOptions", text))
    for here, container in containers_of(spec, at):
        if (container.get("securityContext") or NOTHING).get("windowsOptions") is not None:
            out.append(forbidden(f"{here}.securityContext.windowsOptions", text))


def _check_windows(spec: Spec, at: str, out: Errors) -> None:
    for parent, field in _POD_FIELDS:
        holder = (spec.get(parent) or NOTHING) if parent else spec
        if holder.get(field) is not None:
            out.append(forbidden(f"{at}.{parent}.{field}" if parent else f"{at}.{field}", _NOT_ON_WINDOWS))
    for here, container in containers_of(spec, at):
        context = container.get("securityContext") or NOTHING
        for field in _CONTAINER_FIELDS:
            if context.get(field) is not None:
                out.append(forbidden(f"{here}.securityContext.{field}", _NOT_ON_WINDOWS))


def check_host_process(spec: Spec, at: str, out: Errors) -> None:
    """Either all containers are processes of the Windows host, or none."""
    pod = ((spec.get("securityContext") or NOTHING).get("windowsOptions") or NOTHING).get("hostProcess")
    total = host = 0
    for here, container in containers_of(spec, at):
        total += 1
        own = ((container.get("securityContext") or NOTHING).get("windowsOptions") or NOTHING).get("hostProcess")
        if pod is not None and own is not None and pod != own:
            shown = "true" if pod else "false"
            text = f"pod hostProcess value must be identical if both are specified, was {shown}"
            out.append(invalid(f"{here}.securityContext.windowsOptions.hostProcess", own, text))
        host += bool(pod if own is None else own)
    if not host:
        return
    if host != total:
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        out.append(invalid(at, "", text))
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        out.append(invalid(f"{at}.hostNetwork", False, text))


def check_windows_options(options: Spec | None, at: str, out: Errors) -> None:
    """Options that only Windows reads."""
    if not options:
        return
    name, spec, user = (options.get(f) for f in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if name is not None:
        for message in check_dns1123_subdomain(name):
            out.append(invalid(f"{at}.gmsaCredentialSpecName", name, message))
    if spec is not None:
        here = f"{at}.gmsaCredentialSpec"
        if not spec:
            out.append(invalid(here, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif len(spec.encode()) > 64 * 1024:
            out.append(invalid(here, spec, "gmsaCredentialSpec size must be under 64 KiB"))
    if user is not None:
        for text in _user_problems(user):
            out.append(invalid(f"{at}.runAsUserName", user, text))


def _user_problems(value: str) -> list[str]:
    if not value:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL.search(value):
        return ["runAsUserName cannot contain control characters"]
    parts = value.split("\\")
    if len(parts) > 2:
        return ["runAsUserName cannot contain more than one backslash"]
    user, domain = parts[-1], parts[0] if len(parts) == 2 else None
    problems: list[str] = []
    if domain is not None and len(domain.encode()) >= 256:
        problems.append("runAsUserName's Domain length must be under 256 characters")
    if domain is not None and not _NETBIOS.fullmatch(domain) and not _DNS.fullmatch(domain):
        problems.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("runAsUserName's User cannot be empty")
    elif len(user.encode()) > 104:
        problems.append("runAsUserName's User length must not be longer than 104 characters")
    if user and not user.strip(". "):
        problems.append("runAsUserName's User cannot contain only periods or spaces")
    if _BAD_USER.search(user):
        problems.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return problems
