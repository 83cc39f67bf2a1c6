"""The ``ray start`` command."""

from __future__ import annotations

import pytest

from rayward.kinds.shapes import startcommand
from tests.kinds.shapes.sample import Object, cluster


def _worker_flags(group: Object, resources: Object | None = None) -> list[str]:
    made = cluster(groups=[group])
    params = startcommand.worker_params(made, made.groups[0])
    command = startcommand.start_command(params, resources or {}, head=False)
    usual = {"--block", "--metrics-export-port=8080", "--dashboard-agent-listen-port=52365"}
    usual.add("--address=demo-head-svc.lab.svc.cluster.local:6379")
    return [flag for flag in command.removeprefix("ray start ").split() if flag not in usual]


def test_flags_are_sorted_and_complete() -> None:
    made = cluster()

    head = startcommand.start_command(startcommand.head_params(made), {}, head=True)
    worker = startcommand.start_command(startcommand.worker_params(made, made.groups[0]), {}, head=False)

    assert head == (
        "ray start --head  --block  --dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0 "
        " --metrics-export-port=8080 "
    )
    assert worker == (
        "ray start  --address=demo-head-svc.lab.svc.cluster.local:6379  --block  --dashboard-agent-listen-port=52365 "
        " --metrics-export-port=8080 "
    )


@pytest.mark.parametrize(
    ("given", "flag"),
    [
        ({"verbose": "true"}, ["--verbose"]),
        ({"verbose": "False"}, []),
        ({"log-color": "false"}, ["--log-color=false"]),
        ({"include-dashboard": "TRUE"}, ["--include-dashboard=TRUE"]),
        ({"include-log-monitor": "false"}, ["--include-log-monitor=false"]),
        ({"block": "false"}, []),
        ({"x": ""}, ["--x="]),
    ],
)
def test_switches_and_values(given: dict[str, str], flag: list[str]) -> None:
    assert _worker_flags({"rayStartParams": given}) == flag


@pytest.mark.parametrize(
    ("resources", "flags"),
    [
        ({"limits": {"cpu": "1500m", "memory": "1Gi"}}, ["--memory=1073741824", "--num-cpus=2"]),
        ({"limits": {"memory": "1k"}, "requests": {"cpu": 3, "memory": "9k"}}, ["--memory=1000", "--num-cpus=3"]),
        ({"limits": {"cpu": "0"}, "requests": {"cpu": "2"}}, ["--num-cpus=2"]),
        ({"requests": {"memory": "1Gi"}}, []),
        ({"limits": {"nvidia.com/gpu": "2"}}, ["--num-gpus=2"]),
        ({"limits": {"nvidia.com/mig-1g.5gb": 1}}, ["--num-gpus=1"]),
        ({"limits": {"nvidia.com/gpu-memory": 1}}, []),
        ({"limits": {"google.com/tpu": "4"}}, ["--resources='{\"TPU\":4}'"]),
        ({"limits": {"google.com/tpu": "4", "aws.amazon.com/neuroncore": 2}}, ["--resources='{\"neuron_cores\":2}'"]),
        ({"limits": {"google.com/tpu": "0"}}, []),
    ],
)
def test_what_the_container_may_use_is_announced(resources: Object, flags: list[str]) -> None:
    assert _worker_flags({}, resources) == flags


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ("'{\"A\":1}'", ["--num-gpus=1", '--resources=\'{"A":1,"TPU":4}\'']),
        ("'{\"TPU\":1}'", ["--num-gpus=1", "--resources='{\"TPU\":1}'"]),
        ("unreadable", ["--resources=unreadable"]),
    ],
)
def test_accelerators_join_the_users_own_resources(given: str, flags: list[str]) -> None:
    limits = {"google.com/tpu": "4", "nvidia.com/gpu": "1"}

    assert _worker_flags({"rayStartParams": {"resources": given}}, {"limits": limits}) == flags


@pytest.mark.parametrize("field", ["resources", "rayResources"])
def test_resources_of_the_group_win(field: str) -> None:
    group = {field: {"CPU": "1500m", "memory": "1Ki", "GPU": "2", "b": "0.3", "a<": "1n", "c": "1e21", "bad": "one"}}

    assert _worker_flags(group, {"limits": {"cpu": "9", "memory": "9", "amd.com/gpu": "9"}}) == [
        "--memory=1024",
        "--num-cpus=2",
        "--num-gpus=2",
        '--resources=\'{"a\\u003c":1e-9,"b":0.30000000000000004,"c":1e+21}\'',
    ]


def test_ray_resources_may_be_numbers() -> None:
    assert _worker_flags({"rayResources": {"CPU": 4, "a": 1}}) == ["--num-cpus=4", "--resources='{\"a\":1}'"]


def test_labels_of_the_group_become_a_flag() -> None:
    assert _worker_flags({"labels": {"zone": "a", "b": ""}}) == ["--labels=b=,zone=a"]


@pytest.mark.parametrize(
    ("container", "line"),
    [
        ({}, "FILES; RAY"),
        ({"command": ["echo", "a b"], "args": ["c"]}, " echo  a b  c  && FILES; RAY"),
        ({"args": ["c"]}, " c  && FILES; RAY"),
        ({"command": None, "args": []}, "FILES; RAY"),
    ],
)
def test_the_users_command_comes_first(container: Object, line: str) -> None:
    files = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}"
    assert startcommand.with_user_command(container, "RAY") == line.replace("FILES", files)
