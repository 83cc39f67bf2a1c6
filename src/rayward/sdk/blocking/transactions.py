# Written by tools/twins.py from the module of the same name in rayward.sdk.asynchronous, never edited.
"""Changes of several steps: suspend, change and resume as one, finished or taken back as a whole."""

from __future__ import annotations

from collections.abc import Callable

from rayward.changes import predicting, transactions
from rayward.changes.intents import Intent
from rayward.changes.judging import Verdict
from rayward.changes.refs import Ref
from rayward.changes.writing import Written
from rayward.kinds.effects import Rules
from rayward.sdk.blocking.connection import Connection


class Transactions(Connection):
    """Verbs that suspend an object to change it."""

    def reassemble(
        self,
        ref: Ref | str,
        *settings: Intent,
        cause: str = "",
        timeout: float = 600.0,
        tell: Callable[[Verdict], None] | None = None,
    ) -> Written:
        """Suspend a RayCluster, change it and resume it, as one transaction.

        Killed anywhere, calling it again goes on; ``undo_transaction`` takes it back instead.

        Raises:
            Invalid: It cannot be suspended; nothing was written.
            WaitTimeout: It is not suspended in time, and stays in the transaction.

        Examples:
            >>> from rayward.changes.intents import SetImage
            >>> written = client.reassemble("raycluster/c", SetImage("rayproject/ray:2.61.0"))
            >>> written.object["spec"]["suspend"], written.changed
            (False, True)
        """
        about = self._ref(ref)
        rules = self._operator(about)
        operation = transactions.run_transaction(
            about,
            settings,
            rules=rules,
            manager=self.field_manager,
            cause=cause,
            user=self.user,
            timeout=timeout,
            tell=tell,
        )
        return self._run(operation, about)

    def edit(
        self,
        ref: Ref | str,
        *settings: Intent,
        cause: str = "",
        timeout: float = 600.0,
        tell: Callable[[Verdict], None] | None = None,
    ) -> Written:
        """Suspend a RayJob, change it and resume it, as one transaction: the next attempt has the change.

        Raises:
            Invalid: It has ended, or cannot be suspended; nothing was written.
            WaitTimeout: As of ``reassemble``, and so is the rest.

        Examples:
            >>> from rayward.changes.intents import SetField
            >>> written = client.edit("rayjob/j", SetField("entrypoint", "python other.py"))
            >>> written.object["spec"]["entrypoint"], written.object["spec"]["suspend"]
            ('python other.py', False)
        """
        return self.reassemble(ref, *settings, cause=cause, timeout=timeout, tell=tell)

    def undo_transaction(self, ref: Ref | str) -> Written:
        """Take back a ``reassemble`` or ``edit`` that was not finished: the spec from before it, and resumed.

        Raises:
            NotFound: None is pending.

        Examples:
            >>> written = client.undo_transaction("raycluster/c")
            >>> written.object["spec"].get("suspend", False)
            False
        """
        operation = transactions.undo_transaction(self._ref(ref), manager=self.field_manager, user=self.user)
        return self._run(operation, ref)

    def _operator(self, ref: Ref) -> Rules:
        return self._run(predicting.operator_of(ref, self.get(ref)), ref)
