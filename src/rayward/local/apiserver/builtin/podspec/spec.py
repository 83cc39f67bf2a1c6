"""The specification of a pod, on its own or in a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import forbidden, invalid, required
from rayward.kube.machinery.names import check_dns1123_subdomain
from rayward.kube.machinery.objectmeta import check_annotations
from rayward.local.apiserver.builtin.check import Errors, dns_label, fits, labels, one_of, one_of_required
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.formats import MAX_INT32, range_text
from rayward.local.apiserver.builtin.podspec.annotations import check_pod_annotations
from rayward.local.apiserver.builtin.podspec.container import (
    Surroundings,
    check_containers,
    check_ephemeral_containers,
    check_image_of_pod,
    check_init_containers,
)
from rayward.local.apiserver.builtin.podspec.env import check_file_volumes
from rayward.local.apiserver.builtin.podspec.network import (
    check_dns_config,
    check_host_aliases,
    check_host_ports,
    check_host_users,
    check_hostname_override,
)
from rayward.local.apiserver.builtin.podspec.podresources import (
    check_pod_resources,
    check_resource_claims,
    claim_names,
)
from rayward.local.apiserver.builtin.podspec.scheduling import (
    check_affinity,
    check_gates,
    check_spread,
    check_tolerations,
)
from rayward.local.apiserver.builtin.podspec.security import check_pod_security, check_profiles_match
from rayward.local.apiserver.builtin.podspec.volumes import check_volumes
from rayward.local.apiserver.builtin.podspec.windows import check_host_process, check_os
from rayward.local.apiserver.builtin.resources import check_requirements

Spec = Mapping[str, Any]

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")


def check_template(template: Spec, at: str, out: Errors) -> None:
    """A pod template inside another kind."""
    meta, spec = template.get("metadata") or NOTHING, template.get("spec") or NOTHING
    annotations = meta.get("annotations") or NOTHING
    labels(meta.get("labels"), f"{at}.labels", out)
    out += check_annotations(annotations, f"{at}.annotations")
    check_pod_annotations(annotations, spec, f"{at}.annotations", out)
    check_spec(spec, f"{at}.spec", out)
    check_profiles_match(annotations, spec, f"{at}.spec", out)
    if spec.get("ephemeralContainers"):
        out.append(forbidden(f"{at}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"))


def check_pod(meta: Spec, spec: Spec, out: Errors) -> None:
    """A pod's annotations and specification, whether new or changed."""
    check_pod_annotations(meta.get("annotations") or NOTHING, spec, "metadata.annotations", out)
    check_spec(spec, "spec", out, pod_name=meta.get("name") or "", is_pod=True)
    if not spec.get("serviceAccountName"):
        for index, volume in enumerate(spec.get("volumes") or NO_ITEMS):
            for number, source in enumerate((volume.get("projected") or NOTHING).get("sources") or NO_ITEMS):
                if source.get("serviceAccountToken") is not None:
                    path = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                    out.append(forbidden(path, "must not be specified when serviceAccountName is not set"))
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or NO_ITEMS):
            check_image_of_pod(container, f"spec.{field}[{index}]", out)


def check_spec(spec: Spec, at: str, out: Errors, *, pod_name: str = "", is_pod: bool = False) -> None:
    """Everything inside ``spec``, in Kubernetes' order."""
    get = spec.get
    grace = get("terminationGracePeriodSeconds")
    if grace is None:
        out.append(required(f"{at}.terminationGracePeriodSeconds"))
    volumes = check_volumes(get("volumes") or NO_ITEMS, pod_name, f"{at}.volumes", out, is_pod=is_pod)
    around = Surroundings(
        volumes=volumes,
        claims=claim_names(spec),
        restart_policy=get("restartPolicy") or "",
        host_users=get("hostUsers") is not False,
        grace=grace,
    )
    check_resource_claims(spec, f"{at}.resourceClaims", out)
    check_containers(spec, around, f"{at}.containers", out)
    check_init_containers(spec, around, f"{at}.initContainers", out)
    check_ephemeral_containers(spec, around, f"{at}.ephemeralContainers", out)
    check_pod_resources(spec, at, out)
    check_host_ports(spec, at, out, is_pod=is_pod)
    one_of_required(around.restart_policy, _RESTART_POLICIES, f"{at}.restartPolicy", out)
    one_of_required(get("dnsPolicy") or "", _DNS_POLICIES, f"{at}.dnsPolicy", out)
    labels(get("nodeSelector"), f"{at}.nodeSelector", out)
    check_pod_security(spec, f"{at}.securityContext", out)
    check_affinity(get("affinity"), f"{at}.affinity", out)
    check_dns_config(spec, f"{at}.dnsConfig", out)
    check_gates(spec, at, out)
    check_spread(get("topologySpreadConstraints") or NO_ITEMS, f"{at}.topologySpreadConstraints", out)
    check_host_process(spec, at, out)
    check_host_users(spec, at, out)
    check_hostname_override(spec, f"{at}.hostnameOverride", out)
    _check_names_and_deadline(spec, at, out)
    check_file_volumes(spec, at, out)


def _check_names_and_deadline(spec: Spec, at: str, out: Errors) -> None:
    get = spec.get
    for field in ("serviceAccountName", "nodeName"):
        if get(field):
            fits(check_dns1123_subdomain, get(field) or "", f"{at}.{field}", out)
    deadline = get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        out.append(invalid(f"{at}.activeDeadlineSeconds", deadline, range_text(1, MAX_INT32)))
    for field in ("hostname", "subdomain"):
        if get(field):
            dns_label(get(field) or "", f"{at}.{field}", out)
    check_tolerations(get("tolerations") or NO_ITEMS, f"{at}.tolerations", out)
    check_host_aliases(spec, f"{at}.hostAliases", out)
    if get("priorityClassName"):
        fits(check_dns1123_subdomain, get("priorityClassName") or "", f"{at}.priorityClassName", out)
    if get("runtimeClassName") is not None:
        fits(check_dns1123_subdomain, get("runtimeClassName") or "", f"{at}.runtimeClassName", out)
    check_preemption_policy(get("preemptionPolicy"), f"{at}.preemptionPolicy", out)
    if get("overhead"):
        check_requirements({"limits": get("overhead")}, (), f"{at}.overhead", out)
    check_os(spec, at, out)


def check_preemption_policy(policy: str | None, at: str, out: Errors) -> None:
    """Whether a pod may push others off a node."""
    if policy is None:
        return
    if not policy:
        out.append(required(at))
    else:
        one_of(policy, ("PreemptLowerPriority", "Never"), at, out)
