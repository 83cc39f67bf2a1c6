"""Security contexts of pods and containers, and the annotations they grew out of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import duplicate, forbidden, invalid, not_supported, required, too_long
from rayward.local.apiserver.builtin.check import Errors, one_of
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.formats import unix_id
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.podspec.paths import containers_of, descending
from rayward.local.apiserver.builtin.podspec.windows import check_windows_options

Spec = Mapping[str, Any]

APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD_ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER_ANNOTATION = "container.seccomp.security.alpha.kubernetes.io/"

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS = ("Default", "Unmasked")
_SYSCTL_PATTERN = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SYSCTL = re.compile(_SYSCTL_PATTERN)
_IPC_SYSCTLS = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shm", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "msg", "msgmax", "msgmnb", "msgmni")
)


def _ids(context: Spec, fields: tuple[str, ...], at: str, out: Errors) -> None:
    for field in fields:
        value = context.get(field)
        if value is not None:
            for message in unix_id(value):
                out.append(invalid(f"{at}.{field}", value, message))


def check_container_security(context: Spec | None, at: str, out: Errors, *, host_users: bool) -> None:
    """The security context of one container."""
    if not context:
        return
    _ids(context, ("runAsUser", "runAsGroup"), at, out)
    mount = context.get("procMount")
    if mount is not None:
        one_of(mount, _PROC_MOUNTS, f"{at}.procMount", out)
        if host_users and mount == "Unmasked":
            out.append(invalid(f"{at}.procMount", mount, "`hostUsers` must be false to use `Unmasked`"))
    check_seccomp(context.get("seccompProfile"), f"{at}.seccompProfile", out)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            out.append(shown("SecurityContext", context, at, text))
        for capability in (context.get("capabilities") or NOTHING).get("add") or NO_ITEMS:
            if capability == "CAP_SYS_ADMIN":
                text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
                out.append(shown("SecurityContext", context, at, text))
    check_windows_options(context.get("windowsOptions"), f"{at}.windowsOptions", out)
    check_apparmor(context.get("appArmorProfile"), f"{at}.appArmorProfile", out)


def check_pod_security(spec: Spec, at: str, out: Errors) -> None:
    """The security context of the whole pod."""
    context: Spec = spec.get("securityContext") or NOTHING
    if not context and not spec.get("shareProcessNamespace"):
        return
    _ids(context, ("fsGroup", "runAsUser", "runAsGroup"), at, out)
    for index, group in enumerate(context.get("supplementalGroups") or NO_ITEMS):
        for message in unix_id(group):
            out.append(invalid(f"{at}.supplementalGroups[{index}]", group, message))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        out.append(invalid(f"{at}.shareProcessNamespace", True, text))
    _check_sysctls(spec, context, f"{at}.sysctls", out)
    _one_of_optional(context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), at, out)
    check_seccomp(context.get("seccompProfile"), f"{at}.seccompProfile", out)
    check_windows_options(context.get("windowsOptions"), f"{at}.windowsOptions", out)
    check_apparmor(context.get("appArmorProfile"), f"{at}.appArmorProfile", out)
    _one_of_optional(context, "supplementalGroupsPolicy", ("Merge", "Strict"), at, out)
    _one_of_optional(context, "seLinuxChangePolicy", ("Recursive",), at, out)


def _one_of_optional(context: Spec, field: str, choices: tuple[str, ...], at: str, out: Errors) -> None:
    value = context.get(field)
    if value is not None and value not in choices:
        out.append(not_supported(f"{at}.{field}", value, list(choices)))


def _check_sysctls(spec: Spec, context: Spec, at: str, out: Errors) -> None:
    names: set[str] = set()
    for index, sysctl in enumerate(context.get("sysctls") or NO_ITEMS):
        here, name = f"{at}[{index}].name", sysctl.get("name") or ""
        if not name:
            out.append(required(here))
        elif len(name) > 253 or not _SYSCTL.match(name):
            out.append(invalid(here, name, f"must have at most 253 characters and match regex {_SYSCTL_PATTERN}"))
        elif name in names:
            out.append(duplicate(here, name))
        names.add(name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            out.append(invalid(here, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and _is_ipc(dotted):
            out.append(invalid(here, name, "may not be specified when 'hostIPC' is true"))


def _is_ipc(name: str) -> bool:
    return name in _IPC_SYSCTLS or name.startswith("fs.mqueue.")


def check_seccomp(profile: Spec | None, at: str, out: Errors) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        out.append(required(f"{at}.type", "type is required when seccompProfile is set"))
    else:
        one_of(kind, _PROFILES, f"{at}.type", out)
    if kind == "Localhost":
        if local is None:
            out.append(required(f"{at}.localhostProfile", "must be set when seccomp type is Localhost"))
        else:
            descending(local, f"{at}.localhostProfile", out)
    elif local is not None:
        text = "can only be set when seccomp type is Localhost"
        out.append(shown("SeccompProfile", profile, f"{at}.localhostProfile", text))


def check_apparmor(profile: Spec | None, at: str, out: Errors) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    here = f"{at}.localhostProfile"
    if kind == "Localhost":
        if not local:
            out.append(required(here, "must be set when AppArmor type is Localhost"))
        elif local.strip() != local:
            out.append(invalid(here, local, "must not be padded with whitespace"))
        if len((local or "").encode()) > 4095:
            out.append(too_long(here, 4095))
    elif kind in _PROFILES:
        if local is not None:
            out.append(invalid(here, local, "can only be set when AppArmor type is Localhost"))
    elif not kind:
        out.append(required(f"{at}.type", "type is required when appArmorProfile is set"))
    else:
        out.append(not_supported(f"{at}.type", kind, list(_PROFILES)))


def check_profiles_match(annotations: Mapping[str, str], spec: Spec, at: str, out: Errors) -> None:
    """Where a profile is given in an annotation and in a field, both say the same."""
    if not annotations:
        return
    context: Spec = spec.get("securityContext") or NOTHING
    if SECCOMP_POD_ANNOTATION in annotations:
        here = f"{at}.securityContext.seccompProfile"
        _seccomp_matches(annotations[SECCOMP_POD_ANNOTATION], context.get("seccompProfile"), here, out)
    for here, container in containers_of(spec, at):
        own: Spec = container.get("securityContext") or NOTHING
        annotation = annotations.get(f"{SECCOMP_CONTAINER_ANNOTATION}{container.get('name') or ''}")
        if annotation is not None:
            _seccomp_matches(annotation, own.get("seccompProfile"), f"{here}.securityContext.seccompProfile", out)
    if (spec.get("os") or NOTHING).get("name") == "windows":
        return
    for here, container in containers_of(spec, at):
        own = container.get("securityContext") or NOTHING
        profile = own.get("appArmorProfile") or context.get("appArmorProfile")
        annotation = annotations.get(f"{APPARMOR_ANNOTATION}{container.get('name') or ''}")
        if profile is not None and annotation is not None:
            _profile_matches(
                annotation,
                profile,
                f"{here}.securityContext.appArmorProfile",
                out,
                what="apparmor",
                named={"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",)},
            )


def _seccomp_matches(annotation: str, profile: Spec | None, at: str, out: Errors) -> None:
    if profile is None:
        return
    named = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default", "docker/default")}
    _profile_matches(annotation, profile, at, out, what="seccomp", named=named)


def _profile_matches(
    annotation: str, profile: Spec, at: str, out: Errors, *, what: str, named: Mapping[str, tuple[str, ...]]
) -> None:
    kind = profile.get("type")
    if kind is not None and kind in named and annotation not in named[kind]:
        out.append(forbidden(f"{at}.type", f"{what} type in annotation and field must match"))
    elif kind == "Localhost":
        if not annotation.startswith("localhost/"):
            out.append(forbidden(f"{at}.type", f"{what} type in annotation and field must match"))
        elif annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
            out.append(forbidden(f"{at}.localhostProfile", f"{what} profile in annotation and field must match"))
