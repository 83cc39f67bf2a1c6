from __future__ import annotations

import pytest

from rayward.kinds.serveconfig.keys import APPLICATION, TOP, Words
from tests.kinds.servekeys import recorded


def _below(words: Words, *names: str) -> Words:
    for name in names:
        words = words[name] or {}
    return words


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (TOP, "ServeDeploySchema"),
        (APPLICATION, "ServeApplicationSchema"),
        (_below(APPLICATION, "deployments"), "DeploymentSchema"),
        (_below(APPLICATION, "deployments", "ray_actor_options"), "RayActorOptionsSchema"),
        (_below(APPLICATION, "deployments", "autoscaling_config"), "AutoscalingConfig"),
        (_below(APPLICATION, "deployments", "autoscaling_config", "policy"), "AutoscalingPolicy"),
        (_below(APPLICATION, "deployments", "backpressure_config"), "BackpressureConfig"),
        (_below(APPLICATION, "deployments", "request_router_config"), "RequestRouterConfig"),
        (_below(APPLICATION, "deployments", "gang_scheduling_config"), "GangSchedulingConfig"),
        (_below(APPLICATION, "deployments", "deployment_actors"), "DeploymentActorConfig"),
        (_below(APPLICATION, "logging_config"), "LoggingConfig"),
        (_below(TOP, "http_options"), "HTTPOptionsSchema"),
        (_below(TOP, "grpc_options"), "gRPCOptionsSchema"),
        (_below(TOP, "tracing_config"), "TracingConfig"),
        (_below(TOP, "controller_options"), "ControllerOptions"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_the_words_are_rays(words: Words, model: str) -> None:
    assert sorted(words) == recorded()[model]
