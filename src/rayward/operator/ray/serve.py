"""Serve on a head: its state, and the config it was sent."""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import replace

from rayward.operator.ray.answers import RUNNING, Serve, Version
from rayward.operator.ray.dashboard import Dashboard
from rayward.operator.ray.errors import RayError, Refused, WrongSession
from rayward.operator.ray.holding import holds
from rayward.operator.ray.observation import UNSEEN, Deploy, Failure, Observation, Routes, Target
from rayward.operator.ray.poller import Claim
from rayward.operator.ray.reach import Reach
from rayward.operator.ray.routes import ask_routes
from rayward.operator.ray.schedule import next_look
from rayward.operator.ray.scheduling import is_waiting, unschedulable, without_room

_ERRORS: Final = ("Traceback (most recent call last)", "Error:\n")
"""What a message with an exception in it has; a replica whose process died has no traceback."""
_NOBODY: Final[dict[str, str]] = {}


class ServeProbe:
    """Asks heads for the state of Serve, and sends those that do not have it the config of their target."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self.unseen: Final = UNSEEN

    async def look(self, target: Target, before: Observation, claim: Claim) -> Observation:
        """One look; see the function of this name."""
        return await look(self._reach, target, before, claim)

    def has_failed(self, seen: Observation) -> bool:
        """Whether the head did not answer as it should."""
        return seen.failure is not None

    def pause(self, target: Target, seen: Observation, failures: int, chance: float, heads: int) -> float:
        """Seconds between two looks, by how much somebody waits."""
        settled = seen.serve is None or (seen.serve.settled and Routes.MISSING not in seen.routes.values())
        return next_look(target.pace, settled=settled, failures=failures, chance=chance)


async def look(reach: Reach, target: Target, before: Observation, belongs: Claim) -> Observation:
    """What ``target`` shows now; sends its configuration first if this session does not have it.

    ``belongs`` says whether a session may be this target's. Nothing is sent to a head that is not the one meant.
    """
    dashboard = Dashboard(reach, target.place, token=target.token)
    seen = before
    deploy = target.deploy
    try:
        if deploy is None or deploy.key == seen.deployed:
            version, answer = await _asked_at_once(dashboard, target.session)
        else:
            version, answer = await dashboard.version(target.session), None
        if not belongs(version.session_name):
            raise WrongSession(f"{target.place}: {version.session_name} is another cluster's head")
        if version.session_name != seen.session:
            seen = Observation(version.session_name)
        seen = replace(seen, ray_version=version.ray_version, failure=None)
        if isinstance(answer, BaseException):
            raise answer
        if deploy is not None and (deploy.key != seen.deployed or _is_emptied(answer, deploy, seen)):
            if not seen.deployed and not deploy.anew:
                seen = replace(seen, serve=(serve := answer or await dashboard.serve()))
                seen = replace(seen, starting=not serve.applications)
                if holds(serve, deploy.config):
                    seen = replace(seen, deployed=deploy.key, refusal="")
                    return await ask_routes(reach, target, seen)
            former = _messages(answer or seen.serve)
            seen, answer = replace(await _deployed(dashboard, deploy, seen), former=former), None
        serve = answer or await dashboard.serve()
        seen = await ask_routes(reach, target, seen)
        surged = deploy.surged if deploy is not None else frozenset[tuple[str, str]]()
        nodes = await dashboard.nodes() if is_waiting(serve, surged) else ()
        starting = seen.starting and not _all_run(serve)
        tracebacks = _tracebacks(serve, seen)
        return replace(
            seen,
            serve=serve,
            starting=starting,
            unscheduled=unschedulable(serve, nodes),
            crowded_out=without_room(serve, nodes),
            tracebacks=tracebacks,
        )
    except RayError as error:
        return replace(seen, failure=_failure(error))


async def _asked_at_once(dashboard: Dashboard, session: str) -> tuple[Version, Serve | BaseException]:
    """Both questions in the time of one: what is seen late is acted on late.

    An error of the second is looked at after the session: in another one, nothing that was seen before counts.
    """
    version, serve = await asyncio.gather(dashboard.version(session), dashboard.serve(), return_exceptions=True)
    if isinstance(version, BaseException):
        raise version
    return version, serve


def _all_run(serve: Serve) -> bool:
    return bool(serve.applications) and all(app.status == RUNNING for app in serve.applications.values())


def _tracebacks(serve: Serve, seen: Observation) -> dict[str, str]:
    """Ray shows the error of a constructor for seconds, and then only that the deployment failed."""
    found: dict[str, str] = {}
    for name, app in serve.applications.items():
        if app.status == RUNNING:
            continue
        texts = (app.message, *(deployment.message for deployment in app.deployments.values()))
        fresh = (text for text in texts if any(sign in text for sign in _ERRORS) and text not in seen.former)
        text = next(fresh, seen.tracebacks.get(name, ""))
        if text:
            found[name] = text
    return found


def _messages(serve: Serve | None) -> frozenset[str]:
    """What applications and their deployments say."""
    apps = serve.applications.values() if serve is not None else ()
    texts = (text for app in apps for text in (app.message, *(found.message for found in app.deployments.values())))
    return frozenset(text for text in texts if text)


def _is_emptied(serve: Serve | None, deploy: Deploy, seen: Observation) -> bool:
    """Whether somebody else has taken away all that was sent."""
    return serve is not None and not serve.applications and not seen.refusal and not holds(serve, deploy.config)


async def _deployed(dashboard: Dashboard, deploy: Deploy, seen: Observation) -> Observation:
    try:
        await dashboard.deploy(deploy.config)
    except Refused as refusal:
        return replace(seen, deployed=deploy.key, refusal=str(refusal), serve=None, tracebacks=_NOBODY)
    except RayError as error:
        # It may have arrived all the same: the next look finds out.
        return replace(seen, deployed="", refusal="", failure=_failure(error))
    # What was seen before speaks of another config.
    return replace(seen, deployed=deploy.key, refusal="", serve=None, tracebacks=_NOBODY)


def _failure(error: RayError) -> Failure:
    return Failure(type(error).__name__, str(error))
