"""A new ``user_config`` for the only replica of a deployment: another replica starts with it before that one ends.

Ray calls ``reconfigure`` in the replica that serves. Requests wait for it, and a ``reconfigure`` that does not return
leaves nobody to answer, for Ray ends no such replica. To Ray a deployment of another ``max_replicas_per_node`` is one
of another version: with ``max_surge_percent`` it starts a replica of the new version, and ends the one of the old
version when that one runs. The limit is one that no node ever meets. It is remembered for each config, as another
limit would start another replica; taking the config back is to send the former one with the former limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from rayward.operator.service.diagnosis import tells_failure
from rayward.operator.service.outage import LONGER, patience, scheduling_timeout, start_timeout
from rayward.operator.service.readiness import deploy_failed
from rayward.operator.service.serveconfig import Surge, Surges, UserConfig
from rayward.operator.service.state import RUNNING, ChildCluster, Failure, Policy, Release

_NONE: Final[Surges] = frozenset()
LIMITS: Final = (100, 99, 98)
"""Ray's highest. Of three, one is used neither by the config that last ran nor by one that has not run yet."""

Deployments = frozenset[tuple[str, str]]
"""Each by its application and its own name."""


def is_unknown(active: ChildCluster, release: Release, policy: Policy) -> bool:
    """Whether a config that changes a ``user_config`` waits until the dashboard has said how many replicas there are.

    An operator that has just started has asked none.
    """
    return active.serve is None and active.endpoints > 0 and bool(_changed(active, release, policy))


def surges_of(active: ChildCluster, release: Release, policy: Policy) -> Mapping[str, Surges] | None:
    """What to send with the config of ``release``, and with the one to go back to; None where that stays as it is."""
    before = active.surges.get(active.good_config, _NONE)
    after = before
    if release.config != active.good_config:
        started = _changed(active, release, policy) & active.lone
        kept = {each for each in before if each[:2] not in started and each[:2] in _same_code(active, release)}
        after = frozenset(kept | {Surge(*each, _limit(active, each)) for each in started})
    found = {config: each for config, each in ((active.good_config, before), (release.config, after)) if each}
    return found if found != dict(active.surges) else None


def surging(active: ChildCluster) -> Deployments:
    """The deployments that another replica is started of, or was with this config."""
    former = active.surges.get(active.good_config, _NONE)
    return frozenset(each[:2] for each in active.surges.get(active.config, _NONE) - former if each.per_node)


def names_of(active: ChildCluster) -> str:
    """Those deployments, for a message."""
    return ", ".join(f"deployment {name} of application {app}" for app, name in sorted(surging(active)))


def given_up(active: ChildCluster, policy: Policy, now: datetime) -> Mapping[str, Surges] | None:
    """What to send instead where no node has room for the other replica: the config as it is, to the one that serves.

    None where nothing is to be given up.
    """
    late = surging(active) & active.crowded_out
    if not late or not _is_sent(active) or not _has_waited(active, policy, now, for_node=True):
        return None
    former = active.surges.get(active.good_config, _NONE)
    limits = {each[:2]: each.per_node for each in former}
    kept = {each for each in active.surges[active.config] if each[:2] not in late}
    # Without max_surge_percent Ray would wait for the end of a replica that never began.
    kept |= {Surge(*each, limits.get(each, 0)) for each in late}
    return {active.good_config: former, active.config: frozenset(kept)}


def failure(active: ChildCluster, policy: Policy, now: datetime) -> Failure | None:
    """Why a config is taken back whose other replica does not start; the former replica goes on answering."""
    if not active.good_config or active.serve is None or not _is_sent(active):
        return None
    replaced = dict(sorted(surging(active)))
    for app in active.serve.applications:
        if app.name not in replaced or app.status == RUNNING:
            continue
        if tells_failure(app.message):
            found = deploy_failed(app, active)
            return Failure(found.reason, f"{found.message}; rolled back to the previous Serve config", found.detail)
        if _has_waited(active, policy, now):
            seconds = int(start_timeout(active, policy).total_seconds())
            return Failure(
                "ReplicasNotStarted",
                f"Application {app.name}: no replica of deployment {replaced[app.name]} has started with the new "
                f"user_config within {seconds} s, as its constructor or reconfigure has not returned; rolled back to "
                f"the previous Serve config. If they need longer, {LONGER}",
            )
    return None


def deadlines(active: ChildCluster, policy: Policy) -> tuple[datetime, ...]:
    """When to look again at replicas that are on their way."""
    if active.progressed_at is None or not surging(active):
        return ()
    waits = (scheduling_timeout(active, policy), patience(active, policy))
    return tuple(active.progressed_at + wait for wait in waits)


def _changed(active: ChildCluster, release: Release, policy: Policy) -> Deployments:
    """The deployments that keep their code and get another ``user_config``."""
    if policy.reconfigures or not active.good_config:
        return frozenset()
    before = {each[:3]: each for each in active.user_configs}
    after = {each[:3]: each for each in release.user_configs}
    fixed = {each[:3] for each in (*active.user_configs, *release.user_configs) if each.fixed}
    same = {each[:2] for each in before} & {each[:2] for each in after}
    found = {
        key
        for key in before.keys() | after.keys()
        if key[:2] in same and key not in fixed and _user_config(before.get(key)) != _user_config(after.get(key))
    }
    return frozenset((app, name) for app, _, name in found)


def _user_config(found: UserConfig | None) -> str:
    return found.user_config if found is not None else ""


def _same_code(active: ChildCluster, release: Release) -> Deployments:
    """The deployments of which Ray may be told a limit by ``release``: of other code they are replaced anyway."""
    apps = {each[:2] for each in active.user_configs} & {each[:2] for each in release.user_configs}
    fixed = {(each.application, each.deployment) for each in release.user_configs if each.fixed}
    names = {app for app, _ in apps}
    before = active.surges.get(active.good_config, _NONE)
    return frozenset(each[:2] for each in before if each.application in names and each[:2] not in fixed)


def _limit(active: ChildCluster, deployment: tuple[str, str]) -> int:
    sent = (active.good_config, active.config)
    taken = {each.per_node for config in sent for each in active.surges.get(config, _NONE) if each[:2] == deployment}
    return next(limit for limit in LIMITS if limit not in taken)


def _is_sent(active: ChildCluster) -> bool:
    return active.serve is not None and active.serve.config == active.config


def _has_waited(active: ChildCluster, policy: Policy, now: datetime, *, for_node: bool = False) -> bool:
    wait = (scheduling_timeout if for_node else patience)(active, policy)
    return active.progressed_at is not None and now - active.progressed_at >= wait
