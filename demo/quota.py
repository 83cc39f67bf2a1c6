"""An upgrade that has to wait for quota, and goes on when somebody else has ended."""

from __future__ import annotations

import json
from typing import Any

import yaml

from demo.load import Load
from demo.shell import ROOT, rayward, show, until

_NEXT = "rayward quota"
_RATE = 50
_BATCH_CPUS = "5"
"""Of the queue's 8, beside the 2 that the service holds: too few are left for a second release."""


def show_quota(address: str) -> None:
    """The service at ``address`` is upgraded while another cluster holds what its new release needs."""
    show("\n# a cluster takes most of the machine's quota; an upgrade of the service has to wait for it")
    rayward("apply", "-f", "-", given=_batch())
    until(lambda: _quota("raycluster", "batch")[0] == "True", "RayCluster batch has quota", _NEXT)
    host, _, port = address.partition(":")
    manifest = (ROOT / "samples" / "rayservice.yaml").read_text()
    with Load(host, int(port), rate=_RATE) as load:
        rayward("apply", "-f", "-", given=manifest.replace('name: RELEASE, value: "1"', 'name: RELEASE, value: "4"'))
        until(lambda: _quota("rayservice", "hello")[0] == "False", "the upgrade waits for quota", _NEXT)
        show(f"\nQuotaReserved: {_quota('rayservice', 'hello')[1]}")
        rayward("quota")
        show("\n# the cluster goes, its quota returns with its last pod, and the upgrade is admitted")
        rayward("delete", "raycluster", "batch")
        until(lambda: load.tally.answered["4"] > _RATE, "the new release answers", _NEXT)
        tally = load.stop()
    show(f"\n{tally.sent} requests at {_RATE}/s, {len(tally.lost)} lost, answered by release {dict(tally.answered)}")
    if tally.lost:
        raise SystemExit(f"error: requests were lost, the first: {tally.lost[0]}\n  next: {_NEXT}")


def _batch() -> str:
    found: dict[str, Any] = yaml.safe_load((ROOT / "samples" / "raycluster.yaml").read_text())
    found["metadata"]["name"] = "batch"
    found["spec"]["workerGroupSpecs"] = []
    (container,) = found["spec"]["headGroupSpec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": _BATCH_CPUS, "memory": "2Gi"}}
    return yaml.safe_dump(found)


def _quota(kind: str, name: str) -> tuple[str, str]:
    """Status and message of the condition, of the generation that is asked for now."""
    found: dict[str, Any] = json.loads(rayward("get", kind, name, "-o", "json", quiet=True))
    status: dict[str, Any] = found.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition["type"] == "QuotaReserved" and condition["observedGeneration"] == found["metadata"]["generation"]:
            return condition["status"], condition["message"]
    return "", ""
