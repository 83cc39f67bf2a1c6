"""What to do for a RayService now: which release, which cluster is for what, and the next step of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from rayward.kinds import labels
from rayward.kinds.effects import Effect, replaced_code
from rayward.operator.service import healing, inplace, outage, retirement, routing, upgrade
from rayward.operator.service.healing import Remedy
from rayward.operator.service.readiness import readiness_of, rolling
from rayward.operator.service.state import (
    ABORTED,
    AnnotationChange,
    ChildCluster,
    Decision,
    Failure,
    Policy,
    Release,
    ServeConfigTarget,
    Stage,
    State,
)

_KEEPS_CLUSTER = frozenset({Effect.SCALE, Effect.NEXT_CLUSTER, Effect.ROLLING_WORKERS})
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Roles:
    """The clusters that are not being deleted, by what they are for."""

    active: ChildCluster | None
    target: ChildCluster | None
    """The cluster of the release: the active one, a pending one, or None where it has to be created."""
    release: Release | None
    others: tuple[ChildCluster, ...]


def decide(state: State, now: datetime) -> Decision:
    """One step towards the release asked for; the same state at the same time always gives the same decision."""
    roles = _roles(state, choose_release(state))
    if state.failure is not None and state.desired is not None and _serves_after_all(roles):
        state = dataclasses.replace(state, failure=None)
    if _is_abort_due(state, roles) and roles.target is not None:
        failure = Failure(
            ABORTED, f"Upgrade to RayCluster {roles.target.name} was aborted by annotation {labels.ABORT}"
        )
        state = dataclasses.replace(state, failure=failure)
        roles = _roles(state, roles.release)
    remedy = healing.NOTHING
    active = roles.active
    replacing = active is not None and _has_successor(roles, active)
    is_stuck = active is not None and outage.is_stuck(active, state.policy, now, replacing=replacing)
    if active is not None and roles.target is active and _gets_another_config(state, roles):
        if is_stuck:
            roles = _roles(state, roles.release, replace_active=True)
    elif active is not None and roles.target is active:
        remedy = healing.decide(active, state.policy, now, replacing=replacing)
        if is_stuck and active.config == active.good_config:
            remedy = healing.replace_stuck(active, state.policy, now, replacing=replacing)
        if remedy.replace and not _is_aborted(state):
            # A replacement is of the release that serves, whatever the spec asks for by now.
            own = Release(active.cluster_hash, active.config, active.code)
            roles = _roles(state, own, replace_active=True)
    step = _step(state, roles, remedy, now)
    left = retirement.decide(roles.others, state.policy, now)
    # What was due before now has been acted upon, or waits for something else than time.
    deserted, deserted_at = outage.desertion(roles.active, state.policy, now)
    due = (step.requeue_at, left.requeue_at, remedy.requeue_at, *deserted_at)
    times = [at for at in due if at is not None and at >= now]
    remedied = (remedy.change,) if remedy.change else ()
    pending = None if roles.target is roles.active else roles.target
    started = (*outage.first_start(roles.active, now), *outage.first_start(pending, now))
    decision = dataclasses.replace(
        step,
        annotate=_joined((*step.annotate, *remedied, *deserted, *started, *left.annotate)),
        delete=(*step.delete, *left.delete),
        failure=step.failure or state.failure,
        drifted=_is_drifted(state),
        exhausted=remedy.exhausted,
        requeue_at=min(times, default=None),
    )
    if _rolls(state, decision) and decision.active is not None:
        decision = dataclasses.replace(decision, roll=decision.active.name, readiness=rolling(decision.active))
    traffic = decision.traffic or _traffic_of(decision.active)
    serve_configs = _serve_configs(state, decision)
    return dataclasses.replace(
        decision,
        traffic=traffic,
        pod_labels=tuple(routing.pod_labels(state.clusters, traffic, no_heads=state.policy.excludes_heads)),
        cluster_services=tuple(
            cluster.name for cluster in state.clusters if not cluster.deleting and cluster.name not in decision.delete
        ),
        delete_services=_renamed(state, traffic),
        serve_configs=serve_configs,
        refreshed=_refreshed(state, serve_configs),
        scale=_scaled(state, decision),
        suspend=_suspended(state, decision),
        clear_annotations=_acted_upon(state, decision),
    )


def choose_release(state: State) -> Release | None:
    """The release to go for.

    Worker groups added at the end are no other release to the cluster that serves, and with upgrade strategy None its
    cluster spec is kept, but for workers that are rolled, and only the config followed. While the spec is rejected,
    what was begun is finished.
    """
    live = [cluster for cluster in state.clusters if not cluster.deleting]
    active = next((cluster for cluster in live if cluster.name == state.serving), None)
    if state.desired is None:
        begun = _newest(c for c in live if c is not active and not c.promoted) or active
        return Release(begun.cluster_hash, begun.config, begun.code) if begun else None
    if active is not None and state.policy.stopped:
        # Kueue stops a service and restores its templates in one write: those are no release to go for.
        return Release(active.cluster_hash, active.config, active.code)
    keeps_cluster = state.change is not None and state.change.effect in _KEEPS_CLUSTER
    if active is not None and _needs_cluster(active, state.desired, state.policy):
        return state.desired
    if active is not None and keeps_cluster:
        return dataclasses.replace(state.desired, cluster_hash=active.cluster_hash)
    return state.desired


def _roles(state: State, release: Release | None, *, replace_active: bool = False) -> Roles:
    """Who is who. With ``replace_active`` the active cluster does not count as one of the release."""
    live = [cluster for cluster in state.clusters if not cluster.deleting]
    active = next((cluster for cluster in live if cluster.name == state.serving), None)
    target = _of_release(live, active, release, state.policy, replace_active=replace_active) if release else active
    if state.failure and active and not replace_active:
        target = active
    others = tuple(cluster for cluster in live if cluster is not active and cluster is not target)
    return Roles(active, target, release, others)


def _of_release(
    live: list[ChildCluster], active: ChildCluster | None, release: Release, policy: Policy, *, replace_active: bool
) -> ChildCluster | None:
    if active and _may_run(active, release, policy) and not replace_active:
        return active
    found = [
        cluster
        for cluster in live
        if cluster is not active
        and _may_run(cluster, release, policy)
        and not (replace_active and not _is_successor(cluster, active))
    ]
    # one that has the config already is back in traffic at once
    return _newest(cluster for cluster in found if cluster.config == release.config) or _newest(found)


def _may_run(cluster: ChildCluster, release: Release, policy: Policy) -> bool:
    """Whether a cluster is of the release, or becomes so by another config."""
    if cluster.cluster_hash != release.cluster_hash:
        return False
    return not (cluster.promoted and _needs_cluster(cluster, release, policy))


def _needs_cluster(cluster: ChildCluster, release: Release, policy: Policy) -> bool:
    """Whether the config of a release, which this cluster has not, may not be given to a cluster that serves."""
    if cluster.config == release.config:
        return False
    replaces_code = not policy.code_in_place and replaced_code(cluster.code, release.code) != ""
    return policy.new_cluster_for_config or replaces_code


def _step(state: State, roles: Roles, remedy: Remedy, now: datetime) -> Decision:
    if roles.release is None:
        return Decision(active=roles.active)
    if roles.target is None:
        blocked = state.failure is not None and not remedy.replace
        return Decision(
            active=roles.active,
            create=None if blocked else roles.release,
            remedies=remedy.remedies if remedy.replace else 0,
            failure=state.failure,
        )
    if roles.target is roles.active:
        return inplace.decide(roles.target, roles.release, state.policy, state.failure, remedy, now)
    step = upgrade.decide(roles.target, roles.active, roles.release, state.policy, now)
    if remedy.replace and roles.active is not None and step.failure is not None:
        # A replacement that does not come up is a remedy that did not help, and no failure of what the spec asks for.
        tried = AnnotationChange(roles.active.name, remedies=remedy.remedies, unhealthy_since=now)
        return dataclasses.replace(step, annotate=(*step.annotate, tried), failure=state.failure)
    if roles.active is not None:
        step = dataclasses.replace(step, annotate=(*step.annotate, *inplace.finish(roles.active, state.policy, now)))
    return step


def _traffic_of(active: ChildCluster | None) -> dict[str, int]:
    return {active.name: 100} if active is not None else {}


def _renamed(state: State, traffic: Mapping[str, int]) -> tuple[str, ...]:
    """A serve Service whose name the user changed selects the same pods until the new one exists."""
    if not traffic or state.serve_service not in state.serve_services:
        return ()
    return tuple(name for name in state.serve_services if name != state.serve_service)


def _serve_configs(state: State, decision: Decision) -> tuple[ServeConfigTarget, ...]:
    asked = state.policy.restarted_at
    return tuple(
        ServeConfigTarget(
            cluster.name,
            cluster.config,
            cluster.remedies,
            asked,
            anew=bool(asked) and cluster.refreshed != asked,
            surges=cluster.surges.get(cluster.config, frozenset()),
        )
        for cluster in (decision.active, decision.pending)
        if cluster is not None and cluster.config and cluster.name not in decision.delete
    )


def _refreshed(state: State, targets: Iterable[ServeConfigTarget]) -> tuple[str, ...]:
    """Recorded for each cluster once its dashboard was sent the config for it, so that none is passed over."""
    deployed = {cluster.name: cluster.deployed for cluster in state.clusters}
    return tuple(target.cluster for target in targets if target.anew and deployed.get(target.cluster) == target.key)


def _scaled(state: State, decision: Decision) -> str:
    """Sizes reach the cluster of the release, whether it serves already or is pending."""
    target, desired = decision.pending or decision.active, choose_release(state)
    if target is None or desired is None or state.desired is None or _is_drifted(state) or _rolls(state, decision):
        return ""
    if decision.create is not None:
        # for the one that is made, even where the one that serves differs in its Serve config alone
        return ""
    return target.name if target.cluster_hash == desired.cluster_hash else ""


def _suspended(state: State, decision: Decision) -> tuple[str, ...]:
    """The suspend field of the spec is for the cluster of the release that the spec asks for.

    Another one that serves goes on: an edit of both asks for a new cluster that waits. Where the strategy keeps the
    cluster, no other one can be meant; and where the field is Kueue's, all are.
    """
    if state.policy.stopped:
        live = (cluster.name for cluster in state.clusters if not cluster.deleting)
        return tuple(name for name in live if name not in decision.delete)
    if _is_drifted(state) and decision.active is not None and state.desired is not None:
        return (decision.active.name,)
    return tuple(filter(None, (_scaled(state, decision),)))


def _acted_upon(state: State, decision: Decision) -> tuple[str, ...]:
    """``promote`` and ``abort`` count for one upgrade; without one they mean nothing."""
    promote, abort = state.policy.promote, state.policy.abort
    if decision.settled:
        given = ((labels.PROMOTE, promote), (labels.ABORT, abort))
        return tuple(annotation for annotation, value in given if value)
    return (labels.PROMOTE,) if decision.switch_to and promote == "true" else ()


def _is_drifted(state: State) -> bool:
    return state.change is not None and state.change.effect is Effect.NEXT_CLUSTER


def _rolls(state: State, decision: Decision) -> bool:
    """Whether the cluster that serves is to get the workers of the spec; a failed edit of its config comes first."""
    asked = state.change is not None and state.change.effect is Effect.ROLLING_WORKERS
    return asked and state.desired is not None and decision.failure is None and not state.policy.stopped


def _serves_after_all(roles: Roles) -> bool:
    """Whether the release that was given up serves: a first one that was late may come up all the same."""
    active, release = roles.active, roles.release
    if active is None or release is None or active.config != active.good_config or active.rolling_since:
        return False
    serves = (active.cluster_hash, active.config) == (release.cluster_hash, release.config)
    return serves and readiness_of(active).stage is Stage.READY


def _is_abort_due(state: State, roles: Roles) -> bool:
    """Whether the user gave up a pending cluster while another one serves."""
    pending = roles.target is not None and roles.active is not None and roles.target is not roles.active
    return pending and roles.target is not None and state.policy.abort in {"true", roles.target.name}


def _is_aborted(state: State) -> bool:
    return state.failure is not None and state.failure.reason == ABORTED


def _gets_another_config(state: State, roles: Roles) -> bool:
    """What self-healing knew of the former config says nothing of another one."""
    another = roles.release is not None and roles.active is not None and roles.active.config != roles.release.config
    return another and state.failure is None


def _has_successor(roles: Roles, active: ChildCluster) -> bool:
    return any(
        _is_successor(cluster, active) and cluster.cluster_hash == active.cluster_hash for cluster in roles.others
    )


def _is_successor(cluster: ChildCluster, active: ChildCluster | None) -> bool:
    """Whether it may replace the active one: not one that served before it, though perhaps one that is about to."""
    begun = active.created or _LONG_AGO if active else _LONG_AGO
    return cluster.delete_at is None and (cluster.created or _LONG_AGO) >= begun


def _newest(clusters: Iterable[ChildCluster]) -> ChildCluster | None:
    return max(clusters, key=lambda cluster: (cluster.created or _LONG_AGO, cluster.name), default=None)


def _joined(changes: Iterable[AnnotationChange]) -> tuple[AnnotationChange, ...]:
    """One change per cluster."""
    joined: dict[str, AnnotationChange] = {}
    for change in changes:
        before = joined.get(change.cluster)
        if before is None:
            joined[change.cluster] = change
            continue
        given = {
            each.name: value
            for each in dataclasses.fields(change)
            if (value := getattr(change, each.name)) is not None and value is not False
        }
        joined[change.cluster] = dataclasses.replace(before, **given)
    return tuple(joined.values())
