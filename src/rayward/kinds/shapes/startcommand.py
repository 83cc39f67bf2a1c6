"""The ``ray start`` command of a node: its flags, and how it joins what the user runs before it."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any, Final

import msgspec

from rayward.kinds.raycluster import HeadGroup, RayCluster, WorkerGroup
from rayward.kinds.shapes import features
from rayward.kinds.shapes.metadata import Object
from rayward.kube.machinery import quantity

SHELL: Final = ("/bin/bash", "-c", "--")
AGENT_PORT: Final = "52365"
PLASMA_DIRECTORY: Final = "plasma-directory"

_METRICS_PORT: Final = "8080"
# As KubeRay 1.7: a variable of the container may ask for more or fewer.
_OPEN_FILES: Final = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}"
# The options that take "false" as a value; of every other one "false" means that it is not given.
_TAKES_FALSE: Final = frozenset(("log-color", "include-dashboard", "include-log-monitor"))
_ACCELERATORS: Final = {"aws.amazon.com/neuroncore": "neuron_cores", "google.com/tpu": "TPU"}
_is_slice: Final = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb$", re.ASCII).search
_QUOTES: Final = "'\"` "
_HTML: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_numbers: Final = msgspec.json.Decoder(dict[str, float | None])


def head_params(cluster: RayCluster) -> dict[str, str]:
    """The flags of the head, but for those that its container's resources give."""
    params = _params(cluster.spec.head_group_spec)
    params.setdefault("dashboard-host", "0.0.0.0")  # noqa: S104 -- inside a pod; other pods reach the dashboard
    _complete(params)
    if features.autoscaling(cluster):
        params["no-monitor"] = "true"
    options = cluster.spec.gcs_fault_tolerance_options
    if options is not None and not features.embedded_storage(cluster):
        if options.redis_username is not None:
            params["redis-username"] = "$REDIS_USERNAME"
        if options.redis_password is not None:
            params["redis-password"] = "$REDIS_PASSWORD"
    return params


def worker_params(cluster: RayCluster, group: WorkerGroup) -> dict[str, str]:
    """The flags of a worker, but for those that its container's resources give."""
    params = _params(group)
    params.setdefault("address", f"{features.head_address(cluster)}:{features.head_port(cluster)}")
    _complete(params)
    return params


def start_command(params: dict[str, str], resources: Object, *, head: bool) -> str:
    """``ray start`` with every flag, those of the container's resources included."""
    flags = _with_resources(params, resources)
    return f"ray start {'--head ' if head else ''}{_flags(flags)}"


def announced_resources(params: dict[str, str], resources: Object) -> dict[str, float | None]:
    """What a node tells Ray that it has; None where Ray finds out itself, or cannot read what is written."""
    flags = _with_resources(params, resources)
    found: dict[str, float | None] = {"CPU": _number(flags.get("num-cpus")), "memory": _number(flags.get("memory"))}
    if "num-gpus" in flags:
        found["GPU"] = _number(flags["num-gpus"])
    return {**found, **(_announced(flags.get("resources")) or {})}


def _with_resources(params: dict[str, str], resources: Object) -> dict[str, str]:
    flags = dict(params)
    limits: Object = resources.get("limits") or {}
    requests: Object = resources.get("requests") or {}
    if "num-cpus" not in flags and (cpus := _amount(limits.get("cpu")) or _amount(requests.get("cpu"))):
        flags["num-cpus"] = cpus
    if "memory" not in flags and (memory := _amount(limits.get("memory"))):
        flags["memory"] = memory
    _announce_accelerators(flags, limits)
    return flags


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def with_user_command(container: Object, command: str) -> str:
    """The container's whole command line: what the user runs, then Ray, which does not return."""
    before = user_command(container)
    line = f"{_OPEN_FILES}; {command}"
    return f"{before} && {line}" if before else line


