"""The client of the playbook, on the event loop; its blocking twin is written from this file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from rayward.changes import predicting, writing
from rayward.changes.intents import Intent, Scale, Suspend
from rayward.changes.outcomes import outcome_of
from rayward.changes.planning import Plan, check_base
from rayward.changes.refs import Ref, parse_ref, ref_of
from rayward.changes.steps import Operation, run_async
from rayward.changes.writing import Written
from rayward.kinds.effects import Rules
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client as ApiClient
from rayward.kube.client.config import find_access
from rayward.kube.machinery.jsonvalue import Object, section

T = TypeVar("T")


class AsyncClient:
    """The verbs of the playbook over one API server and namespace.

    Every failure is a subclass of ``rayward.changes.outcomes.ChangeError``, one for each outcome, and has the exit code
    that the command line ends with.
    """

    def __init__(
        self, api: ApiClient | None = None, *, namespace: str | None = None, field_manager: str = writing.MANAGER
    ) -> None:
        self.api = api or ApiClient.connect()
        self.namespace = namespace or self.api.namespace
        self.field_manager = field_manager

    @classmethod
    def connect(
        cls, access: Access | Path | None = None, *, context: str | None = None, namespace: str | None = None
    ) -> Self:
        """A client for an access, a kubeconfig, or for what the environment names.

        Raises:
            Unavailable: There is no server to talk to.
        """
        try:
            found = access if isinstance(access, Access) else find_access(access, context)
        except Exception as error:
            raise outcome_of(error) or error from error
        return cls(ApiClient.connect(found), namespace=namespace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self.api.close()

    def ref(self, *words: str) -> Ref:
        """The object that ``"rayservice/shop"`` or ``"rayservice", "shop"`` names, in this client's namespace."""
        return parse_ref(words, self.namespace)

    async def get(self, ref: Ref | str) -> Object:
        """The object as the server has it.

        Raises:
            NotFound: It is not there.
        """
        return await self._run(writing.read(self._ref(ref)), ref)

    async def apply(self, wanted: Object, *, force_conflicts: bool = False, dry_run: bool = False) -> Written:
        """Server-side apply.

        Sizes that Ray's autoscaler chose are kept.

        Args:
            wanted: The manifest.
            force_conflicts: Take fields from other managers; what was taken from whom is in the result.
            dry_run: Ask the server, and change nothing.

        Raises:
            Conflict: Another manager owns a field.
            Invalid: The server rejects the manifest.
        """
        ref = ref_of(wanted, self.namespace)
        operation = writing.apply(ref, wanted, manager=self.field_manager, force=force_conflicts, dry_run=dry_run)
        return await self._run(operation, ref)

    async def plan(self, wanted: Object, *, force_conflicts: bool = False, rules: Rules | None = None) -> Plan:
        """Predict what applying a manifest does, with every changed field's effect; nothing is changed.

        Args:
            wanted: The manifest.
            force_conflicts: Predict for an apply with ``force_conflicts``.
            rules: Whose operator acts on the object; found out where it is not given.

        Raises:
            Conflict: Another manager owns a field, so that the apply would be refused.
            Invalid: The server rejects the manifest.
        """
        ref = ref_of(wanted, self.namespace)
        operation = predicting.predict(ref, wanted, manager=self.field_manager, force=force_conflicts, rules=rules)
        return await self._run(operation, ref)

    async def apply_plan(self, document: Object) -> Written:
        """Apply a plan that was saved; refused where the object has moved since.

        Args:
            document: What ``Plan.document()`` gave.

        Raises:
            Conflict: The object is of another generation than the plan.
        """
        wanted = section(document, "wanted")
        ref = ref_of(wanted, self.namespace)
        live = await self._run(writing.read_or_none(ref), ref)
        check_base(document, live)
        return await self.apply(wanted)

    async def diff(self, wanted: Object, *, show_all: bool = False) -> str:
        """What applying a manifest would change, as a unified diff; empty where nothing."""
        ref = ref_of(wanted, self.namespace)
        operation = predicting.compare(ref, wanted, manager=self.field_manager, show_all=show_all)
        return await self._run(operation, ref)

    async def merge_patch(self, ref: Ref | str, patch: Object, *, dry_run: bool = False) -> Written:
        """JSON merge patch.

        Raises:
            Invalid: It would drop items or fields from a list; the error has the patch to use instead.
        """
        operation = writing.merge_patch(self._ref(ref), patch, manager=self.field_manager, dry_run=dry_run)
        return await self._run(operation, ref)

    async def json_patch(self, ref: Ref | str, operations: Iterable[Object], *, dry_run: bool = False) -> Written:
        """JSON patch, sent as it is and never tried again."""
        operation = writing.json_patch(self._ref(ref), operations, manager=self.field_manager, dry_run=dry_run)
        return await self._run(operation, ref)

    async def replace(
        self, ref: Ref | str, mutate: Callable[[Object], Object | None], *, dry_run: bool = False
    ) -> Written:
        """Get, mutate, replace; ``mutate`` runs again on fresh state when another writer was faster.

        Raises:
            Conflict: Others were faster at every attempt.
        """
        operation = writing.replace(self._ref(ref), mutate, manager=self.field_manager, dry_run=dry_run)
        return await self._run(operation, ref)

    async def set(
        self, ref: Ref | str, *intents: Intent, dry_run: bool = False, override_autoscaler: bool = False
    ) -> Written:
        """Change what the intents say and nothing else, by a guarded patch.

        Raises:
            NotFound: A group that is named is not there.
            Invalid: The change contradicts the object, or the autoscaler owns the field.
        """
        operation = writing.change(
            self._ref(ref),
            intents,
            manager=self.field_manager,
            dry_run=dry_run,
            override_autoscaler=override_autoscaler,
        )
        return await self._run(operation, ref)

    async def scale(
        self,
        ref: Ref | str,
        group: str,
        replicas: int | None = None,
        *,
        min_replicas: int | None = None,
        max_replicas: int | None = None,
        dry_run: bool = False,
        override_autoscaler: bool = False,
    ) -> Written:
        """Set the size of a worker group, or the bounds of its size."""
        intent = Scale(group, replicas, min_replicas, max_replicas)
        return await self.set(ref, intent, dry_run=dry_run, override_autoscaler=override_autoscaler)

    async def suspend(self, ref: Ref | str) -> Written:
        """Delete the object's pods and keep the object."""
        return await self.set(ref, Suspend())

    async def resume(self, ref: Ref | str) -> Written:
        """Let a suspended object have its pods again."""
        return await self.set(ref, Suspend(suspend=False))

    def _ref(self, ref: Ref | str) -> Ref:
        return ref if isinstance(ref, Ref) else self.ref(ref)

    async def _run(self, operation: Operation[T], about: Ref | str = "") -> T:
        try:
            return await run_async(self.api, operation)
        except Exception as error:
            outcome = outcome_of(error, str(about))
            if outcome is None or outcome is error:
                raise
            raise outcome from error
