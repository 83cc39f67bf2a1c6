"""The RayJob of one tick."""

from __future__ import annotations

from rayward.kinds import labels
from rayward.kinds.raycluster import Object
from rayward.kinds.raycronjob import RayCronJob
from rayward.kinds.resources import RAY_CRON_JOBS, RAY_JOBS
from rayward.kube.core.meta import controlled_by, rfc3339
from rayward.operator.cronjob.decide import Creation


def ray_job(cron_job: RayCronJob, template: Object, creation: Creation) -> Object:
    """The object to create; ``template`` is ``spec.jobTemplate`` as the user wrote it."""
    metadata = cron_job.metadata
    stamp = {labels.CRON_JOB_TIMESTAMP: rfc3339(creation.tick)} if creation.tick is not None else {}
    return {
        "apiVersion": RAY_JOBS.api_version,
        "kind": RAY_JOBS.kind,
        "metadata": {
            "name": creation.name,
            "namespace": metadata.namespace,
            "labels": {labels.CRON_JOB_NAME: metadata.name},
            "annotations": stamp,
            "ownerReferences": [controlled_by(cron_job, RAY_CRON_JOBS)],
        },
        "spec": template,
    }