def user_command(container: Object) -> str:
    """The user's command and arguments, as one line."""
    return "".join(f" {word} " for word in [*(container.get("command") or ()), *(container.get("args") or ())])


def is_gpu(resource: str) -> bool:
    """Whether a resource counts as GPUs: whole ones, or slices of NVIDIA's."""
    return resource.endswith("gpu") or _is_slice(resource) is not None


def _params(group: HeadGroup | WorkerGroup) -> dict[str, str]:
    params = dict(group.ray_start_params or {})
    custom: dict[str, float] = {}
    for name, text in sorted(features.resources_of_group(group).items()):
        try:
            amount = quantity.parse(text)
        except quantity.QuantityError:
            continue
        match name.lower():
            case "cpu":
                params["num-cpus"] = str(amount.as_int())
            case "memory":
                params["memory"] = str(amount.as_int())
            case lowered if is_gpu(lowered):
                params["num-gpus"] = str(amount.as_int())
            case _:
                custom[name] = _approximate(amount)
    if custom and all(map(math.isfinite, custom.values())):
        params["resources"] = _quoted_json(custom)
    if group.labels:
        params["labels"] = ",".join(f"{name}={value}" for name, value in sorted(group.labels.items()))
    return params


def _complete(params: dict[str, str]) -> None:
    params.setdefault("metrics-export-port", _METRICS_PORT)
    params["block"] = "true"
    params.setdefault("dashboard-agent-listen-port", AGENT_PORT)


def _amount(value: Any) -> str:
    """A quantity as a whole number; nothing for none."""
    try:
        amount = quantity.parse(value) if value is not None else quantity.ZERO
    except quantity.QuantityError:
        return ""
    return "" if amount.is_zero else str(amount.as_int())


def _announce_accelerators(flags: dict[str, str], limits: Object) -> None:
    custom = _announced(flags.get("resources"))
    if custom is None:
        return
    named = any(name in custom for name in _ACCELERATORS.values())
    for resource in sorted(limits):
        amount = _amount(limits[resource])
        if not amount:
            continue
        if is_gpu(resource):
            flags.setdefault("num-gpus", amount)
        if resource in _ACCELERATORS and not named:
            custom[_ACCELERATORS[resource]] = _approximate(quantity.parse(limits[resource]))
            flags["resources"] = _quoted_json(custom)
            named = True


def _announced(resources: str | None) -> dict[str, float] | None:
    """The user's own ``resources`` flag, if Ray's way of writing it can be read."""
    if resources is None:
        return {}
    try:
        read = _numbers.decode(resources.strip(_QUOTES))
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None
    return {name: amount or 0.0 for name, amount in read.items()}


def _flags(params: dict[str, str]) -> str:
    parts: list[str] = []
    for name, value in sorted(params.items()):
        is_switch = value.lower() in ("true", "false") and name not in _TAKES_FALSE
        if not is_switch:
            parts.append(f" --{name}={value} ")
        elif value.lower() == "true":
            parts.append(f" --{name} ")
    return "".join(parts)


def _approximate(amount: quantity.Quantity) -> float:
    # Kubernetes multiplies two floats here; 0.3 comes out as 0.30000000000000004 there and must here.
    try:
        return float(amount.unscaled) * float(f"1e{amount.scale}") if amount.scale else float(amount.unscaled)
    except OverflowError:
        return math.inf


def _quoted_json(numbers: dict[str, float]) -> str:
    parts = (f"{_json_text(name)}:{_json_number(number)}" for name, number in sorted(numbers.items()))
    return f"'{{{','.join(parts)}}}'"


def _json_text(text: str) -> str:
    return msgspec.json.encode(text).decode().translate(_HTML)


def _json_number(number: float) -> str:
    """A number as Go's JSON writes it."""
    text = repr(number)
    if 1e-6 <= abs(number) < 1e21 or number == 0:
        plain = format(Decimal(text), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent):+d}" if exponent else text
