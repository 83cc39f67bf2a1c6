"""Mistakes in manifests are told at their own lines of the file."""

from __future__ import annotations

import pytest

from rayward.cli.failure import Code, CommandError
from rayward.cli.manifests import parse
from rayward.cli.precheck import check, hints, near_kind

_FILE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: code}
---
apiVersion: ray.io/v1
kind: RayService
metadata: {name: shop}
spec:
  serveConfigV2: |
    applications:
    - name: shop
      import_path: %s
      %s
  rayClusterConfig:
    rayVersion: 2.60.0
    headGroupSpec:
      template: {spec: {containers: [{name: ray, image: rayproject/ray:2.60.0}]}}
"""


def _check(path: str, more: str = "route_prefix: /") -> None:
    *_, manifest = parse((_FILE % (path, more)).encode(), "shop.yaml")
    check(manifest)


def test_a_mistake_in_the_serve_config_is_invalid_at_the_files_line() -> None:
    with pytest.raises(CommandError) as caught:
        _check("shop.py:app")
    assert caught.value.code is Code.INVALID
    assert caught.value.why.startswith("shop.yaml:12:7: ")


def test_what_works_otherwise_than_it_seems_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    _check("shop:Shop")
    assert "Warning: shop.yaml:12:7: Shop looks like a class" in capsys.readouterr().err
    _check("shop:app")
    assert capsys.readouterr().err == ""


def test_an_image_of_a_name_that_no_registry_has_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    text = (_FILE % ("shop:app", "route_prefix: /")).replace("rayproject/ray:2.60.0", '"not an image!!"')
    *_, manifest = parse(text.encode(), "shop.yaml")
    check(manifest)
    assert "Warning: shop.yaml:17:50: 'not an image!!' is not the name of an image" in capsys.readouterr().err


def test_an_unknown_field_has_its_place_and_what_was_meant() -> None:
    text = (_FILE % ("shop:app", "route_prefix: /")).replace("    rayVersion:", "    rayVersoin:")
    *_, manifest = parse(text.encode(), "shop.yaml")
    assert hints(manifest).startswith("shop.yaml:15:5: ")
    assert "rayVersion" in hints(manifest)


def test_a_kind_that_is_nearly_one_is_named() -> None:
    assert near_kind("RayServce", ["RayCluster", "RayJob", "RayService"]) == "RayService"
    assert near_kind("Pod", ["RayCluster", "RayJob", "RayService"]) == ""
