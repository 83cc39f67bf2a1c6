"""Doubts about the specification of a pod that is valid all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rayward.kube.machinery.names import check_label_value
from rayward.local.apiserver.builtin.address import ip_warnings
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.podspec.apparmor import deprecated_annotations, profile_of
from rayward.local.apiserver.builtin.podspec.overlaps import overlap_warnings
from rayward.local.apiserver.builtin.podspec.paths import containers_of
from rayward.local.apiserver.builtin.podspec.portwarnings import port_warnings
from rayward.local.apiserver.builtin.podspec.security import (
    APPARMOR_ANNOTATION,
    SECCOMP_CONTAINER_ANNOTATION,
    SECCOMP_POD_ANNOTATION,
)
from rayward.local.apiserver.builtin.resources import is_whole

Spec = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_NO_POD = "a null labelSelector results in matching no pod"
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'


def spec_warnings(at: str, spec: Spec, meta: Spec) -> list[str]:
    """Warnings in Kubernetes' order; ``at`` is the path of a template, empty for a pod."""
    prefix = f"{at}." if at else ""
    annotations: Mapping[str, str] = meta.get("annotations") or NOTHING
    found: list[str] = [] if at else deprecated_annotations(annotations, spec)
    found += _node_labels(spec, f"{prefix}spec")
    found += [f"{prefix}metadata.annotations[{k}]: {text}" for k, text in _ANNOTATIONS.items() if k in annotations]
    found += _volumes(spec.get("volumes") or NO_ITEMS, f"{prefix}spec.volumes")
    found += overlap_warnings(spec.get("volumes") or NO_ITEMS)
    found += _repeats(spec, f"{prefix}spec")
    found += _fractions(spec.get("overhead"), f"{prefix}spec.overhead")
    found += _profile_annotations(annotations, spec, prefix, template=bool(at))
    found += port_warnings(spec, f"{prefix}spec")
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{prefix}spec.terminationGracePeriodSeconds: {text}")
    found += _selectors(spec.get("affinity") or NOTHING, f"{prefix}spec.affinity")
    for index, server in enumerate((spec.get("dnsConfig") or NOTHING).get("nameservers") or NO_ITEMS):
        found += ip_warnings(server, f"{prefix}spec.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or NO_ITEMS):
        found += ip_warnings(alias.get("ip") or "", f"{prefix}spec.hostAliases[{index}].ip")
    return found


def _node_labels(spec: Spec, at: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or NO_ITEMS:
        if key in _NODE_LABELS:
            yield f"{at}.nodeSelector[{key}]: {_NODE_LABELS[key]}"
    nodes = (spec.get("affinity") or NOTHING).get("nodeAffinity") or NOTHING
    here = f"{at}.affinity.nodeAffinity"
    for index, term in enumerate((nodes.get(_REQUIRED) or NOTHING).get("nodeSelectorTerms") or NO_ITEMS):
        yield from _term(term, f"{here}.{_REQUIRED}.nodeSelectorTerms[{index}]", values=False)
    for index, preferred in enumerate(nodes.get(_PREFERRED) or NO_ITEMS):
        yield from _term(
            preferred.get("preference") or NOTHING, f"{here}.{_PREFERRED}[{index}].preference", values=True
        )
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or NO_ITEMS):
        key = constraint.get("topologyKey") or ""
        path = f"{at}.topologySpreadConstraints[{index}]"
        if key in _NODE_LABELS:
            yield f"{path}.topologyKey: {key} is {_NODE_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{path}.labelSelector: {_NO_POD}"


def _term(term: Spec, at: str, *, values: bool) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or NO_ITEMS):
        key = expression.get("key") or ""
        if key in _NODE_LABELS:
            yield f"{at}.matchExpressions[{index}].key: {key} is {_NODE_LABELS[key]}"
        for number, value in enumerate(expression.get("values") or NO_ITEMS if values else ()):
            for message in check_label_value(value):
                yield f"{at}.matchExpressions[{index}].values[{number}]: {value} is invalid, {message}"


