"""What is wrong with a RayJob."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, cast

import msgspec

from rayward.kinds import labels, names, packing, rayversion, runtimeenv
from rayward.kinds.durations import duration
from rayward.kinds.rayjob import DeletionPolicy, DeletionStrategy, RayJob, RayJobSpec, SubmissionMode
from rayward.kinds.serveconfig import ServeConfigError
from rayward.kinds.validation import template
from rayward.kinds.validation.cluster import (
    label_problems,
    label_warnings,
    name_problems,
    spec_problems,
    spec_warnings,
)
from rayward.kinds.validation.groups import is_autoscaled
from rayward.kinds.validation.problem import Problem
from rayward.kinds.validation.unread import unread_annotations

_MODES: Final = frozenset(SubmissionMode)
_POLICIES: Final = frozenset(DeletionPolicy)
_SEVERITY: Final = {DeletionPolicy.WORKERS: 0, DeletionPolicy.CLUSTER: 1, DeletionPolicy.SELF: 2}
_OF_A_CLUSTER: Final = (DeletionPolicy.CLUSTER, DeletionPolicy.WORKERS)
_METADATA_SINCE: Final = (2, 6)
_LONGEST_ID: Final = 256
_ID_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def job_problems(job: RayJob) -> list[Problem]:
    """Why the job cannot be acted upon; empty when it can."""
    return [
        *name_problems("RayJob", job.metadata.name, names.JOB_MAX),
        *label_problems(job.metadata.labels or {}),
        *_annotation_problems(job),
        *job_spec_problems(job.spec, job.metadata.annotations or {}, "spec"),
    ]


def job_warnings(job: RayJob) -> list[Problem]:
    """What works otherwise than its author may think."""
    return [
        *label_warnings(job.metadata.labels or {}),
        *unread_annotations(job.metadata.annotations or {}),
        *job_spec_warnings(job.spec, "spec"),
    ]


def job_spec_problems(spec: RayJobSpec, annotations: dict[str, str], at: str) -> Iterator[Problem]:
    """What is wrong with a job's spec, wherever it is embedded."""
    yield from _mode_problems(spec, at)
    yield from _number_problems(spec, at)
    yield from _selector_problems(spec, at)
    yield from _deletion_problems(spec, at)
    yield from _submission_problems(spec, at)
    yield from _size_problems(spec, at)
    cluster = spec.ray_cluster_spec
    if cluster is not None:
        if cluster.auth_options is not None and cluster.auth_options.enable_k8s_token_auth:
            message = "a RayJob cannot use Kubernetes' tokens: delete it; mode: token makes a token of its own"
            yield Problem(f"{at}.rayClusterSpec.authOptions.enableK8sTokenAuth", "Forbidden", message)
        if cluster.upgrade_strategy is not None and cluster.upgrade_strategy.type is not None:
            message = "every attempt has a cluster of its own, and none is upgraded: delete it"
            yield Problem(f"{at}.rayClusterSpec.upgradeStrategy", "Forbidden", message)
        yield from spec_problems(cluster, annotations, f"{at}.rayClusterSpec")


def job_spec_warnings(spec: RayJobSpec, at: str) -> Iterator[Problem]:
    """What of a job's spec has another effect than it seems."""
    if spec.ray_cluster_spec is not None:
        yield from spec_warnings(spec.ray_cluster_spec, f"{at}.rayClusterSpec")
    if spec.cluster_selector and spec.shutdown_after_job_finishes:
        message = "a cluster that clusterSelector names is never deleted: delete the field"
        yield Problem(f"{at}.shutdownAfterJobFinishes", "Invalid", message)
    if spec.cluster_selector and spec.ray_cluster_spec is not None:
        message = "clusterSelector names an existing cluster, so this one is not created: delete one of the two"
        yield Problem(f"{at}.rayClusterSpec", "Invalid", message)
    for field, given in (
        ("submitterPodTemplate", spec.submitter_pod_template),
        ("submitterConfig", spec.submitter_config),
    ):
        if spec.submission_mode != SubmissionMode.K8S_JOB and given is not None:
            message = f"{spec.submission_mode} has no submitter pod: delete it, or write submissionMode: K8sJobMode"
            yield Problem(f"{at}.{field}", "Invalid", message)
    try:
        environment = runtimeenv.parse(spec.runtime_env_yaml)
    except ServeConfigError:
        return
    for warning in environment.warnings:
        yield Problem(f"{at}.runtimeEnvYAML", "Invalid", str(warning))


