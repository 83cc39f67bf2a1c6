"""What a pod was made from, and what has changed since."""

from __future__ import annotations

import base64
import random
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds import shapes
from tests.kinds.shapes.sample import Object, cluster, template

_PLAIN: Object = {"template": template({"resources": {"limits": {"cpu": "1"}}, "env": [{"name": "A", "value": "1"}]})}


def _record(spec: Object | None = None, group: Object | None = None, **more: Any) -> str:
    made = cluster(spec, groups=[{**_PLAIN, **(group or {})}], **more)
    return shapes.template_record(made.groups[0], made)


def _changed(container: Object) -> Object:
    return {"template": template({**_PLAIN["template"]["spec"]["containers"][0], **container})}


@pytest.mark.parametrize(
    ("changed", "paths"),
    [
        ({"group": _changed({"image": "ray:2"})}, ["spec.containers[ray].image"]),
        ({"group": _changed({"resources": {"limits": {"cpu": "2"}}})}, ["spec.containers[ray].resources.limits.cpu"]),
        ({"group": _changed({"resources": {"limits": {"cpu": "1000m"}}})}, []),
        ({"group": _changed({"env": [{"name": "A", "value": "2"}]})}, ["spec.containers[ray].env[A].value"]),
        ({"group": _changed({"env": [{"name": "B"}, {"name": "A", "value": "1"}]})}, ["spec.containers[ray].env[B]"]),
        ({"group": _changed({"env": []})}, ["spec.containers[ray].env[A]"]),
        ({"group": _changed({"command": ["a"]})}, ["spec.containers[ray].command"]),
        ({"group": _changed({"command": None, "ports": [], "securityContext": {}})}, []),
        (
            {"group": {"template": {**_PLAIN["template"], "metadata": {"labels": {"a/b": "c"}}}}},
            ["metadata.labels[a/b]"],
        ),
        ({"group": {"rayStartParams": {"num-cpus": "1"}}}, ["rayStartParams.num-cpus"]),
        ({"group": {"resources": {"CPU": "1"}}}, ["resources.CPU"]),
        ({"group": {"rayResources": {"CPU": "1"}}}, ["resources.CPU"]),
        ({"group": {"labels": {"zone": "a"}}}, ["labels.zone"]),
        ({"spec": {"rayVersion": "2.60.0"}}, ["rayVersion"]),
        ({"spec": {"authOptions": {"mode": "token"}}}, ["authOptions.mode"]),
        (
            {"group": {"replicas": 7, "minReplicas": 1, "maxReplicas": 9, "scaleStrategy": {"workersToDelete": ["a"]}}},
            [],
        ),
        ({"spec": {"suspend": True, "upgradeStrategy": {"type": "Recreate"}}}, []),
        ({"head": {"template": template({"image": "other"})}}, []),
        ({"head": {"rayStartParams": {"port": "1"}}}, ["head"]),
        ({"annotations": {"rayward.dev/rolling-update": "workers"}}, []),
    ],
)
def test_what_changed_is_named(changed: Object, paths: list[str]) -> None:
    assert shapes.drift(_record(), _record(**changed)) == paths


def test_the_pace_of_the_autoscaler_is_not_the_heads() -> None:
    def record(options: Object) -> str:
        made = cluster({"enableInTreeAutoscaling": True, "autoscalerOptions": options})
        return shapes.template_record(made.spec.head_group_spec, made)

    before = record({"idleTimeoutSeconds": 1})

    assert shapes.drift(before, record({"idleTimeoutSeconds": 2, "upscalingMode": "Default"})) == []
    assert shapes.drift(before, record({"image": "own"})) == ["autoscalerOptions.image"]


def test_every_pod_carries_its_record() -> None:
    made = cluster()
    head, worker = shapes.head_pod(made, "h"), shapes.worker_pod(made, made.groups[0], "w")

    kept = [pod["metadata"]["annotations"]["rayward.dev/template"] for pod in (head, worker)]

    assert kept == [shapes.template_record(group, made) for group in (made.spec.head_group_spec, made.groups[0])]


def test_a_large_template_is_packed_and_a_huge_one_is_a_digest() -> None:
    noise = random.Random(1).randbytes(200_000).hex()
    large, huge = (_record(group=_changed({"args": [text]})) for text in ("x" * 100_000, noise))
    other = _record(group=_changed({"args": [noise[1:]]}))

    assert len(large) < 1000
    assert shapes.drift(_record(), large) == ["spec.containers[ray].args"]
    assert len(huge) < 300
    assert shapes.drift(huge, huge) == []
    for digests in (2, 3):
        assert shapes.drift(":".join(huge.split(":")[:digests]), huge) == [], "as an older release recorded it"
    respelled = _record(group=_changed({"args": [noise], "lifecycle": {}}))
    assert respelled != huge
    assert shapes.drift(huge, respelled) == []
    assert shapes.drift(huge, other) == shapes.drift(_record(), huge) == ["template"]


def test_nothing_is_known_of_a_pod_without_a_record() -> None:
    assert shapes.drift("", _record()) == []


def test_an_unknown_template_shows_and_counts_as_outdated_once_the_spec_is_changed_again() -> None:
    current, later = _record(), _record(spec={"rayVersion": "2.60.0"})
    unknown = shapes.unknown_template(current)

    (path,) = shapes.drift(unknown, current)

    assert "not known" in path
    assert not shapes.is_outdated(unknown, current)
    assert shapes.is_outdated(unknown, later)
    assert shapes.is_outdated(current, later)
    assert not shapes.is_outdated(current, current)


def _bomb() -> str:
    return "zlib:" + base64.b64encode(zlib.compress(b" " * 50_000_000, 9)).decode()


@pytest.mark.parametrize(
    "record", ["zlib:", "zlib:!!!!", "zlib:AAAA", "{", "[]", "null", "1", "\ud800", "[" * 100_000, _bomb(), "zlib:é"]
)
def test_a_damaged_record_is_itself_what_differs(record: str) -> None:
    assert shapes.drift(record, _record()) == ["metadata.annotations[rayward.dev/template]"]


@given(record=st.text(max_size=50), cut=st.integers(0, 400), flip=st.integers(0, 255))
def test_no_record_does_harm(record: str, cut: int, flip: int) -> None:
    current = _record(group=_changed({"args": ["x" * 2000]}))
    broken = current[:cut] + chr(flip) + current[cut + 1 :]

    for damaged in (record, broken, current[:cut]):
        assert isinstance(shapes.drift(damaged, current), list)
        assert isinstance(shapes.drift(current, damaged), list)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "b"]), inner, max_size=3),
    max_leaves=12,
)


@given(before=_json, after=_json)
def test_any_two_templates_can_be_compared(before: Any, after: Any) -> None:
    records = [
        shapes.template_record(made.groups[0], made)
        for made in (cluster(groups=[{"template": {"spec": value}}]) for value in (before, after))
    ]

    assert shapes.drift(records[0], records[0]) == []
    assert len(shapes.drift(records[0], records[1])) <= 50
    assert bool(shapes.drift(*records)) == bool(shapes.drift(*reversed(records)))
