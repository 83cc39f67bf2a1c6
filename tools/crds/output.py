"""What is written, and how: equal manifests are equal bytes."""

from __future__ import annotations

import gzip

import orjson

from tools.crds import cluster, cronjob, job, service
from tools.crds.shape import Object


def wanted() -> dict[str, Object]:
    """The manifests by plural."""
    return {
        "rayclusters": cluster.crd(),
        "rayservices": service.crd(),
        "rayjobs": job.crd(),
        "raycronjobs": cronjob.crd(),
    }


def packed(manifest: Object) -> bytes:
    """The file's content."""
    return gzip.compress(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS), 9, mtime=0)