def _annotation_problems(job: RayJob) -> Iterator[Problem]:
    timeout = job.metadata.annotation(labels.STATUS_CHECK_TIMEOUT)
    if timeout and duration(timeout) is None:
        message = f"{labels.STATUS_CHECK_TIMEOUT} is {timeout[:64]!r}: write a time such as 5m, or a number of seconds"
        yield Problem("metadata.annotations", "Invalid", message)
    retry = job.metadata.annotation(labels.RETRY_UNKNOWN)
    if retry not in ("", "true", "false"):
        message = f"{labels.RETRY_UNKNOWN} is {retry[:64]!r}: write true or false"
        yield Problem("metadata.annotations", "Invalid", message)


def _mode_problems(spec: RayJobSpec, at: str) -> Iterator[Problem]:
    mode = spec.submission_mode
    if mode not in _MODES:
        message = f"{mode[:64]!r} is not a mode: write one of {', '.join(SubmissionMode)}"
        yield Problem(f"{at}.submissionMode", "Invalid", message)
    if mode != SubmissionMode.INTERACTIVE and not spec.entrypoint.strip() and spec.submitter_pod_template is None:
        message = "there is no command to run: write one such as python train.py"
        yield Problem(f"{at}.entrypoint", "Required", message)
    if mode == SubmissionMode.INTERACTIVE and spec.backoff_limit:
        message = "you submit the job in InteractiveMode, so nobody can repeat it: write 0"
        yield Problem(f"{at}.backoffLimit", "Invalid", message)
    if mode != SubmissionMode.SIDECAR:
        return
    for field, given in (
        ("submitterPodTemplate", spec.submitter_pod_template),
        ("submitterConfig", spec.submitter_config),
    ):
        if given is not None:
            message = "in SidecarMode the submitter is a container of the head's pod: delete it"
            yield Problem(f"{at}.{field}", "Forbidden", message)
    head = spec.ray_cluster_spec.head_group_spec.template if spec.ray_cluster_spec is not None else {}
    if template.restart_policy(head) not in ("", "Never"):
        message = "in SidecarMode the head's pod runs once: delete restartPolicy or write Never"
        yield Problem(f"{at}.rayClusterSpec.headGroupSpec.template.spec.restartPolicy", "Invalid", message)


def _number_problems(spec: RayJobSpec, at: str) -> Iterator[Problem]:
    limit = spec.submitter_config.backoff_limit if spec.submitter_config is not None else None
    for field, value, least in (
        ("activeDeadlineSeconds", spec.active_deadline_seconds, 1),
        ("preRunningDeadlineSeconds", spec.pre_running_deadline_seconds, 1),
        ("backoffLimit", spec.backoff_limit, 0),
        ("submitterConfig.backoffLimit", limit, 0),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished, 0),
        ("entrypointNumCpus", spec.entrypoint_num_cpus, 0),
        ("entrypointNumGpus", spec.entrypoint_num_gpus, 0),
    ):
        if value is not None and value < least:
            yield Problem(f"{at}.{field}", "Invalid", f"{value} is less than {least}: write {least} or more")


