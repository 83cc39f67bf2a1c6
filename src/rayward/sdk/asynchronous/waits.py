"""Waiting for a write to come true, and going back where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from rayward.changes import history as revisions
from rayward.changes import waiting
from rayward.changes.judging import Verdict
from rayward.changes.outcomes import Conflict, NotFound, RolledBack, RolloutFailed
from rayward.changes.refs import Ref, ref_of
from rayward.changes.waiting import Waited
from rayward.changes.writing import Written
from rayward.sdk.asynchronous.connection import Connection


class Waits(Connection):
    """Verbs that wait for a generation."""

    async def wait(
        self,
        ref: Ref | str,
        generation: int | None = None,
        *,
        timeout: float = 600.0,  # noqa: ASYNC109 - both twins have it
        tell: Callable[[Verdict], None] | None = None,
    ) -> Waited:
        """Wait until a generation is true: a RayService on it with the old release out of traffic, and so on.

        A timeout changes nothing.

        Args:
            ref: The object.
            generation: Which one; the live one where it is not given.
            timeout: Seconds; 0 waits for ever.
            tell: Called with each new state.

        Raises:
            RolloutFailed: It will not come true by itself.
            JobFailed: The job failed.
            WaitTimeout: It has not come true in time, and goes on.
            Conflict: Another generation was asked for meanwhile.

        Examples:
            >>> waited = await client.wait("raycluster/c", timeout=60)
            >>> str(waited.verdict)
            'AllPodsReady: The head and all workers are ready'
        """
        about = self._ref(ref)
        waited = await self._run(waiting.wait(about, generation, timeout=timeout, tell=tell), about)
        await self._run(revisions.record_outcome(about, waited.object, waited.verdict.reason, waited.seconds), about)
        return waited

    async def settle(
        self,
        written: Written,
        *,
        timeout: float = 600.0,  # noqa: ASYNC109 - both twins have it
        on_failure: Literal["rollback", "hold"] | None = None,
        tell: Callable[[Verdict], None] | None = None,
    ) -> Waited:
        """Wait for what a write asked for, and go back where it fails and ``on_failure`` says so.

        Args:
            written: What a verb gave back.
            timeout: Seconds; 0 waits for ever.
            on_failure: ``rollback`` undoes a change that failed, ``hold`` leaves it. By default a RayService is rolled
                back and other kinds are held.
            tell: Called with each new state.

        Raises:
            RolledBack: It failed, and the spec is that of the last revision before it that did not.
            RolloutFailed, JobFailed, WaitTimeout, Conflict: As of ``wait``; the first also where no earlier revision is
                known to go back to that did not fail itself, the last also where somebody has asked for another
                generation since it failed: that one stays.

        Examples:
            >>> waited = await client.settle(await client.apply(manifest), timeout=60)
            >>> waited.verdict.state
            <State.APPLIED: 'Applied'>
        """
        ref = ref_of(written.object, self.namespace)
        goes_back = (on_failure or ("rollback" if ref.kind == "RayService" else "hold")) == "rollback"
        generation = int(written.object["metadata"]["generation"])
        try:
            return await self.wait(ref, generation, timeout=timeout, tell=tell)
        except RolloutFailed as error:
            ended = revisions.record_outcome(ref, written.object, error.verdict, error.seconds, failed=True)
            await self._run(ended, ref)
            if not goes_back or written.before is None:
                raise
            await self._run(revisions.record(ref, written.before), ref)
            operation = revisions.undo(
                ref, manager=self.field_manager, user=self.user, override_gitops=True, generation=generation
            )
            try:
                undo, _ = await self._run(operation, ref)
            except Conflict as newer:
                newer.why = f"{error.what}\n{newer.why}"
                raise
            except NotFound as none:
                # what was there before had failed too: there is nothing that it could go back to
                error.why = "\n".join(part for part in (error.why, f"not rolled back: {none.what}") if part)
                raise error from none
            what = f"{error.what}; rolled back to revision {undo.to.revision}"
            raise RolledBack(what, error.why, f"rayward history {ref}", object=str(ref)) from error
