"""The job that removes a deleted cluster's keys from Redis."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import env
from rayward.kinds.shapes.metadata import Object, child, fresh
from rayward.kinds.shapes.pods import cleanup_template
from rayward.kinds.shapes.startcommand import SHELL
from rayward.kube.core.resource import JOBS

_DEADLINE_SECONDS: Final = 300
# Ray older than 2.41 has no parameter for a user name: it is passed only where there is one.
_SCRIPT: Final = """\
python - <<'END'
import os, sys
from urllib.parse import urlsplit
from ray._private.gcs_utils import cleanup_redis_storage
first = os.environ.get("RAY_REDIS_ADDRESS", "").split(",")[0]
redis = urlsplit(first if "://" in first else "redis://" + first)
options = dict(
    host=redis.hostname,
    port=redis.port,
    password=os.environ.get("REDIS_PASSWORD", redis.password or ""),
    use_ssl=redis.scheme == "rediss",
    storage_namespace=os.environ.get("RAY_external_storage_namespace"),
)
if "REDIS_USERNAME" in os.environ:
    options["username"] = os.environ["REDIS_USERNAME"]
if not cleanup_redis_storage(**options):
    sys.exit("The keys of " + str(options["storage_namespace"]) + " in Redis could not be removed. "
             "Remove them by hand, then the finalizer of the RayCluster: kubectl patch raycluster NAME --type=merge "
             "-p '{\\"metadata\\":{\\"finalizers\\":null}}'")
END
"""


def redis_cleanup_job(cluster: RayCluster) -> Object:
    """The job, made from the head's own container: it has the image, the address and the password."""
    template = cleanup_template(cluster)
    template["metadata"]["labels"][labels.NODE_TYPE] = labels.REDIS_CLEANUP
    ray: Object = template["spec"]["containers"][0]
    for probe in ("livenessProbe", "readinessProbe"):
        ray.pop(probe, None)
    env.add(
        ray,
        env.variable("RAY_redis_db_connect_retries", "120"),
        env.variable("RAY_redis_db_connect_wait_milliseconds", "500"),
    )
    ray |= {
        "command": list(SHELL),
        "args": [_SCRIPT],
        "resources": {
            "limits": {"cpu": "200m", "memory": "256Mi"},
            "requests": {"cpu": "200m", "memory": "256Mi"},
        },
    }
    template["spec"] |= {"containers": [ray], "restartPolicy": "Never"}
    metadata: Object = fresh(template["metadata"])
    name = names.redis_cleanup_job(cluster.metadata.name)
    return {
        **child(cluster, JOBS, name, metadata["labels"], metadata["annotations"]),
        "spec": {"backoffLimit": 0, "activeDeadlineSeconds": _DEADLINE_SECONDS, "template": template},
    }