def _selector_problems(spec: RayJobSpec, at: str) -> Iterator[Problem]:
    if not spec.cluster_selector:
        if spec.ray_cluster_spec is None:
            message = "there is no cluster to run on: write rayClusterSpec, or clusterSelector: {ray.io/cluster: NAME}"
            yield Problem(f"{at}.rayClusterSpec", "Required", message)
        return
    if not spec.cluster_selector.get(labels.CLUSTER):
        message = "the cluster is chosen by name: write ray.io/cluster: NAME"
        yield Problem(f"{at}.clusterSelector", "Required", message)
    if spec.submission_mode == SubmissionMode.SIDECAR:
        message = "no sidecar can be added to an existing cluster: write K8sJobMode or HTTPMode"
        yield Problem(f"{at}.submissionMode", "Invalid", message)
    if spec.backoff_limit:
        message = "every retry needs a cluster of its own, and clusterSelector names one: write 0, or rayClusterSpec"
        yield Problem(f"{at}.backoffLimit", "Invalid", message)


def _deletion_problems(spec: RayJobSpec, at: str) -> Iterator[Problem]:
    strategy = spec.deletion_strategy
    if spec.ttl_seconds_after_finished > 0 and not spec.shutdown_after_job_finishes:
        message = "nothing is deleted after this time: write shutdownAfterJobFinishes: true beside it, or delete it"
        yield Problem(f"{at}.ttlSecondsAfterFinished", "Invalid", message)
    if strategy is None:
        return
    if strategy.deletion_rules:
        if spec.shutdown_after_job_finishes:
            message = "deletionRules say what is deleted: delete shutdownAfterJobFinishes"
            yield Problem(f"{at}.shutdownAfterJobFinishes", "Forbidden", message)
        yield from _rule_problems(spec, strategy, f"{at}.deletionStrategy")
        return
    yield from _legacy_problems(spec, strategy, f"{at}.deletionStrategy")


def _legacy_problems(spec: RayJobSpec, strategy: DeletionStrategy, at: str) -> Iterator[Problem]:
    for field, given in (("onSuccess", strategy.on_success), ("onFailure", strategy.on_failure)):
        if given is None or not given.policy:
            message = "write deletionRules, or a policy for both onSuccess and onFailure"
            yield Problem(f"{at}.{field}.policy", "Required", message)
            continue
        if given.policy == DeletionPolicy.NONE and spec.shutdown_after_job_finishes:
            message = "shutdownAfterJobFinishes deletes the cluster too: delete one of the two"
            yield Problem(f"{at}.{field}.policy", "Invalid", message)
        yield from _policy_problems(spec, given.policy, f"{at}.{field}.policy")


def _rule_problems(spec: RayJobSpec, strategy: DeletionStrategy, at: str) -> Iterator[Problem]:
    if strategy.on_success is not None or strategy.on_failure is not None:
        yield Problem(at, "Forbidden", "deletionRules replace onSuccess and onFailure: delete both")
    by_condition: dict[str, dict[str, int]] = {}
    for index, rule in enumerate(strategy.deletion_rules or ()):
        place, condition = f"{at}.deletionRules[{index}]", rule.condition
        yield from _policy_problems(spec, rule.policy, f"{place}.policy")
        if (condition.job_status is None) == (condition.job_deployment_status is None):
            message = "a condition is about one status: write jobStatus or jobDeploymentStatus"
            yield Problem(f"{place}.condition", "Invalid", message)
        if condition.ttl_seconds < 0:
            message = f"{condition.ttl_seconds} is less than 0: write 0 or more"
            yield Problem(f"{place}.condition.ttlSeconds", "Invalid", message)
        name = condition.job_status or condition.job_deployment_status or ""
        known = by_condition.setdefault(name, {})
        if rule.policy in known:
            message = f"another rule is for {rule.policy} after {name} too: keep one"
            yield Problem(place, "Duplicate", message)
        known[rule.policy] = condition.ttl_seconds
    for name, known in by_condition.items():
        ordered = sorted(
            (policy for policy in known if policy in _SEVERITY), key=lambda each: _SEVERITY[DeletionPolicy(each)]
        )
        for less, more in pairwise(ordered):
            if known[less] > known[more]:
                message = (
                    f"after {name}, {more} comes before {less}, which then finds nothing to delete: "
                    f"write a ttlSeconds of at least {known[less]} for {more}"
                )
                yield Problem(f"{at}.deletionRules", "Invalid", message)


