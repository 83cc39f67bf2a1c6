"""Rules for the storage that outlives the head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rayward.kinds import labels
from rayward.kinds.raycluster import FaultTolerance, RayClusterSpec
from rayward.kinds.validation import template
from rayward.kinds.validation.problem import Problem

_OPTIONS: Final = "gcsFaultToleranceOptions"
_BACKENDS: Final = ("", "redis", "rocksdb")
_STORAGE_VOLUME: Final = "gcs-storage"
_STORAGE_PATH: Final = "/data/gcs"
_STORAGE_VARIABLES: Final = ("RAY_gcs_storage", "RAY_gcs_storage_path")


def fault_tolerance_problems(
    spec: RayClusterSpec, annotations: Mapping[str, str], at: str, annotated: str = "metadata.annotations"
) -> Iterator[Problem]:
    """What is wrong with fault tolerance, in the options, the annotations and the head's template."""
    options = spec.gcs_fault_tolerance_options
    params = spec.head_group_spec.ray_start_params or {}
    variables = template.environment(spec.head_group_spec.template)
    env = f"{at}.headGroupSpec.template.spec.containers[0].env"
    flags = f"{at}.headGroupSpec.rayStartParams"
    if params.get("redis-username"):
        yield Problem(flags, "Forbidden", f"delete redis-username and write it into {_OPTIONS}.redisUsername")
    if "REDIS_USERNAME" in variables:
        yield Problem(env, "Forbidden", f"delete REDIS_USERNAME and write it into {_OPTIONS}.redisUsername")
    if options is None:
        enabled = annotations.get(labels.FT_ENABLED, "").lower() == "true"
        if "RAY_REDIS_ADDRESS" in variables and not enabled:
            message = (
                f"RAY_REDIS_ADDRESS enables fault tolerance unknown to the operator: write {_OPTIONS}.redisAddress"
            )
            yield Problem(env, "Forbidden", message)
        return
    if annotations.get(labels.FT_ENABLED):
        message = f"{_OPTIONS} is set too: delete the annotation {labels.FT_ENABLED}"
        yield Problem(annotated, "Forbidden", message)
    if annotations.get(labels.EXTERNAL_STORAGE_NAMESPACE):
        message = (
            f"delete the annotation {labels.EXTERNAL_STORAGE_NAMESPACE} "
            f"and write it into {_OPTIONS}.externalStorageNamespace"
        )
        yield Problem(annotated, "Forbidden", message)
    if params.get("redis-password"):
        yield Problem(flags, "Forbidden", f"delete redis-password and write it into {_OPTIONS}.redisPassword")
    for variable, field in (("REDIS_PASSWORD", "redisPassword"), ("RAY_REDIS_ADDRESS", "redisAddress")):
        if variable in variables:
            yield Problem(env, "Forbidden", f"delete {variable} and write it into {_OPTIONS}.{field}")
    yield from _backend_problems(options, f"{at}.{_OPTIONS}")
    if options.backend == "rocksdb":
        yield from _taken_problems(spec, env, f"{at}.headGroupSpec.template.spec")


def _backend_problems(options: FaultTolerance, at: str) -> Iterator[Problem]:
    if options.backend not in _BACKENDS:
        yield Problem(f"{at}.backend", "Invalid", f"{options.backend!r} is not a backend: write redis or rocksdb")
        return
    if options.backend != "rocksdb":
        if not options.redis_address:
            message = "write where Redis listens, such as redisAddress: redis:6379, or backend: rocksdb to need none"
            yield Problem(f"{at}.redisAddress", "Required", message)
        if options.storage is not None:
            message = "storage is for backend rocksdb: write backend: rocksdb beside it, or delete it"
            yield Problem(f"{at}.storage", "Forbidden", message)
        return
    for field, value in (
        ("redisAddress", options.redis_address),
        ("redisUsername", options.redis_username),
        ("redisPassword", options.redis_password),
        ("externalStorageNamespace", options.external_storage_namespace),
    ):
        if value:
            yield Problem(f"{at}.{field}", "Forbidden", f"backend rocksdb needs no Redis: delete {field}")
    storage = options.storage
    if storage is not None and storage.claim_name:
        for field, value in (
            ("size", storage.size),
            ("storageClassName", storage.storage_class_name),
            ("accessModes", storage.access_modes),
        ):
            if value:
                message = f"a claim of your own has its own {field}: delete {field} or claimName"
                yield Problem(f"{at}.storage.{field}", "Forbidden", message)


def _taken_problems(spec: RayClusterSpec, env: str, pod: str) -> Iterator[Problem]:
    """Names in the head's pod that embedded storage needs for itself."""
    head = spec.head_group_spec.template
    for variable in _STORAGE_VARIABLES:
        if variable in template.environment(head):
            yield Problem(env, "Forbidden", f"the operator sets {variable}: delete it")
    if _STORAGE_VOLUME in template.volume_names(head):
        message = f"{_STORAGE_VOLUME} is the volume of the embedded storage: write another name"
        yield Problem(f"{pod}.volumes", "Forbidden", message)
    for name, path in template.mounts(head):
        if name == _STORAGE_VOLUME or path.rstrip("/") == _STORAGE_PATH:
            message = f"the embedded storage is mounted as {_STORAGE_VOLUME} at {_STORAGE_PATH}: mount elsewhere"
            yield Problem(f"{pod}.containers[0].volumeMounts", "Forbidden", message)
