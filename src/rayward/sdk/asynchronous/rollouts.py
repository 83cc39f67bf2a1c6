"""Steering of rollouts: pause, promote, abort, retry, restart, and changes by new clusters or new workers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime

from rayward.changes import predicting, rollouts
from rayward.changes.intents import Intent
from rayward.changes.refs import Ref
from rayward.changes.writing import Written
from rayward.kinds.effects import Rules
from rayward.kube.core.meta import rfc3339
from rayward.kube.machinery.jsonvalue import Object
from rayward.sdk.asynchronous.writes import Writes


def _now() -> str:
    return rfc3339(datetime.now(UTC))


class Rollouts(Writes):
    """Verbs that steer an upgrade by annotations and settings."""

    async def resume(self, ref: Ref | str) -> Written:
        """Take back a suspension, and the pause of an upgrade.

        Examples:
            >>> suspended = await client.suspend("raycluster/c")
            >>> (await client.resume("raycluster/c")).object["spec"]["suspend"]
            False
        """
        return await self._roll(ref, lambda about, live, _: rollouts.resume(about, live))

    async def pause(self, ref: Ref | str) -> Written:
        """Let the clusters of upgrades become ready and wait before the switch.

        Raises:
            Invalid: Another operator acts, which has no such thing.

        Examples:
            >>> paused = await client.pause("rayservice/s")
            >>> paused.object["metadata"]["annotations"]["rayward.dev/pause"]
            'true'
        """
        return await self._roll(ref, rollouts.pause)

    async def promote(self, ref: Ref | str) -> Written:
        """Let the pending cluster take the traffic, though upgrades are paused.

        Raises:
            Invalid: No upgrade is in progress.

        Examples:
            >>> promoted = await client.promote("rayservice/s")
            >>> promoted.object["metadata"]["annotations"]["rayward.dev/promote"]
            's-next'
        """
        return await self._roll(ref, rollouts.promote)

    async def abort(self, ref: Ref | str) -> Written:
        """Give up the upgrade in progress; its generation is not tried again, until ``retry`` or another edit.

        Raises:
            Invalid: No upgrade is in progress.

        Examples:
            >>> aborted = await client.abort("rayservice/s")
            >>> aborted.object["metadata"]["annotations"]["rayward.dev/abort"]
            's-next'
        """
        return await self._roll(ref, rollouts.abort)

    async def retry(self, ref: Ref | str, *, cause: str = "retry") -> Written:
        """Ask again for a release that was given up or aborted.

        Raises:
            Invalid: None was.

        Examples:
            >>> (await client.retry("rayservice/s")).changed
            True
        """
        return await self._roll(ref, lambda about, live, _: rollouts.retry(about, live, _now()), cause)

    async def restart(self, ref: Ref | str, *, cause: str = "restart") -> Written:
        """Make a new cluster of the release that serves, and switch to it.

        Raises:
            Invalid: Its upgrade strategy makes no new clusters.

        Examples:
            >>> (await client.restart("rayservice/s", cause="a leak")).object["metadata"]["generation"]
            2
        """
        return await self._roll(ref, lambda about, live, _: rollouts.restart(about, live, _now()), cause)

    async def upgrade(self, ref: Ref | str, *settings: Intent, paused: bool = False, cause: str = "") -> Written:
        """Change a RayService by a new cluster, also where its Serve config alone changes.

        Args:
            ref: The service.
            settings: What changes.
            paused: Hold the new cluster before its switch, until ``promote`` or ``resume``.
            cause: Why; kept with the revision.

        Examples:
            >>> from rayward.changes.intents import SetImage
            >>> written = await client.upgrade("rayservice/s", SetImage("rayproject/ray:2.61.0"), paused=True)
            >>> written.object["metadata"]["annotations"]["rayward.dev/pause"]
            'true'
        """
        return await self._roll(
            ref,
            lambda about, live, rules: rollouts.upgrade(about, live, rules, settings, _now(), paused=paused),
            cause,
        )

    async def rollout(self, ref: Ref | str, *settings: Intent, cause: str = "rollout") -> Written:
        """Replace workers one by one, with these settings or as they are.

        Of a RayCluster, or of the cluster of a RayService whose upgrade strategy is None.

        Raises:
            Invalid: Another operator acts, which cannot.

        Examples:
            >>> from rayward.changes.intents import SetImage
            >>> (await client.rollout("raycluster/c", SetImage("rayproject/ray:2.61.0", "small"))).changed
            True
        """
        return await self._roll(
            ref, lambda about, live, rules: rollouts.rollout(about, live, rules, settings, _now()), cause
        )

    async def reconcile(self, ref: Ref | str) -> Written:
        """Have the operator look at an object again; nothing else changes.

        Examples:
            >>> (await client.reconcile("raycluster/c")).object["metadata"]["generation"]
            1
        """
        return await self._roll(ref, lambda about, live, _: rollouts.reconcile(_now()))

    async def _roll(
        self, ref: Ref | str, intents: Callable[[Ref, Object, Rules], tuple[Intent, ...]], cause: str = ""
    ) -> Written:
        about = self._ref(ref)
        live = await self.get(about)
        rules = await self._run(predicting.operator_of(about, live), about)
        chosen = intents(about, live, rules)
        written = await self.set(about, *chosen, cause=cause)
        return dataclasses.replace(written, notes=(*written.notes, *rollouts.lasting(about, live, chosen)))
