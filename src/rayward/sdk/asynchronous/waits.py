"""Waiting for a write to come true, and going back where it does not."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from rayward.changes import settling
from rayward.changes.judging import Verdict
from rayward.changes.outcomes import ChangeError
from rayward.changes.refs import Ref, ref_of
from rayward.changes.settling import OnFailure, Settling
from rayward.changes.together import together
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
        return await self._run(settling.wait_recorded(about, generation, timeout, tell), about)

    async def settle(
        self,
        written: Written,
        *,
        timeout: float = 600.0,  # noqa: ASYNC109 - both twins have it
        on_failure: OnFailure | None = None,
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
            RolledBack: It failed, and the object is again what the last revision before it asks for that did not fail.
            RolloutFailed, JobFailed, WaitTimeout, Conflict: As of ``wait``; the first also where no earlier revision is
                known to go back to that did not fail itself, or where going back has not come true, the last also
                where somebody has asked for another generation since it failed: that one stays.

        Examples:
            >>> waited = await client.settle(await client.apply(manifest), timeout=60)
            >>> waited.verdict.state
            <State.APPLIED: 'Applied'>
        """
        how = Settling(timeout, on_failure, self.field_manager, self.user)
        ref = ref_of(written.object, self.namespace)
        return await self._run(settling.settle(written, how, self.namespace, tell), ref)

    async def settle_all(
        self,
        written: Sequence[Written],
        *,
        timeout: float = 600.0,  # noqa: ASYNC109 - both twins have it
        on_failure: OnFailure | None = None,
        tell: Callable[[Ref, Verdict], None] | None = None,
    ) -> tuple[Waited | ChangeError, ...]:
        """``settle`` for several writes, with one watch for each kind; how each ended, in their order.

        Kinds are waited for one after the other, the objects of one together.

        Examples:
            >>> ends = await client.settle_all(await client.apply_all([manifest]), timeout=60)
            >>> [str(one.verdict.state) for one in ends]
            ['Applied']
        """
        how = Settling(timeout, on_failure, self.field_manager, self.user)
        kinds: dict[tuple[str, str], list[int]] = {}
        for index, one in enumerate(written):
            ref = ref_of(one.object, self.namespace)
            kinds.setdefault((ref.kind, ref.namespace), []).append(index)
        ended: dict[int, Waited | ChangeError] = {}
        for places in kinds.values():
            operations = [
                settling.settle(written[at], how, self.namespace, self._teller(written[at], tell)) for at in places
            ]
            ended |= zip(places, await self._run(together(operations)), strict=True)
        return tuple(ended[index] for index in range(len(written)))

    def _teller(
        self, written: Written, tell: Callable[[Ref, Verdict], None] | None
    ) -> Callable[[Verdict], None] | None:
        return None if tell is None else functools.partial(tell, ref_of(written.object, self.namespace))