def _volumes(volumes: Sequence[Spec], at: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        for source, (shown, text) in _VOLUMES.items():
            if volume.get(source) is not None:
                yield f"{at}[{index}].{shown}: {text}"
        claim = ((volume.get("ephemeral") or NOTHING).get("volumeClaimTemplate") or NOTHING).get("spec") or NOTHING
        if claim:
            yield from claim_warnings(claim, f"{at}[{index}].ephemeral.volumeClaimTemplate.spec")


def claim_warnings(spec: Spec, at: str) -> Iterator[str]:
    """Storage is counted in whole bytes."""
    for field in ("requests", "limits"):
        value = ((spec.get("resources") or NOTHING).get(field) or NOTHING).get("storage")
        if value is not None and not is_whole(value):
            yield f'{at}.resources.{field}[storage]: fractional byte value "{value}" is invalid, must be an integer'


def _repeats(spec: Spec, at: str) -> Iterator[str]:
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for index, item in enumerate(spec.get(field) or NO_ITEMS):
            value = item.get(key) or ""
            if value in seen:
                yield f'{at}.{field}[{index}].{key}: duplicate {key} "{value}"'
            seen.add(value)
    for index, secret in enumerate(spec.get("imagePullSecrets") or NO_ITEMS):
        if not secret.get("name"):
            yield f'{at}.imagePullSecrets[{index}].name: invalid empty name ""'


def _fractions(
    amounts: Mapping[str, str] | None, at: str, names: Sequence[str] = ("memory", "ephemeral-storage")
) -> Iterator[str]:
    for name in names if amounts else ():
        value = amounts.get(name) if amounts else None
        if value is not None and not is_whole(value):
            yield f'{at}[{name}]: fractional byte value "{value}" is invalid, must be an integer'


def _profile_annotations(annotations: Mapping[str, str], spec: Spec, prefix: str, *, template: bool) -> Iterator[str]:
    context: Spec = spec.get("securityContext") or NOTHING
    here = f"{prefix}metadata.annotations"
    if context.get("seccompProfile") is None and SECCOMP_POD_ANNOTATION in annotations:
        yield f"{here}[{SECCOMP_POD_ANNOTATION}]: {_SECCOMP}"
    for at, container in containers_of(spec, f"{prefix}spec"):
        own, name = container.get("securityContext") or NOTHING, container.get("name") or ""
        key = f"{SECCOMP_CONTAINER_ANNOTATION}{name}"
        if own.get("seccompProfile") is None and key in annotations:
            yield f"{here}[{key}]: {_SECCOMP}"
        key = f"{APPARMOR_ANNOTATION}{name}"
        if template and own.get("appArmorProfile") is None and key in annotations:
            profile = context.get("appArmorProfile")
            if profile is None or profile != profile_of(annotations[key]):
                yield f'{here}[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
        resources = container.get("resources") or NOTHING
        for name in ("memory", "ephemeral-storage"):
            for field in ("limits", "requests"):
                yield from _fractions(resources.get(field), f"{at}.resources.{field}", (name,))
        yield from _hidden_variables(container.get("env") or NO_ITEMS, f"{at}.env")


def _hidden_variables(variables: Sequence[Spec], at: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        if name in seen:
            reference = f"$({name})"
            if variable.get("valueFrom") is not None or value == reference or reference not in value:
                text = "which may be dropped when using apply"
                yield f'{at}[{index}]: hides previous definition of "{name}", {text}'
        seen.add(name)


def _selectors(affinity: Spec, at: str) -> Iterator[str]:
    for field in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(field) or NOTHING
        for index, term in enumerate(pods.get(_REQUIRED) or NO_ITEMS):
            if term.get("labelSelector") is None:
                yield f"{at}.{field}.{_REQUIRED}[{index}].labelSelector: {_NO_POD}"
        for index, weighted in enumerate(pods.get(_PREFERRED) or NO_ITEMS):
            if (weighted.get("podAffinityTerm") or NOTHING).get("labelSelector") is None:
                yield f"{at}.{field}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_POD}"
