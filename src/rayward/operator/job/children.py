"""What a RayJob owns: the cluster of an attempt, the submitter's Job, the stable way to the head."""

from __future__ import annotations

import copy
from typing import Final

import msgspec

from rayward.kinds import labels, names
from rayward.kinds.admission import NO_QUEUES, Queueing, read_grant
from rayward.kinds.raycluster import Object, RayCluster, RayClusterSpec
from rayward.kinds.rayjob import RayJob, RayJobSpec, SubmissionMode
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kinds.shapes import authentication, submitter_container
from rayward.kinds.validation import template
from rayward.kube.core.meta import controlled_by
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.core.resource import JOBS
from rayward.operator.cluster import services
from rayward.operator.job import submission
from rayward.operator.job.annotations import Attempt

_BACKOFF_LIMIT: Final = 2
_NOT_COPIED: Final = frozenset(
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        labels.ATTEMPT,
        labels.ATTEMPTS,
        labels.CONDITIONS,
        labels.STATUS_CHECK_TIMEOUT,
        labels.RETRY_UNKNOWN,
        labels.SUSPENDED_BY,
        labels.TRANSACTION,
        labels.ADMITTED,
    )
)


def cluster(job: RayJob, spec: RayJobSpec, config: Object, attempt: Attempt) -> Object:
    """The RayCluster of an attempt.

    Args:
        job: The owner.
        spec: The spec in force.
        config: ``spec.rayClusterSpec`` as the user wrote it.
        attempt: The attempt; its id goes into the sidecar.
    """
    metadata = job.metadata
    annotations = {name: text for name, text in (metadata.annotations or {}).items() if name not in _NOT_COPIED}
    config = copy.deepcopy(config)
    if spec.submission_mode == SubmissionMode.SIDECAR:
        annotations[labels.DISABLE_HEAD_RESTART] = "true"
        _add_sidecar(job, spec, config, attempt)
    return {
        "apiVersion": RAY_CLUSTERS.api_version,
        "kind": RAY_CLUSTERS.kind,
        "metadata": {
            "name": attempt.cluster,
            "namespace": metadata.namespace,
            "labels": {**(metadata.labels or {}), **_origin(job), labels.SUBMISSION_MODE: spec.submission_mode},
            "annotations": annotations,
            "ownerReferences": [controlled_by(job, RAY_JOBS)],
        },
        "spec": config,
    }


def submitter_job(
    job: RayJob, spec: RayJobSpec, attempt: Attempt, on: RayCluster, address: str, queueing: Queueing = NO_QUEUES
) -> Object:
    """The Kubernetes Job of K8sJobMode; ``address`` is the dashboard's host and port."""
    metadata = job.metadata
    given = spec.submitter_pod_template
    made = copy.deepcopy(given) if given is not None else _template(on)
    pod: Object = made.setdefault("spec", {})
    container: Object = pod["containers"][0]
    url = address if address.startswith("http://") else f"http://{address}"
    if not container.get("command"):
        container["command"] = list(submission.SHELL)
        container["args"] = [submission.job_command(spec, attempt.job_id, url, attempt.session)]
    _complete(container, on, attempt.job_id, address)
    its_labels = {**_origin(job), labels.CREATED_BY: labels.CREATED_BY_VALUE}
    pod_metadata: Object = made.setdefault("metadata", {})
    pod_metadata["labels"] = {**(pod_metadata.get("labels") or {}), **_origin(job)}
    grant = read_grant(on)
    if grant is not None and grant.workload:
        # its quota is that of its attempt, and is not held by the next one's
        marks = {labels.WORKLOAD: grant.workload, **queueing.pod_annotations}
        pod_metadata["annotations"] = {**(pod_metadata.get("annotations") or {}), **marks}
    config = spec.submitter_config
    limit = config.backoff_limit if config is not None and config.backoff_limit is not None else _BACKOFF_LIMIT
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": names.submitter_job(metadata.name),
            "namespace": metadata.namespace,
            "labels": its_labels,
            "ownerReferences": [controlled_by(job, RAY_JOBS)],
        },
        "spec": {"backoffLimit": limit, "template": made},
    }


def head_service(job: RayJob, on: RayCluster) -> Object:
    """The way to the head of the latest attempt's cluster, by a name that stays."""
    plain = RayCluster(
        metadata=ObjectMeta(name=on.metadata.name, namespace=on.metadata.namespace),
        spec=msgspec.structs.replace(on.spec, head_service_annotations=None),
    )
    made = services.head_service(plain)
    name = job.metadata.name
    made["metadata"] |= {
        "name": names.head_service(name),
        "labels": {
            **_origin(job),
            labels.NODE_TYPE: labels.HEAD,
            labels.IDENTIFIER: names.identifier(name, labels.HEAD),
        },
        "ownerReferences": [controlled_by(job, RAY_JOBS)],
    }
    return made


def dashboard_address(on: RayCluster, domain: str) -> str:
    """Host and port of the dashboard, as ``status.dashboardURL`` has them."""
    head = on.status.head
    service = (head.service_name if head is not None else "") or names.head_service(on.metadata.name)
    return f"{service}.{on.metadata.namespace}.svc.{domain}:{services.listening_port(on)}"


def _add_sidecar(job: RayJob, spec: RayJobSpec, config: Object, attempt: Attempt) -> None:
    made = RayCluster(
        metadata=ObjectMeta(name=attempt.cluster, namespace=job.metadata.namespace),
        spec=msgspec.convert(config, RayClusterSpec),
    )
    pod: Object = config["headGroupSpec"]["template"]["spec"]
    container = _container(made)
    container["command"] = list(submission.SHELL)
    container["args"] = [submission.sidecar_command(spec, attempt.job_id, services.listening_port(made))]
    _complete(container, made, attempt.job_id, "")
    pod["containers"] = [*pod["containers"], container]
    pod["restartPolicy"] = "Never"


def _complete(container: Object, on: RayCluster, job_id: str, address: str) -> None:
    variables: list[Object] = list(container.get("env") or ())
    variables += [
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "RAY_DASHBOARD_ADDRESS", **({"value": address} if address else {})},
        {"name": "RAY_JOB_SUBMISSION_ID", "value": job_id},
    ]
    container["env"] = variables
    auth = on.spec.auth_options
    if auth is not None and auth.mode == "token":
        authentication.add_token(on, container)


def _template(on: RayCluster) -> Object:
    return {"spec": {"containers": [_container(on)], "restartPolicy": "Never"}}


def _container(on: RayCluster) -> Object:
    head = template.containers(on.spec.head_group_spec.template)
    return submitter_container(str(head[0].get("image", "")) if head else "")


def _origin(job: RayJob) -> dict[str, str]:
    return {labels.ORIGIN_NAME: job.metadata.name, labels.ORIGIN_KIND: RAY_JOBS.kind}
