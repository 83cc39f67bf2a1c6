"""The client of the playbook, waiting for each answer; written by tools/twins.py, never edited."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeVar

from rayward.changes import (
    checking,
    finalizers,
    joblog,
    leftovers,
    packing,
    predicting,
    recreating,
    rollouts,
    running,
    stopping,
    transactions,
    waiting,
    writing,
)
from rayward.changes import history as revisions
from rayward.changes.finalizers import Stuck
from rayward.changes.intents import Intent, Scale, Suspend
from rayward.changes.judging import Verdict
from rayward.changes.leftovers import Leftover
from rayward.changes.outcomes import NotFound, RolledBack, RolloutFailed, outcome_of
from rayward.changes.planning import Plan, check_base
from rayward.changes.refs import Ref, parse_ref, ref_of
from rayward.changes.revisions import Revision, Undo
from rayward.changes.running import Run
from rayward.changes.steps import Operation, run
from rayward.changes.strategies import Strategy, with_strategy
from rayward.changes.timeline import Entry, Store, read_timeline
from rayward.changes.timeline.reading import ordered
from rayward.changes.timeline.stats import Stats, stats_of
from rayward.changes.waiting import Waited
from rayward.changes.why import Diagnosis, Evidence, explain, gather
from rayward.changes.writing import Written
from rayward.kinds.effects import Rules
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient as ApiClient
from rayward.kube.core.meta import rfc3339
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.sdk import local
from rayward.sdk.local import LocalServer

T = TypeVar("T")


def _now() -> str:
    return rfc3339(datetime.now(UTC))


class Client:
    """The verbs of the playbook over one API server and namespace.

    Every failure is a subclass of ``rayward.changes.outcomes.ChangeError``, one for each outcome, and has the exit code
    that the command line ends with. ``manifest`` below is a RayCluster ``c`` with a worker group ``small``.

    Examples:
        >>> client.apply(manifest, cause="first")  # doctest: +ELLIPSIS
        Written(...)
        >>> plan = client.plan({**manifest, "spec": {**manifest["spec"], "suspend": True}})
        >>> plan.strongest
        <Effect.SUSPEND: 'Suspend'>
        >>> scaled = client.scale("raycluster/c", "small", 3)
        >>> scaled.object["spec"]["workerGroupSpecs"][0]["replicas"]
        3
        >>> [(one.revision, one.cause) for one in client.history("raycluster/c")]
        [(1, 'first'), (2, '')]
        >>> undo, written = client.undo("raycluster/c")
        >>> undo.to.revision
        1
    """

    def __init__(
        self,
        api: ApiClient | None = None,
        *,
        namespace: str | None = None,
        field_manager: str = writing.MANAGER,
        user: str = "",
    ) -> None:
        self.api = api or ApiClient.connect()
        self.namespace = namespace or self.api.namespace
        self.field_manager = field_manager
        self.user = user
        self._server: LocalServer | None = None

    @classmethod
    def local(cls, folder: Path | None = None, *, namespace: str | None = None, pods: bool = False) -> Self:
        """A client of an embedded server of its own, which ends with the client; for tests and experiments.

        It takes about a second to start. Without ``pods`` objects are accepted, planned and judged, and their pods stay
        pending.

        Args:
            folder: Where its data lies; then it stays when the client is closed. Temporary where it is not given.
            namespace: Whose objects.
            pods: Whether pods run, as processes of this machine.

        Raises:
            StackError: It does not start here.
        """
        server = local.start(folder, pods=pods)
        client = cls(ApiClient.connect(server.access), namespace=namespace)
        client._server = server
        return client

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection, and end the server that ``local`` started."""
        self.api.close()
        if self._server is not None:
            self._server.stop()

    def ref(self, *words: str) -> Ref:
        """The object that ``"rayservice/shop"`` or ``"rayservice", "shop"`` names, in this client's namespace."""
        return parse_ref(words, self.namespace)

    def get(self, ref: Ref | str) -> Object:
        """The object as the server has it.

        Raises:
            NotFound: It is not there.
        """
        return self._run(writing.read(self._ref(ref)), ref)

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
            Invalid: The server rejects the manifest.
            UsageError: The kind cannot be changed by this strategy.
        """
        ref = ref_of(wanted, self.namespace)
        body = with_strategy(ref, wanted, strategy)
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
        """
        refs = [ref_of(one, self.namespace) for one in wanted]
        bodies = [(ref, with_strategy(ref, one, strategy)) for ref, one in zip(refs, wanted, strict=True)]
        operation = checking.check(bodies, manager=self.field_manager, force=force_conflicts, lint=lint)
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
        """
        refusals = self.check(*wanted, strategy=strategy, force_conflicts=force_conflicts, lint=lint)
        if refusals:
            raise checking.refusal_error(refusals, len(wanted))
        done: list[Written] = []
        for one in wanted:
            done.append(self.apply(one, strategy=strategy, force_conflicts=force_conflicts, cause=cause))  # noqa: PERF401 - one after the other
        return tuple(done)

    def wait(
        self,
        ref: Ref | str,
        generation: int | None = None,
        *,
        timeout: float = 600.0,
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
        """
        about = self._ref(ref)
        waited = self._run(waiting.wait(about, generation, timeout=timeout, tell=tell), about)
        self._run(revisions.record_outcome(about, waited.object, waited.verdict.reason, waited.seconds), about)
        return waited

    def settle(
        self,
        written: Written,
        *,
        timeout: float = 600.0,
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
            RolledBack: It failed, and the spec is what it was before.
            RolloutFailed, JobFailed, WaitTimeout, Conflict: As of ``wait``.
        """
        ref = ref_of(written.object, self.namespace)
        goes_back = (on_failure or ("rollback" if ref.kind == "RayService" else "hold")) == "rollback"
        try:
            return self.wait(ref, int(written.object["metadata"]["generation"]), timeout=timeout, tell=tell)
        except RolloutFailed as error:
            self._run(revisions.record_outcome(ref, written.object, "Failed", 0.0, failed=True), ref)
            if not goes_back or written.before is None:
                raise
            to = int(written.before["metadata"]["generation"])
            self._run(revisions.record(ref, written.before), ref)
            operation = revisions.undo(ref, to=to, manager=self.field_manager, user=self.user, override_gitops=True)
            self._run(operation, ref)
            what = f"{error.what}; rolled back to revision {to}"
            raise RolledBack(what, error.why, f"rayward history {ref}", object=str(ref)) from error

    def plan(self, wanted: Object, *, force_conflicts: bool = False, rules: Rules | None = None) -> Plan:
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
        return self._run(operation, ref)

    def apply_plan(self, document: Object) -> Written:
        """Apply a plan that was saved; refused where the object has moved since.

        Args:
            document: What ``Plan.document()`` gave.

        Raises:
            Conflict: The object is of another generation than the plan.
        """
        wanted = section(document, "wanted")
        ref = ref_of(wanted, self.namespace)
        live = self._run(writing.read_or_none(ref), ref)
        check_base(document, live)
        return self.apply(wanted)

    def diff(self, wanted: Object, *, show_all: bool = False) -> str:
        """What applying a manifest would change, as a unified diff; empty where nothing."""
        ref = ref_of(wanted, self.namespace)
        operation = predicting.compare(ref, wanted, manager=self.field_manager, show_all=show_all)
        return self._run(operation, ref)

    def why(self, ref: Ref | str) -> tuple[Diagnosis, Evidence]:
        """Why an object is not as it was asked for: one cause, and what it was read from.

        Raises:
            NotFound: The object is not there.
        """
        evidence = self._run(gather(self._ref(ref)), ref)
        return explain(evidence), evidence

    def history(self, ref: Ref | str) -> tuple[Revision, ...]:
        """Every recorded generation, the oldest first; generations that nobody saw are marked gaps.

        Changes by kubectl and GitOps tools are in it too: the live generation is recorded by whoever looks first.
        """
        return self._run(revisions.history(self._ref(ref)), ref)

    def timeline(self, ref: Ref | str, store: Store | None = None) -> tuple[Entry, ...]:
        """What happened to an object and what belongs to it, the oldest first.

        Args:
            ref: The object; with a store it may be gone.
            store: What the operator's process recorded; without one, what the API server still knows.

        Raises:
            NotFound: The object is gone, and nothing was recorded.
        """
        about = self._ref(ref)
        kept = tuple(one for one in store.read() if one.concerns(str(about))) if store is not None else ()
        kept = tuple(one for one in kept if one.namespace == about.namespace)
        try:
            known = self._run(read_timeline(about), about)
        except NotFound:
            if not kept:
                raise
            known = ()
        earlier = [one for one in known if not kept or one.at < kept[0].at or one.what == "event"]
        return ordered((*earlier, *kept))

    def stats(self, *refs: Ref | str) -> Stats:
        """How the changes of these objects went, together; of every object of the namespace where none is named."""
        named = [self._ref(ref) for ref in refs]
        if not named:
            for resource in (RAY_SERVICES, RAY_CLUSTERS, RAY_JOBS):
                found = self._run(leftovers.roots(resource, self.namespace))
                named += [Ref(resource.kind, name, self.namespace) for name in found]
        histories = [self._run(revisions.history(ref), ref) for ref in named]
        return stats_of(histories)

    def undo(
        self,
        ref: Ref | str,
        to_revision: int | None = None,
        *,
        override_gitops: bool = False,
        dry_run: bool = False,
    ) -> tuple[Undo, Written]:
        """Go back to an earlier revision, by default to the last one that differs.

        Sizes that were changed since are kept, and named in the result. An undo can be undone.

        Raises:
            NotFound: There is nothing to go back to.
            Conflict: A GitOps tool applies the spec, and ``override_gitops`` is not set.
        """
        operation = revisions.undo(
            self._ref(ref),
            to=to_revision,
            override_gitops=override_gitops,
            dry_run=dry_run,
            manager=self.field_manager,
            user=self.user,
        )
        return self._run(operation, ref)

    def diff_revisions(self, ref: Ref | str, one: int, other: int | None = None) -> str:
        """The difference between two revisions, or between one and the live object."""
        return self._run(revisions.compare_revisions(self._ref(ref), one, other), ref)

    def merge_patch(self, ref: Ref | str, patch: Object, *, dry_run: bool = False) -> Written:
        """JSON merge patch.

        Raises:
            Invalid: It would drop items or fields from a list; the error has the patch to use instead.
        """
        operation = writing.merge_patch(self._ref(ref), patch, manager=self.field_manager, dry_run=dry_run)
        return self._change(self._ref(ref), operation, "", dry_run=dry_run)

    def json_patch(self, ref: Ref | str, operations: Iterable[Object], *, dry_run: bool = False) -> Written:
        """JSON patch, sent as it is and never tried again."""
        operation = writing.json_patch(self._ref(ref), operations, manager=self.field_manager, dry_run=dry_run)
        return self._change(self._ref(ref), operation, "", dry_run=dry_run)

    def replace(self, ref: Ref | str, mutate: Callable[[Object], Object | None], *, dry_run: bool = False) -> Written:
        """Get, mutate, replace; ``mutate`` runs again on fresh state when another writer was faster.

        Raises:
            Conflict: Others were faster at every attempt.
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
        """Set the size of a worker group, or the bounds of its size."""
        intent = Scale(group, replicas, min_replicas, max_replicas)
        return self.set(ref, intent, dry_run=dry_run, override_autoscaler=override_autoscaler, cause=cause)

    def suspend(self, ref: Ref | str) -> Written:
        """Delete the object's pods and keep the object."""
        return self.set(ref, Suspend())

    def resume(self, ref: Ref | str) -> Written:
        """Take back a suspension, and the pause of an upgrade."""
        return self._roll(ref, lambda about, live, _: rollouts.resume(about, live))

    def pause(self, ref: Ref | str) -> Written:
        """Let the clusters of upgrades become ready and wait before the switch.

        Raises:
            Invalid: Another operator acts, which has no such thing.
        """
        return self._roll(ref, rollouts.pause)

    def promote(self, ref: Ref | str) -> Written:
        """Let the pending cluster take the traffic, though upgrades are paused.

        Raises:
            Invalid: No upgrade is in progress.
        """
        return self._roll(ref, rollouts.promote)

    def abort(self, ref: Ref | str) -> Written:
        """Give up the upgrade in progress; its generation is not tried again, until ``retry`` or another edit.

        Raises:
            Invalid: No upgrade is in progress.
        """
        return self._roll(ref, rollouts.abort)

    def retry(self, ref: Ref | str, *, cause: str = "retry") -> Written:
        """Ask again for a release that was given up or aborted.

        Raises:
            Invalid: None was.
        """
        return self._roll(ref, lambda about, live, _: rollouts.retry(about, live, _now()), cause)

    def restart(self, ref: Ref | str, *, cause: str = "restart") -> Written:
        """Make a new cluster of the release that serves, and switch to it.

        Raises:
            Invalid: Its upgrade strategy makes no new clusters.
        """
        return self._roll(ref, lambda about, live, _: rollouts.restart(about, live, _now()), cause)

    def upgrade(self, ref: Ref | str, *settings: Intent, paused: bool = False, cause: str = "") -> Written:
        """Change a RayService by a new cluster, also where its Serve config alone changes.

        Args:
            ref: The service.
            settings: What changes.
            paused: Hold the new cluster before its switch, until ``promote`` or ``resume``.
            cause: Why; kept with the revision.
        """
        return self._roll(ref, lambda about, live, _: rollouts.upgrade(live, settings, paused=paused), cause)

    def rollout(self, ref: Ref | str, *settings: Intent, cause: str = "rollout") -> Written:
        """Replace the workers of a RayCluster one by one, with these settings or as they are.

        Raises:
            Invalid: Another operator acts, which cannot.
        """
        return self._roll(ref, lambda about, live, rules: rollouts.rollout(about, live, rules, settings, _now()), cause)

    def reconcile(self, ref: Ref | str) -> Written:
        """Have the operator look at an object again; nothing else changes."""
        return self._roll(ref, lambda about, live, _: rollouts.reconcile(_now()))

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
        """
        return self.reassemble(ref, *settings, cause=cause, timeout=timeout, tell=tell)

    def undo_transaction(self, ref: Ref | str) -> Written:
        """Take back a ``reassemble`` or ``edit`` that was not finished: the spec from before it, and resumed.

        Raises:
            NotFound: None is pending.
        """
        operation = transactions.undo_transaction(self._ref(ref), manager=self.field_manager, user=self.user)
        return self._run(operation, ref)

    def stuck(self, ref: Ref | str) -> Stuck:
        """Who holds which finalizer of an object, and what its removal would leave behind; nothing is changed."""
        return self._run(finalizers.inspect(self._ref(ref)), ref)

    def unstick(self, ref: Ref | str, finalizer: str = "", *, approve: str = "") -> Stuck:
        """Clean up where it is known how, and remove exactly one finalizer of an object that is being deleted.

        Args:
            ref: The object.
            finalizer: Which one; may be left out where there is but one.
            approve: The object's name, typed: without it nothing is done.

        Raises:
            UsageError: It is not approved, or not said which.
            Invalid: The object is not being deleted.
        """
        about, manager = self._ref(ref), self.field_manager
        operation = finalizers.unstick(about, finalizer, now=_now(), approve=approve, manager=manager)
        return self._run(operation, ref)

    def recreate(
        self,
        ref: Ref | str,
        wanted: Object | None = None,
        *,
        approve: str = "",
        timeout: float = 600.0,
        say: Callable[[str], None] = lambda text: None,
    ) -> Written:
        """Delete an object in the foreground and make it again, as it was or as a manifest says; history is kept.

        Raises:
            UsageError: ``approve`` is not the object's name.
            WaitTimeout: It is not gone in time; calling it again goes on.
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
        return self._run(operation, ref)

    def leftovers(self) -> tuple[Leftover, ...]:
        """Objects of the namespace whose owner is gone, or that lost it; nothing is changed."""
        return self._run(leftovers.find(self.namespace))

    def clean(self, *found: Leftover) -> None:
        """Delete leftovers whose owner is gone, and adopt those whose owner is there."""
        self._run(leftovers.clean(self.namespace, found))

    def _roll(
        self, ref: Ref | str, intents: Callable[[Ref, Object, Rules], tuple[Intent, ...]], cause: str = ""
    ) -> Written:
        about = self._ref(ref)
        live = self.get(about)
        rules = self._run(predicting.operator_of(about, live), about)
        return self.set(about, *intents(about, live, rules), cause=cause)

    def _operator(self, ref: Ref) -> Rules:
        return self._run(predicting.operator_of(ref, self.get(ref)), ref)

    def run(self, run: Run, *, name: str = "", working_dir: Path | packing.Package | None = None) -> Object:
        """Start a program as a RayJob of its own cluster, which goes when the program has ended.

        Args:
            run: The program, and what it runs on.
            name: Of the RayJob; by default the program's, with a suffix.
            working_dir: A folder of code that is uploaded, or what ``packing.pack`` made of it.

        Raises:
            Conflict: There is a RayJob of that name.
            Invalid: The folder is too large, or Ray would refuse the runtime environment.
        """
        package = packing.pack(working_dir) if isinstance(working_dir, Path) else working_dir
        ref = Ref("RayJob", name or running.suggest_name(run.command, secrets.token_hex(3)[:5]), self.namespace)
        return self._run(running.start(ref, running.manifest(run, ref, package), package), ref)

    def follow(
        self, ref: Ref | str, write: Callable[[bytes], None], tell: Callable[[str], None] | None = None
    ) -> Waited:
        """Write the log of a RayJob as it grows, attempt after attempt, until it has ended.

        Args:
            ref: The RayJob.
            write: Takes the log in parts.
            tell: Called with what the job waits for.

        Raises:
            JobFailed: It failed or was stopped.
        """
        return self._run(joblog.follow(self._ref(ref), write, tell), ref)

    def job_log(self, ref: Ref | str, write: Callable[[bytes], None]) -> None:
        """Write the log of a RayJob's latest attempt: of the live cluster, or the end that was kept.

        Raises:
            NotFound: There is none.
        """
        self._run(joblog.show(self._ref(ref), write), ref)

    def stop(self, ref: Ref | str, *, timeout: float = 120.0) -> Object:
        """End a RayJob before its time; one that Ray does not have yet is suspended.

        Raises:
            WaitTimeout: It has not ended in time.
        """
        return self._run(stopping.stop(self._ref(ref), timeout=timeout, manager=self.field_manager), ref)

    def rerun(self, ref: Ref | str, name: str = "") -> Object:
        """Start a RayJob like another one by a new name; the other one stays as it is."""
        return self._run(running.rerun(self._ref(ref), name), ref)

    def _change(self, ref: Ref, operation: Operation[Written], cause: str, *, dry_run: bool) -> Written:
        """Run a write, and record the generations before and after it."""
        written = self._run(operation, ref)
        if dry_run or not written.changed:
            return written
        notes: list[str] = []
        if written.before is not None:
            notes.append(self._run(revisions.record(ref, written.before), ref))
        notes.append(
            self._run(revisions.record(ref, written.object, cause=cause, user=self.user, before=written.before), ref)
        )
        return dataclasses.replace(written, notes=tuple(note for note in notes if note))

    def _ref(self, ref: Ref | str) -> Ref:
        return ref if isinstance(ref, Ref) else self.ref(ref)

    def _run(self, operation: Operation[T], about: Ref | str = "") -> T:
        try:
            return run(self.api, operation)
        except Exception as error:
            outcome = outcome_of(error, str(about))
            if outcome is None or outcome is error:
                raise
            raise outcome from error
