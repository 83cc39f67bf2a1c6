"""What a record says of an edit."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from rayward.changes.specdiff import HIDDEN, spec_diff
from tests.kinds.clusters import changed, manifest

_CLUSTER = manifest()["spec"]
_ENV = "headGroupSpec.template.spec.containers.0.env"


def _edit(path: str, before: Any, after: Any) -> str:
    old, new = (changed(_CLUSTER, path, value) for value in (before, after))
    return spec_diff(old, new)


def test_each_field_has_its_value_before_and_after() -> None:
    edited = changed(_CLUSTER, "rayVersion", "2.61.0")
    edited = changed(edited, "workerGroupSpecs.0.replicas", 3)
    assert spec_diff(_CLUSTER, edited).splitlines() == [
        "spec.rayVersion: 2.60.0 -> 2.61.0",
        "spec.workerGroupSpecs[small].replicas: 1 -> 3",
    ]
    assert _edit("suspend", None, True) == "spec.suspend: (none) -> true"
    assert _edit("suspend", False, None) == "spec.suspend: false -> (none)"
    assert spec_diff(_CLUSTER, _CLUSTER) == ""


def test_a_document_in_a_field_is_compared_by_its_own_fields() -> None:
    def config(path: str) -> str:
        return yaml.safe_dump({"applications": [{"name": "a", "import_path": path}]})

    found = spec_diff({"serveConfigV2": config("app:one")}, {"serveConfigV2": config("app:two")})
    assert found == "spec.serveConfigV2.applications[a].import_path: app:one -> app:two"
    same = yaml.safe_dump({"applications": [{"import_path": "app:one", "name": "a"}]}, default_flow_style=True)
    assert spec_diff({"serveConfigV2": config("app:one")}, {"serveConfigV2": same}) == ""
    broken = spec_diff({"serveConfigV2": config("app:one")}, {"serveConfigV2": "{nope"})
    assert broken.endswith("-> {nope")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (_ENV, [{"name": "DB_PASSWORD", "value": "one"}], [{"name": "DB_PASSWORD", "value": "s3cr3t"}]),
        (_ENV, None, [{"name": "WANDB_API_KEY", "value": "s3cr3t"}, {"name": "A", "value": "b"}]),
        (_ENV, None, [{"name": "STORE", "value": "redis://ann:s3cr3t@redis:6379"}]),
        ("headGroupSpec.rayStartParams", {"redis-password": "s3cr3t"}, {}),
        ("gcsFaultToleranceOptions.redisPassword", {"value": "one"}, {"value": "s3cr3t"}),
        ("runtimeEnvYAML", "env_vars: {A: b}", "env_vars: {HF_TOKEN: s3cr3t}"),
        ("entrypoint", "python a.py", "AWS_SECRET_ACCESS_KEY=s3cr3t python a.py"),
        (
            "headGroupSpec.template.spec.initContainers",
            [],
            [{"name": "i", "env": [{"name": "TOKEN", "value": "s3cr3t"}]}],
        ),
        ("headGroupSpec.template.spec.containers.0.args", [], ["--token=s3cr3t", "--port=1"]),
    ],
)
def test_what_looks_like_a_secret_is_hidden_and_the_edit_is_told(path: str, before: Any, after: Any) -> None:
    found = _edit(path, before, after)
    assert "s3cr3t" not in found
    assert HIDDEN in found


def test_references_to_secrets_are_shown() -> None:
    old, new = ([{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}] for name in "ab")
    assert _edit(_ENV, old, new).endswith("env[DB_PASSWORD].valueFrom.secretKeyRef.name: a -> b")
    volumes = [[{"name": "v", "secret": {"secretName": name}}] for name in ("one", "two")]
    assert _edit("headGroupSpec.template.spec.volumes", *volumes).endswith("secret.secretName: one -> two")


def test_settings_of_models_are_no_secrets() -> None:
    found = spec_diff({"a": {"max_tokens": 1, "tokenizer": "x"}}, {"a": {"max_tokens": 2, "tokenizer": "y"}})
    assert found.splitlines() == ["spec.a.max_tokens: 1 -> 2", "spec.a.tokenizer: x -> y"]


def test_its_length_is_bounded() -> None:
    long = {"rayStartParams": {f"{'n' * 500}{number}": "x" * 10_000 for number in range(500)}}
    lines = spec_diff({}, long).splitlines()
    assert lines[-1] == "and 488 more fields"
    assert len(lines) == 13
    assert all(len(line) < 400 for line in lines)