def _policy_problems(spec: RayJobSpec, policy: str, at: str) -> Iterator[Problem]:
    if policy not in _POLICIES:
        yield Problem(at, "Invalid", f"{policy[:64]!r} is not a policy: write one of {', '.join(DeletionPolicy)}")
        return
    if spec.cluster_selector and policy in _OF_A_CLUSTER:
        message = f"a cluster that clusterSelector names is not touched by {policy}: write DeleteSelf or DeleteNone"
        yield Problem(at, "Invalid", message)
    cluster = spec.ray_cluster_spec
    if policy == DeletionPolicy.WORKERS and cluster is not None and is_autoscaled(cluster):
        message = "the autoscaler would make the workers again: write DeleteCluster"
        yield Problem(at, "Invalid", message)


def _submission_problems(spec: RayJobSpec, at: str) -> Iterator[Problem]:
    try:
        runtimeenv.parse(spec.runtime_env_yaml)
    except ServeConfigError as error:
        for finding in error.findings:
            yield Problem(f"{at}.runtimeEnvYAML", "Invalid", str(finding))
    if spec.job_id and (len(spec.job_id) > _LONGEST_ID or not _ID_CHARACTERS.issuperset(spec.job_id)):
        message = f"a submission id has at most {_LONGEST_ID} letters, digits, '-', '_' and '.': write another one"
        yield Problem(f"{at}.jobId", "Invalid", message)
    if spec.entrypoint_resources:
        yield from _resource_problems(spec.entrypoint_resources, f"{at}.entrypointResources")
    version = spec.ray_cluster_spec.ray_version if spec.ray_cluster_spec is not None else ""
    if spec.metadata and version and not rayversion.at_least(version, *_METADATA_SINCE):
        message = f"metadata needs Ray 2.6 or later and rayVersion is {version[:64]!r}: delete it, or use a newer Ray"
        yield Problem(f"{at}.metadata", "Invalid", message)


def _size_problems(spec: RayJobSpec, at: str) -> Iterator[Problem]:
    """What an attempt runs by is kept in an annotation, however the spec is edited meanwhile."""
    sizes = {
        "runtimeEnvYAML": len(spec.runtime_env_yaml.encode()),
        "entrypoint": len(spec.entrypoint.encode()),
        "submitterPodTemplate": len(msgspec.json.encode(spec.submitter_pod_template)),
        "metadata": len(msgspec.json.encode(spec.metadata)),
        "entrypointResources": len(spec.entrypoint_resources.encode()),
    }
    if sum(sizes.values()) <= packing.MOST // 2:
        # It fits however it is packed.
        return
    size = len(packing.packed(spec))
    if size > packing.MOST:
        largest = max(sizes, key=lambda name: sizes[name])
        message = (
            f"the spec without its cluster takes {size} bytes when compressed, and an attempt keeps at most "
            f"{packing.MOST}: put what is large into the image, a working_dir or a ConfigMap"
        )
        yield Problem(f"{at}.{largest}", "Invalid", message)


def _resource_problems(text: str, at: str) -> Iterator[Problem]:
    example = "write a JSON object of numbers, such as '{\"accelerator\": 1}'"
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        yield Problem(at, "Invalid", f"it is not valid JSON ({error}): {example}")
        return
    amounts = list(cast("dict[str, object]", value).values()) if isinstance(value, dict) else None
    if amounts is None or any(isinstance(each, bool) or not isinstance(each, int | float) for each in amounts):
        yield Problem(at, "Invalid", example)
