"""References from environment variables and files to fields of the pod and resources of a container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import invalid, not_supported, required
from rayward.kube.machinery.quantity import parse
from rayward.local.apiserver.builtin.check import Errors, qualified_name

Spec = Mapping[str, Any]

ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS = frozenset(
    {*ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
)
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def check_field_ref(reference: Spec, fields: Sequence[str], at: str, out: Errors) -> None:
    """A field of the pod, or one of its labels or annotations by key."""
    version, path = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version:
        out.append(required(f"{at}.apiVersion"))
        return
    if not path:
        out.append(required(f"{at}.fieldPath"))
        return
    base, key = _split(path)
    problem = ""
    if version != "v1":
        problem = f"unsupported pod version: {version}"
    elif key is not None and base not in ("metadata.annotations", "metadata.labels"):
        problem = f"field label does not support subscript: {path}"
    elif key is None and path not in _KNOWN_FIELDS:
        problem = f"field label not supported: {path}"
    if problem:
        out.append(invalid(f"{at}.fieldPath", path, f"error converting fieldPath: {problem}"))
    elif key is not None:
        qualified_name(key.lower() if base == "metadata.annotations" else key, at, out)
    else:
        inner = "spec.nodeName" if path == "spec.host" else path
        if inner not in fields:
            out.append(not_supported(f"{at}.fieldPath", inner, list(fields)))


def _split(path: str) -> tuple[str, str | None]:
    base, bracket, rest = path.partition("['")
    return (base, rest[:-2]) if bracket and base and path.endswith("']") and len(rest) >= 2 else (path, None)


def check_resource_field_ref(reference: Spec, at: str, out: Errors, *, needs_container: bool) -> None:
    """A request or limit of a container."""
    resource = reference.get("resource") or ""
    if needs_container and not reference.get("containerName"):
        out.append(required(f"{at}.containerName"))
    elif not resource:
        out.append(required(f"{at}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        out.append(not_supported(f"{at}.resource", resource, list(_RESOURCES)))
    divisor = reference.get("divisor")
    if divisor is None or parse(divisor).unscaled == 0:
        return
    divisor = str(divisor)
    if resource in ("limits.cpu", "requests.cpu"):
        if divisor not in ("1m", "1"):
            text = "only divisor's values 1m and 1 are supported with the cpu resource"
            out.append(invalid(f"{at}.divisor", resource, text))
        return
    what = "the memory" if resource.endswith(".memory") else "the local ephemeral storage"
    if resource.startswith(_HUGE_PAGES):
        what = "the hugepages"
    elif resource not in _RESOURCES:
        return
    if divisor not in _SIZES:
        text = f"only divisor's values {', '.join(_SIZES)} are supported with {what} resource"
        out.append(invalid(f"{at}.divisor", resource, text))
