"""Predictions: what a manifest would do, and applying exactly what was predicted."""

from __future__ import annotations

import functools

from rayward.changes import diffing, history, predicting, writing
from rayward.changes.planning import Plan, check_base, refuse_other
from rayward.changes.refs import ref_of
from rayward.changes.strategies import Strategy, with_strategy
from rayward.changes.writing import Written
from rayward.kinds.effects import Rules
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.sdk import queueing
from rayward.sdk.asynchronous.writes import Writes


class Plans(Writes):
    """Verbs that ask before anything is written."""

    async def plan(
        self,
        wanted: Object,
        *,
        strategy: Strategy | None = None,
        force_conflicts: bool = False,
        rules: Rules | None = None,
    ) -> Plan:
        """Predict what applying a manifest does, with every changed field's effect; nothing is changed.

        Args:
            wanted: The manifest.
            strategy: As of ``apply``.
            force_conflicts: Predict for an apply with ``force_conflicts``.
            rules: Whose operator acts on the object; found out where it is not given.

        Raises:
            Conflict: Another manager owns a field, so that the apply would be refused.
            Invalid: The server rejects the manifest.

        Examples:
            >>> plan = await client.plan({**manifest, "spec": {**manifest["spec"], "suspend": True}})
            >>> plan.strongest, plan.downtime
            (<Effect.SUSPEND: 'Suspend'>, 'until it is resumed: all pods are deleted')
        """
        ref = ref_of(wanted, self.namespace)
        body = with_strategy(ref, wanted, strategy)
        operation = predicting.predict(
            ref, body, manager=self.field_manager, force=force_conflicts, rules=rules, queue=queueing.refusals
        )
        return await self._run(operation, ref)

    async def quota_check(self, wanted: Object) -> queueing.Answer | None:
        """Whether the queue of an object would let it run now, later or never; None for one that is in no queue.

        Examples:
            >>> answer = await client.quota_check(manifest)
            >>> answer.line() if answer else "in no queue"
            'in no queue'
        """
        ledger = await self._run(queueing.read_ledger())
        return await self._run(queueing.check(ledger, wanted, self.namespace))

    async def apply_plan(self, document: Object, *, dry_run: bool = False, cause: str = "") -> Written:
        """Apply a plan that was saved; refused where the object has moved since.

        Fields of other managers are taken where the plan was made with ``force_conflicts``.

        Args:
            document: What ``Plan.document()`` gave.
            dry_run: Ask the server, and change nothing.
            cause: Why; kept with the revision.

        Raises:
            Conflict: The object is of another generation than the plan, or another manager owns a field.
            Invalid: The document is not a plan.

        Examples:
            >>> plan = await client.plan({**manifest, "spec": {**manifest["spec"], "rayVersion": "2.61.0"}})
            >>> saved = plan.document()
            >>> (await client.apply_plan(saved)).object["spec"]["rayVersion"]
            '2.61.0'
            >>> await client.apply_plan(saved)
            Traceback (most recent call last):
            rayward.changes.outcomes.Conflict: ...
        """
        wanted = section(document, "wanted")
        refuse_other(document)
        ref = ref_of(wanted, self.namespace)
        operation = writing.apply(
            ref,
            wanted,
            manager=self.field_manager,
            force=document.get("forceConflicts") is True,
            dry_run=dry_run,
            expect=functools.partial(check_base, document),
        )
        return await self._change(ref, operation, cause, dry_run=dry_run)

    async def diff(self, wanted: Object, *, against: Object | int | None = None, show_all: bool = False) -> str:
        """What applying a manifest would change, as a unified diff; empty where nothing.

        Args:
            wanted: The manifest.
            against: What it is compared with: another manifest, without asking the server, or a revision's number; by
                default the live object.
            show_all: Also managed fields, status and what the server writes; a revision has none of them.

        Raises:
            NotFound: There is no such revision.
            Invalid: The server rejects the manifest.

        Examples:
            >>> await client.diff(manifest)
            ''
            >>> text = await client.diff({**manifest, "spec": {**manifest["spec"], "rayVersion": "2.61.0"}})
            >>> [line for line in text.splitlines() if "rayVersion" in line]
            ['-  rayVersion: 2.60.0', '+  rayVersion: 2.61.0']
            >>> await client.diff(manifest, against=manifest)
            ''
        """
        ref = ref_of(wanted, self.namespace)
        if isinstance(against, int):
            past = history.compare_manifest(ref, wanted, against, manager=self.field_manager)
            return await self._run(past, ref)
        if against is not None:
            found = diffing.diff_manifests((against,), (wanted,), self.namespace, show_all=show_all)
            return "".join(text for _, text in found)
        operation = predicting.compare(ref, wanted, manager=self.field_manager, show_all=show_all)
        return await self._run(operation, ref)
