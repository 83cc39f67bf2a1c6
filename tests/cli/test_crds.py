from __future__ import annotations

import pytest
import yaml
from click.testing import CliRunner

from rayward.cli.crds import command
from rayward.kinds import crds


@pytest.mark.parametrize(
    ("arguments", "plurals"), [([], crds.PLURALS), (["rayservices"], ("rayservices",))], ids=["all", "one"]
)
def test_the_definitions_are_printed_as_they_are(arguments: list[str], plurals: tuple[str, ...]) -> None:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0
    printed = list(yaml.load_all(done.output, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    assert printed == [crds.manifest(plural) for plural in plurals]


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    done = CliRunner().invoke(command, ["pods"])
    assert done.exit_code == 2
    assert "rayclusters" in done.output


def test_health_checks_for_argocd_are_a_config_map_of_every_kind() -> None:
    done = CliRunner().invoke(command, ["--argocd"])
    assert done.exit_code == 0
    printed = yaml.safe_load(done.output)
    assert printed == crds.argocd_config()
    kinds = {crds.manifest(plural)["spec"]["names"]["kind"] for plural in crds.PLURALS}
    assert set(printed["data"]) == {f"resource.customizations.health.ray.io_{kind}" for kind in kinds}
    assert CliRunner().invoke(command, ["--argocd", "rayjobs"]).exit_code == 2
