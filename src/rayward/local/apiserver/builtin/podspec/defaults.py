"""What a server fills into the specification of a pod."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.resourcenames import is_huge_page
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.images import pull_policy_of
from rayward.local.apiserver.builtin.podspec.podresources import total
from rayward.local.apiserver.builtin.resources import can_be_overcommitted, round_list

_FILE_MODE = 420
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
SOURCES: dict[str, dict[str, Any]] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "hostPath": {"type": ""},
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
}
"""What a volume's source gets, by its field."""


def default_template(template: Object) -> None:
    default_spec(template.setdefault("spec", {}))
    meta = template.get("metadata")
    if meta:
        drop_init_annotations(meta)


def default_spec(spec: Object) -> None:
    """A specification, in a pod or in a template."""
    fill = spec.setdefault
    for volume in spec.get("volumes") or NO_ITEMS:
        _default_volume(volume)
    for field in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(field) or NO_ITEMS:
            _default_container(container)
    fill("dnsPolicy", "ClusterFirst")
    fill("restartPolicy", "Always")
    fill("securityContext", {})
    fill("terminationGracePeriodSeconds", 30)
    fill("schedulerName", "default-scheduler")
    if spec.get("overhead"):
        round_list(spec["overhead"])
    _round_resources(spec.get("resources"))
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def default_pod_only(spec: Object) -> None:
    """What is filled in for a pod, but not for a template."""
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or NO_ITEMS:
            resources = container.get("resources")
            if resources and resources.get("limits"):
                requests = resources.setdefault("requests", {})
                for name, value in resources["limits"].items():
                    requests.setdefault(name, value)
    if spec.get("resources"):
        _default_pod_resources(spec, spec["resources"])
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for field in ("containers", "initContainers"):
            for container in spec.get(field) or NO_ITEMS:
                for port in container.get("ports") or NO_ITEMS:
                    port.setdefault("hostPort", port.get("containerPort") or 0)


def _default_pod_resources(spec: Object, resources: Object) -> None:
    limits: dict[str, str] = resources.get("limits") or {}
    requests: dict[str, str] = resources.get("requests") or {}
    for name, value in total(spec, "limits").items():
        if is_huge_page(name) and name not in requests:
            limits.setdefault(name, str(value))
    if limits:
        resources["limits"] = limits
        for name, value in total(spec, "requests").items():
            if name in ("cpu", "memory") and can_be_overcommitted(name):
                requests.setdefault(name, str(value))
        for name, value in limits.items():
            if name in ("cpu", "memory") or is_huge_page(name):
                requests.setdefault(name, value)
    if requests:
        resources["requests"] = requests


def _default_container(container: Object) -> None:
    fill = container.setdefault
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy_of(container.get("image") or "")
    fill("terminationMessagePath", "/dev/termination-log")
    fill("terminationMessagePolicy", "File")
    for port in container.get("ports") or NO_ITEMS:
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or NO_ITEMS:
        source = variable.get("valueFrom")
        if source is not None:
            if source.get("fieldRef") is not None:
                source["fieldRef"].setdefault("apiVersion", "v1")
            if source.get("fileKeyRef") is not None:
                source["fileKeyRef"].setdefault("optional", False)
    _round_resources(container.get("resources"))
    for field in _PROBES:
        probe = container.get(field)
        if probe is not None:
            _default_probe(probe)
    lifecycle = container.get("lifecycle")
    for field in _HOOKS if lifecycle else ():
        hook = (lifecycle or NOTHING).get(field)
        if hook is not None and hook.get("httpGet") is not None:
            _default_http_get(hook["httpGet"])


def _default_probe(probe: Object) -> None:
    fill = probe.setdefault
    fill("timeoutSeconds", 1)
    fill("periodSeconds", 10)
    fill("successThreshold", 1)
    fill("failureThreshold", 3)
    if probe.get("httpGet") is not None:
        _default_http_get(probe["httpGet"])
    if probe.get("grpc") is not None:
        probe["grpc"]["service"] = probe["grpc"].get("service") or ""


def _default_http_get(action: Object) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def _round_resources(resources: Object | None) -> None:
    if resources:
        for field in ("limits", "requests"):
            if resources.get(field):
                round_list(resources[field])


def _default_volume(volume: Object) -> None:
    if len(volume) == ("name" in volume):
        volume["emptyDir"] = {}
        return
    for source, values in SOURCES.items():
        held = volume.get(source)
        if held is not None:
            for field, value in values.items():
                held.setdefault(field, value)
    downward, projected = volume.get("downwardAPI"), volume.get("projected")
    if downward is not None:
        downward.setdefault("defaultMode", _FILE_MODE)
        _default_field_refs(downward)
    if projected is not None:
        projected.setdefault("defaultMode", _FILE_MODE)
        for source in projected.get("sources") or NO_ITEMS:
            if source.get("downwardAPI") is not None:
                _default_field_refs(source["downwardAPI"])
            if source.get("serviceAccountToken") is not None:
                source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    if volume.get("image") is not None:
        volume["image"].setdefault("pullPolicy", pull_policy_of(volume["image"].get("reference") or ""))
    template = (volume.get("ephemeral") or NOTHING).get("volumeClaimTemplate")
    if template is not None:
        template["spec"].setdefault("volumeMode", "Filesystem")
        _round_resources(template["spec"].get("resources"))


def _default_field_refs(source: Object) -> None:
    for item in source.get("items") or NO_ITEMS:
        if item.get("fieldRef") is not None:
            item["fieldRef"].setdefault("apiVersion", "v1")


_INIT_ANNOTATIONS = frozenset(
    f"pod.{stage}.kubernetes.io/init-container{what}" for stage in ("alpha", "beta") for what in ("s", "-statuses")
)


def drop_init_annotations(meta: Object) -> None:
    """Annotations that held init containers before there was a field."""
    annotations = meta.get("annotations")
    if annotations and not _INIT_ANNOTATIONS.isdisjoint(annotations):
        for key in _INIT_ANNOTATIONS:
            annotations.pop(key, None)
        if not annotations:
            del meta["annotations"]


def drop_disabled(spec: Object) -> None:
    """Fields of features that are off unless asked for."""
    spec.pop("schedulingGroup", None)
    for field in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(field) or NO_ITEMS:
            lifecycle = container.get("lifecycle")
            if lifecycle is not None and "stopSignal" in lifecycle:
                del lifecycle["stopSignal"]
                if not lifecycle:
                    del container["lifecycle"]
    for volume in spec.get("volumes") or NO_ITEMS:
        for source in (volume.get("projected") or NOTHING).get("sources") or NO_ITEMS:
            source.pop("clusterTrustBundle", None)
            source.pop("podCertificate", None)
