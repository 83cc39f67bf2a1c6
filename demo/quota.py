"""A service in a queue that it fills: its upgrade waits for quota, and the release that serves goes on."""

from __future__ import annotations

from demo.shell import ROOT, rayward, show, until

_BLOCKED_BY_QUOTA = 7
_HOLDS = "holds  RayService default/queued"
_SAMPLE = ROOT / "samples" / "quota.yaml"


def show_quota() -> None:
    """The queue has room for one release; with room for two the upgrade goes on."""
    show("\n# a service that fills its queue: an upgrade waits for quota, and says for how much and who has it")
    rayward("apply", "-f", "samples/quota.yaml", "--wait")
    bumped = _SAMPLE.read_text().replace('rayVersion: "2.60.0"', 'rayVersion: "2.60.1"')
    rayward("apply", "-f", "-", given=bumped, code=_BLOCKED_BY_QUOTA)
    rayward("quota")
    show("\n# with more quota the upgrade is admitted; the old release gives its own back when its last pod is gone")
    raised = bumped.replace('nominalQuota: "1"', 'nominalQuota: "2"').replace("nominalQuota: 2Gi", "nominalQuota: 4Gi")
    rayward("apply", "-f", "-", "--wait", given=raised)
    until(lambda: rayward("quota", quiet=True).count(_HOLDS) == 1, "the old quota returns", "rayward quota")
    rayward("quota")
