"""Rules for authentication, the autoscaler, the network policy, and what is not there yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rayward.kinds import rayversion
from rayward.kinds.raycluster import GroupNetworkRules, NetworkRules, RayClusterSpec
from rayward.kinds.validation import template
from rayward.kinds.validation.groups import AUTOSCALER_V2_VARIABLE, has_version_2, is_autoscaled
from rayward.kinds.validation.problem import Problem

_START_COMMAND: Final = "KUBERAY_GEN_AUTOSCALER_START_CMD"
_MODES: Final = ("disabled", "token")
_NETWORK_MODES: Final = ("DenyAll", "DenyAllIngress", "DenyAllEgress")


def authentication_problems(spec: RayClusterSpec, at: str) -> Iterator[Problem]:
    """What is wrong with ``authOptions``."""
    options = spec.auth_options
    if options is None:
        return
    at = f"{at}.authOptions"
    if options.mode and options.mode not in _MODES:
        yield Problem(f"{at}.mode", "Invalid", f"{options.mode!r} is not a mode: write token or disabled")
    by_kubernetes = bool(options.enable_k8s_token_auth)
    if options.mode != "token":
        if by_kubernetes:
            message = "works in token mode only: write mode: token beside it, or delete it"
            yield Problem(f"{at}.enableK8sTokenAuth", "Invalid", message)
        return
    least = (2, 55) if by_kubernetes else (2, 52)
    if not rayversion.at_least(spec.ray_version, *least):
        given = f"is {spec.ray_version!r}" if spec.ray_version else "is not set"
        what = "enableK8sTokenAuth" if by_kubernetes else "mode: token"
        message = (
            f"{what} needs Ray {least[0]}.{least[1]} or later and rayVersion {given}: "
            "write the version of Ray in the image, such as rayVersion: 2.60.0"
        )
        yield Problem(f"{at}.mode", "Invalid", message)
    if by_kubernetes and options.secret_name:
        message = "Kubernetes' tokens need no secret: delete secretName or enableK8sTokenAuth"
        yield Problem(f"{at}.secretName", "Forbidden", message)


def autoscaler_problems(spec: RayClusterSpec, at: str) -> Iterator[Problem]:
    """What is wrong with the autoscaler's options."""
    options = spec.autoscaler_options
    variable = template.environment(spec.head_group_spec.template).get(AUTOSCALER_V2_VARIABLE)
    env = f"{at}.headGroupSpec.template.spec.containers[0].env"
    if not is_autoscaled(spec):
        if variable in ("1", "true"):
            message = (
                f"{AUTOSCALER_V2_VARIABLE} asks for autoscaler v2 and the autoscaler is off: "
                "write enableInTreeAutoscaling: true, or delete the variable"
            )
            yield Problem(env, "Invalid", message)
    elif options is not None and options.version is not None and variable is not None:
        message = f"autoscalerOptions.version is set too: delete the variable {AUTOSCALER_V2_VARIABLE}"
        yield Problem(env, "Forbidden", message)
    restarting = template.restart_policy(spec.head_group_spec.template) not in ("", "Never")
    if is_autoscaled(spec) and has_version_2(spec) and restarting:
        message = "with autoscaler v2 pods are replaced, not restarted: delete restartPolicy or write Never"
        yield Problem(f"{at}.headGroupSpec.template.spec.restartPolicy", "Invalid", message)
    if options is None:
        return
    if options.idle_timeout_seconds is not None and options.idle_timeout_seconds < 0:
        message = f"{options.idle_timeout_seconds} is less than 0: write 0 or more"
        yield Problem(f"{at}.autoscalerOptions.idleTimeoutSeconds", "Invalid", message)
    if _START_COMMAND in template.env_names(options.env):
        message = f"{_START_COMMAND} is set by the operator: delete it; command and args replace the command"
        yield Problem(f"{at}.autoscalerOptions.env", "Forbidden", message)


def network_problems(spec: RayClusterSpec, at: str) -> Iterator[Problem]:
    """What is wrong with ``networkPolicy``."""
    policy = spec.network_policy
    if policy is None:
        return
    at = f"{at}.networkPolicy"
    if policy.mode and policy.mode not in _NETWORK_MODES:
        yield Problem(
            f"{at}.mode", "Invalid", f"{policy.mode!r} is not a mode: write one of {', '.join(_NETWORK_MODES)}"
        )
    yield from _direction_problems(policy.head, policy.mode, f"{at}.head")
    yield from _direction_problems(policy.worker, policy.mode, f"{at}.worker")
    known = {group.group_name for group in spec.worker_group_specs or ()}
    seen: set[str] = set()
    for index, rules in enumerate(policy.worker_groups or ()):
        place = f"{at}.workerGroups[{index}]"
        if rules.group_name not in known:
            message = f"there is no group {rules.group_name!r}: write the groupName of one of workerGroupSpecs"
            yield Problem(f"{place}.groupName", "Invalid", message)
        if rules.group_name in seen:
            message = f"group {rules.group_name!r} has rules already: write them into one entry"
            yield Problem(f"{place}.groupName", "Duplicate", message)
        seen.add(rules.group_name)
        yield from _direction_problems(rules, policy.mode, place)


def feature_problems(spec: RayClusterSpec, at: str) -> Iterator[Problem]:
    """What is asked for and not there."""
    if spec.history_server_options is not None:
        message = "Rayward has no history server: delete historyServerOptions"
        yield Problem(f"{at}.historyServerOptions", "FeatureNotAvailable", message)
    if spec.tls_options is not None and spec.tls_options.get("enabled") not in (None, False):
        message = (
            "Rayward makes no certificates for Ray: delete tlsOptions, "
            "and set RAY_USE_TLS and its files in the templates if you have certificates"
        )
        yield Problem(f"{at}.tlsOptions", "FeatureNotAvailable", message)


def _direction_problems(rules: NetworkRules | GroupNetworkRules | None, mode: str | None, at: str) -> Iterator[Problem]:
    if rules is None:
        return
    idle = {
        "DenyAllEgress": ("ingressRules", rules.ingress_rules),
        "DenyAllIngress": ("egressRules", rules.egress_rules),
    }
    field, given = idle.get(mode or "", ("", None))
    if given:
        message = f"mode {mode} denies nothing that {field} could allow: delete {field}, or write mode: DenyAll"
        yield Problem(f"{at}.{field}", "Invalid", message)
