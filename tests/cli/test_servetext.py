"""A serve config that is an object is stored as text."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from rayward.cli.failure import Code, CommandError
from rayward.cli.servetext import with_serve_text


def _service(config: Any) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"serveConfigV2": config, "rayClusterConfig": {"rayVersion": "2.60.0"}}}


def test_text_stays_as_it_is_to_the_byte() -> None:
    service = _service("applications:   []  # odd\n")

    assert with_serve_text(service) is service


def test_an_object_becomes_the_text_that_means_the_same() -> None:
    config = {"importPath": "app:entry", "deployments": [{"name": "D", "numReplicas": 2, "routePrefix": "/p"}]}

    stored = with_serve_text(_service(config))["spec"]["serveConfigV2"]

    (application,) = yaml.safe_load(stored)["applications"]
    assert application["import_path"] == "app:entry"
    assert application["route_prefix"] == "/p"
    assert application["deployments"] == [{"name": "D", "num_replicas": 2}]


def test_an_object_that_is_no_config_is_refused_and_the_place_is_named() -> None:
    with pytest.raises(CommandError) as refused:
        with_serve_text(_service({"applications": [{"name": "a"}]}))

    assert refused.value.code == Code.INVALID
    assert "import_path" in refused.value.why
