from __future__ import annotations

from typing import Any

import pytest

from rayward.changes.intents import AnnotatePods, SetField
from rayward.changes.outcomes import Invalid
from rayward.changes.refs import Ref
from rayward.changes.rollouts import retry
from rayward.kube.machinery.jsonvalue import Object

SHOP = Ref("RayService", "shop", "team")
NOW = "2026-01-01T00:00:00Z"


def live(*conditions: tuple[str, str, str, int], config: str = "applications: []\n", **spec: Any) -> Object:
    found = [
        {"type": kind, "status": status, "reason": reason, "observedGeneration": generation}
        for kind, status, reason, generation in conditions
    ]
    return {"metadata": {"generation": 3}, "spec": {"serveConfigV2": config, **spec}, "status": {"conditions": found}}


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (live(("Progressing", "True", "NewReleaseAvailable", 3)), "NewReleaseAvailable"),
        (live(("Progressing", "False", "SuspendComplete", 3)), "SuspendComplete"),
        (live(("Progressing", "False", "ValidationFailed", 3)), "ValidationFailed"),
        (live(), "no condition ReleaseFailed"),
        (live(("ReleaseFailed", "True", "Aborted", 2), ("Progressing", "True", "Creating", 3)), "Creating"),
    ],
    ids=["serves", "suspended", "rejected", "no status yet", "an edit came after it"],
)
def test_what_was_never_given_up_is_not_retried(found: Object, why: str) -> None:
    with pytest.raises(Invalid, match="no upgrade that was given up") as refused:
        retry(SHOP, found, NOW)
    assert why in refused.value.why


def test_a_release_that_was_given_up_gets_a_new_cluster() -> None:
    found = live(("ReleaseFailed", "True", "Aborted", 3))
    assert retry(SHOP, found, NOW) == (AnnotatePods("kubectl.kubernetes.io/restartedAt", NOW, "head"),)


@pytest.mark.parametrize("earlier", ["", "# rayward retry 2025-01-01T00:00:00Z\n"])
def test_a_service_that_keeps_its_cluster_tries_its_config_again(earlier: str) -> None:
    written = f"# ours\napplications: []\n{earlier}"
    found = live(("ReleaseFailed", "True", "X", 3), config=written, upgradeStrategy={"type": "None"})
    config = f"# ours\napplications: []\n# rayward retry {NOW}\n"
    assert retry(SHOP, found, NOW) == (SetField("serveConfigV2", config),)
