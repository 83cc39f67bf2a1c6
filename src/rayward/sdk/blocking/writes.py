# Written by tools/twins.py from the module of the same name in rayward.sdk.asynchronous, never edited.
"""Writes of an object: apply, patches, replace and settings; each records the generations before and after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rayward.changes import checking, predicting, writing
from rayward.changes.intents import Intent, Scale, Suspend
from rayward.changes.refs import Ref, ref_of
from rayward.changes.strategies import Strategy, with_strategy
from rayward.changes.writing import Written
from rayward.kube.machinery.jsonvalue import Object
from rayward.sdk.blocking.connection import Connection


class Writes(Connection):
    """Verbs that write an object and return at once."""

    def apply(
        self,
        wanted: Object,
        *,
        strategy: Strategy | None = None,
        force_conflicts: bool = False,
        dry_run: bool = False,
        cause: str = "",
    ) -> Written:
        """Server-side apply.

        Sizes that Ray's autoscaler chose are kept.

        Args:
            wanted: The manifest.
            strategy: How the change is made, where the manifest is not to say it.
            force_conflicts: Take fields from other managers; what was taken from whom is in the result.
            dry_run: Ask the server, and change nothing.
            cause: Why; kept with the revision.

        Raises:
            Conflict: Another manager owns a field.
            Invalid: The server rejects the manifest, or the operator at work does not know the strategy.
            UsageError: The kind cannot be changed by this strategy.

        Examples:
            >>> newer = {**manifest, "spec": {**manifest["spec"], "rayVersion": "2.61.0"}}
            >>> written = client.apply(newer, cause="Ray 2.61")
            >>> written.changed, written.object["metadata"]["generation"]
            (True, 2)
        """
        ref = ref_of(wanted, self.namespace)
        body = with_strategy(ref, wanted, strategy)
        heeded = predicting.check_strategy(ref, body, strategy, manager=self.field_manager, force=force_conflicts)
        self._run(heeded, ref)
        operation = writing.apply(ref, body, manager=self.field_manager, force=force_conflicts, dry_run=dry_run)
        return self._change(ref, operation, cause, dry_run=dry_run)

    def check(
        self, *wanted: Object, strategy: Strategy | None = None, force_conflicts: bool = False, lint: bool = True
    ) -> tuple[checking.Refusal, ...]:
        """What stands against applying these manifests, each asked about; nothing is changed.

        Args:
            wanted: The manifests.
            strategy: As of ``apply``.
            force_conflicts: As of ``apply``.
            lint: Also refuse what the API server takes and the operator would reject.

        Examples:
            >>> client.check(manifest)
            ()
            >>> wrong = {**manifest, "spec": {**manifest["spec"], "rayVersion": 2}}
            >>> [type(one.error).__name__ for one in client.check(manifest, wrong)]
            ['Invalid']
        """
        refs = [ref_of(one, self.namespace) for one in wanted]
        bodies = [(ref, with_strategy(ref, one, strategy)) for ref, one in zip(refs, wanted, strict=True)]
        operation = checking.check(
            bodies, manager=self.field_manager, force=force_conflicts, lint=lint, strategy=strategy
        )
        return self._run(operation)

    def apply_all(
        self,
        wanted: Sequence[Object],
        *,
        strategy: Strategy | None = None,
        force_conflicts: bool = False,
        lint: bool = True,
        cause: str = "",
    ) -> tuple[Written, ...]:
        """Apply several manifests as one change: all are checked before any is written.

        Raises:
            ChangeError: One of them cannot be applied; nothing was written. The type is that of the first refusal.

        Examples:
            >>> other = {**manifest, "metadata": {"name": "other"}}
            >>> [one.changed for one in client.apply_all([manifest, other])]
            [False, True]
        """
        refusals = self.check(*wanted, strategy=strategy, force_conflicts=force_conflicts, lint=lint)
        if refusals:
            raise checking.refusal_error(refusals, len(wanted))
        done: list[Written] = []
        for one in wanted:
            done.append(self.apply(one, strategy=strategy, force_conflicts=force_conflicts, cause=cause))  # noqa: PERF401 - one after the other
        return tuple(done)

    def merge_patch(self, ref: Ref | str, patch: Object, *, dry_run: bool = False) -> Written:
        """JSON merge patch.

        Raises:
            Invalid: It would drop items or fields from a list; the error has the patch to use instead.

        Examples:
            >>> written = client.merge_patch("raycluster/c", {"spec": {"rayVersion": "2.61.0"}})
            >>> written.object["spec"]["rayVersion"]
            '2.61.0'
            >>> client.merge_patch("raycluster/c", {"spec": {"workerGroupSpecs": []}})
            Traceback (most recent call last):
            rayward.changes.outcomes.Invalid: ...
        """
        operation = writing.merge_patch(self._ref(ref), patch, manager=self.field_manager, dry_run=dry_run)
        return self._change(self._ref(ref), operation, "", dry_run=dry_run)

    def json_patch(self, ref: Ref | str, operations: Iterable[Object], *, dry_run: bool = False) -> Written:
        """JSON patch, sent as it is and never tried again.

        Examples:
            >>> version = {"op": "replace", "path": "/spec/rayVersion", "value": "2.61.0"}
            >>> (client.json_patch("raycluster/c", [version])).object["spec"]["rayVersion"]
            '2.61.0'
        """
        operation = writing.json_patch(self._ref(ref), operations, manager=self.field_manager, dry_run=dry_run)
        return self._change(self._ref(ref), operation, "", dry_run=dry_run)

    def replace(self, ref: Ref | str, mutate: Callable[[Object], Object | None], *, dry_run: bool = False) -> Written:
        """Get, mutate, replace; ``mutate`` runs again on fresh state when another writer was faster.

        Raises:
            Conflict: Others were faster at every attempt.

        Examples:
            >>> def newer(cluster):
            ...     cluster["spec"]["rayVersion"] = "2.61.0"
            >>> (client.replace("raycluster/c", newer)).object["spec"]["rayVersion"]
            '2.61.0'
        """
        operation = writing.replace(self._ref(ref), mutate, manager=self.field_manager, dry_run=dry_run)
        return self._change(self._ref(ref), operation, "", dry_run=dry_run)

    def set(
        self,
        ref: Ref | str,
        *intents: Intent,
        dry_run: bool = False,
        override_autoscaler: bool = False,
        cause: str = "",
    ) -> Written:
        """Change what the intents say and nothing else, by a guarded patch.

        Raises:
            NotFound: A group that is named is not there.
            Invalid: The change contradicts the object, or the autoscaler owns the field.

        Examples:
            >>> from rayward.changes.intents import SetField, SetImage
            >>> intents = SetImage("rayproject/ray:2.61.0"), SetField("rayVersion", "2.61.0")
            >>> written = client.set("raycluster/c", *intents, cause="Ray 2.61")
            >>> written.object["spec"]["rayVersion"]
            '2.61.0'
        """
        operation = writing.change(
            self._ref(ref),
            intents,
            manager=self.field_manager,
            dry_run=dry_run,
            override_autoscaler=override_autoscaler,
        )
        return self._change(self._ref(ref), operation, cause, dry_run=dry_run)

    def scale(
        self,
        ref: Ref | str,
        group: str,
        replicas: int | None = None,
        *,
        min_replicas: int | None = None,
        max_replicas: int | None = None,
        dry_run: bool = False,
        override_autoscaler: bool = False,
        cause: str = "",
    ) -> Written:
        """Set the size of a worker group, or the bounds of its size.

        Examples:
            >>> written = client.scale("raycluster/c", "small", 3)
            >>> written.object["spec"]["workerGroupSpecs"][0]["replicas"]
            3
        """
        intent = Scale(group, replicas, min_replicas, max_replicas)
        return self.set(ref, intent, dry_run=dry_run, override_autoscaler=override_autoscaler, cause=cause)

    def suspend(self, ref: Ref | str) -> Written:
        """Delete the object's pods and keep the object.

        Examples:
            >>> (client.suspend("raycluster/c")).object["spec"]["suspend"]
            True
        """
        return self.set(ref, Suspend())
