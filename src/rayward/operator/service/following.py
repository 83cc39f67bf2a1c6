"""Which dashboards to watch for a service, and what each is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rayward.kinds.raycluster import RayCluster
from rayward.operator.ray.observation import Deploy, Observation, Target
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.reach import PodPort
from rayward.operator.ray.schedule import Pace
from rayward.operator.service.observe import ClusterSeen, Look, deploy_key
from rayward.operator.service.redeploy import deployed_text
from rayward.operator.service.situation import Decision

_DASHBOARD: Final = 8265


def follow(poller: Poller[Target, Observation], look: Look, decision: Decision, tokens: Mapping[str, str]) -> None:
    """Watch the heads that matter; each is sent the config of its own release, and no other.

    Args:
        poller: Who watches.
        look: The clusters there are.
        decision: Which of them matter.
        tokens: For each cluster that asks for one, by its uid.
    """
    wanted = {member.name for member in (decision.active, decision.pending) if member is not None}
    wanted -= set(decision.delete)
    changing = decision.pending is not None or decision.create is not None
    for name, seen in look.clusters.items():
        target = _target(seen, changing, tokens) if name in wanted else None
        if target is None:
            poller.drop(seen.cluster.key)
        else:
            poller.follow(seen.cluster.key, target)


def _target(seen: ClusterSeen, changing: bool, tokens: Mapping[str, str]) -> Target | None:
    head, metadata = seen.head, seen.cluster.metadata
    if head is None or not head.ready or not seen.memory.config:
        return None
    in_place = seen.member.config != seen.member.good_config
    return Target(
        place=PodPort(metadata.namespace, head.metadata.name, head.status.pod_ip, _dashboard_port(seen.cluster)),
        head=head.metadata.uid,
        token=tokens.get(metadata.uid, ""),
        pace=Pace.UPGRADING if changing or in_place else Pace.IDLE,
        deploy=Deploy(deploy_key(seen.member), deployed_text(seen.memory.config, seen.member.heals)),
    )


def _dashboard_port(cluster: RayCluster) -> int:
    text = (cluster.spec.head_group_spec.ray_start_params or {}).get("dashboard-port", "")
    return int(text) if text.isascii() and text.isdigit() else _DASHBOARD
