"""Repair: finalizers that hold an object, objects to be made again, and what others left behind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from rayward.changes import finalizers, leftovers, recreating
from rayward.changes.finalizers import Stuck
from rayward.changes.leftovers import Leftover
from rayward.changes.refs import Ref
from rayward.changes.writing import Written
from rayward.kube.core.meta import rfc3339
from rayward.kube.machinery.jsonvalue import Object
from rayward.sdk.asynchronous.connection import Connection


def _now() -> str:
    return rfc3339(datetime.now(UTC))


class Repair(Connection):
    """Verbs that delete or adopt; each destructive one needs the object's name as its approval."""

    async def stuck(self, ref: Ref | str) -> Stuck:
        """Who holds which finalizer of an object, and what its removal would leave behind; nothing is changed.

        Examples:
            >>> stuck = await client.stuck("raycluster/c")
            >>> [(one.finalizer, one.holder.owner) for one in stuck.held]
            [('example.com/held', 'a controller that is not known here')]
        """
        return await self._run(finalizers.inspect(self._ref(ref)), ref)

    async def unstick(self, ref: Ref | str, finalizer: str = "", *, approve: str = "") -> Stuck:
        """Clean up where it is known how, and remove exactly one finalizer of an object that is being deleted.

        Args:
            ref: The object.
            finalizer: Which one; may be left out where there is but one.
            approve: The object's name, typed: without it nothing is done.

        Raises:
            UsageError: It is not approved, or not said which.
            Invalid: The object is not being deleted.

        Examples:
            >>> (await client.unstick("raycluster/c", approve="c")).removed
            'example.com/held'
        """
        about, manager = self._ref(ref), self.field_manager
        operation = finalizers.unstick(about, finalizer, now=_now(), approve=approve, manager=manager)
        return await self._run(operation, ref)

    async def recreate(
        self,
        ref: Ref | str,
        wanted: Object | None = None,
        *,
        approve: str = "",
        timeout: float = 600.0,  # noqa: ASYNC109 - both twins have it
        say: Callable[[str], None] = lambda text: None,
    ) -> Written:
        """Delete an object in the foreground and make it again, as it was or as a manifest says; history is kept.

        Raises:
            UsageError: ``approve`` is not the object's name.
            WaitTimeout: It is not gone in time; calling it again goes on.

        Examples:
            >>> before = await client.get("raycluster/c")
            >>> written = await client.recreate("raycluster/c", approve="c")
            >>> written.object["metadata"]["uid"] != before["metadata"]["uid"]
            True
        """
        operation = recreating.recreate(
            self._ref(ref),
            wanted,
            approve=approve,
            timeout=timeout,
            manager=self.field_manager,
            user=self.user,
            say=say,
        )
        return await self._run(operation, ref)

    async def leftovers(self) -> tuple[Leftover, ...]:
        """Objects of the namespace whose owner is gone, or that lost it; nothing is changed.

        Examples:
            >>> [(str(one), one.action) for one in await client.leftovers()]
            [('raycluster/old', 'delete')]
        """
        return await self._run(leftovers.find(self.namespace))

    async def clean(self, *found: Leftover) -> None:
        """Delete leftovers whose owner is gone, and adopt those whose owner is there.

        Examples:
            >>> await client.clean(*await client.leftovers())
            >>> await client.leftovers()
            ()
        """
        await self._run(leftovers.clean(self.namespace, found))
