"""Annotations of a pod that Kubernetes itself reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from rayward.kube.machinery.digits import parse_digits
from rayward.kube.machinery.fielderror import forbidden, invalid
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NOTHING
from rayward.local.apiserver.builtin.formats import MAX_INT32
from rayward.local.apiserver.builtin.podspec.paths import containers_of, descending
from rayward.local.apiserver.builtin.podspec.scheduling import check_tolerations
from rayward.local.apiserver.builtin.podspec.security import (
    APPARMOR_ANNOTATION,
    SECCOMP_CONTAINER_ANNOTATION,
    SECCOMP_POD_ANNOTATION,
)

Spec = Mapping[str, Any]

MIRROR = "kubernetes.io/config.mirror"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def check_pod_annotations(annotations: Mapping[str, str], spec: Spec, at: str, out: Errors) -> None:
    """Values that must have a form."""
    if not annotations:
        return
    if MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        out.append(invalid(f"{at}[{MIRROR}]", annotations[MIRROR], text))
    if annotations.get(_TOLERATIONS):
        _check_tolerations(annotations[_TOLERATIONS], at, out)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_cost(cost):
        out.append(invalid(f"{at}[{_DELETION_COST}]", cost, "must be a 32bit integer"))
    for key, value in annotations.items():
        if key == SECCOMP_POD_ANNOTATION or key.startswith(SECCOMP_CONTAINER_ANNOTATION):
            _check_seccomp(value, f"{at}.{key}", out)
    for key, value in annotations.items():
        if key.startswith(APPARMOR_ANNOTATION):
            _check_apparmor(key, value, spec, f"{at}[{key}]", out)


def _check_tolerations(text: str, at: str, out: Errors) -> None:
    try:
        tolerations = json.loads(text)
    except ValueError as error:
        out.append(invalid(at, _TOLERATIONS, str(error)))
        return
    if type(tolerations) is list:
        check_tolerations(cast("list[Spec]", tolerations), f"{at}.{_TOLERATIONS}", out)


def _is_cost(value: str) -> bool:
    digits = value.removeprefix("-")
    if value[:1] == "0" and value != "0":
        return False
    return parse_digits(digits, MAX_INT32 + (digits != value)) is not None


def _check_seccomp(value: str, at: str, out: Errors) -> None:
    if value in ("runtime/default", "docker/default", "unconfined"):
        return
    if value.startswith("localhost/"):
        descending(value.removeprefix("localhost/"), at, out)
    else:
        out.append(invalid(at, value, "must be a valid seccomp profile"))


def _check_apparmor(key: str, value: str, spec: Spec, at: str, out: Errors) -> None:
    name = key.removeprefix(APPARMOR_ANNOTATION)
    if all((container.get("name") or "") != name for _, container in containers_of(spec, "spec")):
        out.append(invalid(at, name, "container not found"))
    if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
        out.append(invalid(at, value, f'invalid AppArmor profile name: "{value}"'))


def check_annotation_changes(new: Spec, old: Spec, out: Errors) -> None:
    """Annotations that say what a running pod is cannot change."""
    before: Mapping[str, str] = (old.get("metadata") or NOTHING).get("annotations") or NOTHING
    after: Mapping[str, str] = (new.get("metadata") or NOTHING).get("annotations") or NOTHING
    if before != after:
        for key, value in before.items():
            if after.get(key) == value:
                continue
            if key.startswith(APPARMOR_ANNOTATION):
                out.append(forbidden(f"metadata.annotations[{key}]", "may not remove or update AppArmor annotations"))
            if key == MIRROR:
                out.append(forbidden(f"metadata.annotations[{key}]", "may not remove or update mirror pod annotation"))
        for key in after.keys() - before.keys():
            if key.startswith(APPARMOR_ANNOTATION):
                out.append(forbidden(f"metadata.annotations[{key}]", "may not add AppArmor annotations"))
            if key == MIRROR:
                out.append(forbidden(f"metadata.annotations[{key}]", "may not add mirror pod annotation"))
    check_pod_annotations(after, new.get("spec") or NOTHING, "metadata.annotations", out)
