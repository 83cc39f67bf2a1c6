"""What tools concluded of each version of a RayService that a run recorded."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels
from rayward.kinds.rayservice import RayService
from rayward.kube.client.watch import ChangeType
from rayward.kube.core.service import EndpointSlice, Service
from tests.operator.service import verdicts
from tests.operator.service.stage import NAME
from tests.operator.service.witness import Witness

_SERVE: Final = f"{NAME}-serve-svc"


def judge(seen: Witness, outcomes: dict[int, tuple[str, str]]) -> None:
    """Each version with the Service and its endpoints as they were: ``outcomes`` are by generation what every tool says
    in the end, and the cluster that serves by then."""
    leads_to, last, states = "", {}, set[tuple[str, str, bool]]()
    slices: dict[str, set[str]] = {}
    for kind, found in (seen.changes[version] for version in sorted(seen.changes)):
        if isinstance(found, Service) and found.metadata.name == _SERVE:
            leads_to = (found.spec.selector or {}).get(labels.CLUSTER, "")
        if isinstance(found, EndpointSlice) and found.metadata.label("kubernetes.io/service-name") == _SERVE:
            slices[found.metadata.name] = set() if kind is ChangeType.DELETED else _ready_pods(found)
        if not isinstance(found, RayService) or not found.status.conditions:
            continue
        written = verdicts.as_written(found)
        kstatus, done = verdicts.kstatus(written), verdicts.waited_for(written)
        health, _ = verdicts.argocd(written)
        generation = written["metadata"]["generation"]
        outcome, cluster = outcomes[generation]
        assert (verdicts.ARGOCD[health], done) == (kstatus, kstatus == "Current"), written["status"]
        assert kstatus in ("InProgress", outcome), (generation, outcome, written["status"])
        if kstatus == "Current":
            behind = set[str]().union(*slices.values())
            assert leads_to == cluster, f"{generation} is called done while {leads_to} serves"
            assert behind, f"{generation} is called done without an endpoint"
            assert all(pod.startswith(f"{cluster}-") for pod in behind), f"{generation} is called done with {behind}"
        last[generation] = kstatus
        states.add((kstatus, health, done))
    print(f"{len(last)} generations, {seen.statuses} versions; {sorted(states)}")
    assert last == {generation: outcome for generation, (outcome, _) in outcomes.items()}


def _ready_pods(found: EndpointSlice) -> set[str]:
    ready = (each for each in found.endpoints or () if each.conditions.ready is not False)
    return {each.target_ref.name for each in ready if each.target_ref is not None}
