"""The words of Ray Serve's configuration, as Ray 2.60 knows them.

A table of our own; a test holds it against the names that Ray's source declares.
"""

from __future__ import annotations

from typing import Final

RAY_VERSION: Final = (2, 60)

Words = dict[str, "Words | None"]
"""Names of one level, each with the level below; None where what is below is the user's own."""

OPEN: Final = frozenset(("runtime_env",))
"""Levels to which plugins of Ray add words: a word that is not known is no mistake there."""

_RUNTIME_ENV: Final[Words] = dict.fromkeys(
    (
        "py_modules",
        "py_executable",
        "java_jars",
        "working_dir",
        "conda",
        "pip",
        "uv",
        "container",
        "image_uri",
        "excludes",
        "env_vars",
        "config",
        "worker_process_setup_hook",
    )
)
_LOGGING: Final[Words] = dict.fromkeys(
    ("encoding", "log_level", "logs_dir", "enable_access_log", "additional_log_standard_attrs")
)
_HTTP: Final[Words] = dict.fromkeys(
    (
        "host",
        "port",
        "root_path",
        "request_timeout_s",
        "keep_alive_timeout_s",
        "ssl_keyfile",
        "ssl_certfile",
        "ssl_keyfile_password",
        "ssl_ca_certs",
    )
)
_GRPC: Final[Words] = dict.fromkeys(("port", "grpc_servicer_functions", "request_timeout_s", "enable_reflection"))
_TRACING: Final[Words] = dict.fromkeys(("enabled", "exporter_import_path", "sampling_ratio"))
_ACTOR: Final[Words] = {
    **dict.fromkeys(
        ("num_cpus", "num_gpus", "memory", "resources", "accelerator_type", "label_selector", "fallback_strategy")
    ),
    "runtime_env": _RUNTIME_ENV,
}
_AUTOSCALING: Final[Words] = {
    **dict.fromkeys(
        (
            "min_replicas",
            "initial_replicas",
            "max_replicas",
            "target_ongoing_requests",
            "metrics_interval_s",
            "look_back_period_s",
            "smoothing_factor",
            "upscale_smoothing_factor",
            "downscale_smoothing_factor",
            "upscaling_factor",
            "downscaling_factor",
            "downscale_delay_s",
            "downscale_to_zero_delay_s",
            "upscale_delay_s",
            "aggregation_function",
        )
    ),
    "policy": dict.fromkeys(("policy_function", "policy_kwargs")),
}
_ROUTER: Final[Words] = dict.fromkeys(
    (
        "request_router_class",
        "request_router_kwargs",
        "request_routing_stats_period_s",
        "request_routing_stats_timeout_s",
        "initial_backoff_s",
        "backoff_multiplier",
        "max_backoff_s",
    )
)
_DEPLOYMENT: Final[Words] = {
    **dict.fromkeys(
        (
            "name",
            "num_replicas",
            "max_ongoing_requests",
            "max_queued_requests",
            "user_config",
            "graceful_shutdown_wait_loop_s",
            "graceful_shutdown_timeout_s",
            "health_check_period_s",
            "health_check_timeout_s",
            "placement_group_bundles",
            "placement_group_strategy",
            "placement_group_bundle_label_selector",
            "max_replicas_per_node",
            "rolling_update_percentage",
            "max_surge_percent",
        )
    ),
    "backpressure_config": dict.fromkeys(("status_code", "retry_after_s")),
    "autoscaling_config": _AUTOSCALING,
    "ray_actor_options": _ACTOR,
    "logging_config": _LOGGING,
    "request_router_config": _ROUTER,
    "gang_scheduling_config": dict.fromkeys(("gang_size", "gang_placement_strategy", "runtime_failure_policy")),
    "deployment_actors": dict.fromkeys(("name", "actor_class", "init_args", "init_kwargs", "actor_options")),
}
APPLICATION: Final[Words] = {
    **dict.fromkeys(("name", "route_prefix", "import_path", "args", "host", "port", "external_scaler_enabled")),
    "runtime_env": _RUNTIME_ENV,
    "deployments": _DEPLOYMENT,
    "autoscaling_policy": dict.fromkeys(("policy_function", "policy_kwargs")),
    "logging_config": _LOGGING,
}
TOP: Final[Words] = {
    **dict.fromkeys(("proxy_location", "target_capacity")),
    "http_options": _HTTP,
    "grpc_options": _GRPC,
    "controller_options": {"runtime_env": _RUNTIME_ENV},
    "logging_config": _LOGGING,
    "tracing_config": _TRACING,
    "applications": APPLICATION,
}

RENAMED: Final = {
    "max_concurrent_queries": "max_ongoing_requests",
    "target_num_ongoing_requests_per_replica": "target_ongoing_requests",
}
"""Words of older Rays, which a newer one passes over in silence."""
