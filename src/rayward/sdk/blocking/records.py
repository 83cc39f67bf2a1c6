# Written by tools/twins.py from the module of the same name in rayward.sdk.asynchronous, never edited.
"""What is known of an object: revisions, timeline, statistics, the cause of its state; and the way back."""

from __future__ import annotations

from rayward.changes import history as revisions
from rayward.changes import leftovers
from rayward.changes.outcomes import NotFound
from rayward.changes.refs import Ref
from rayward.changes.revisions import Revision, Undo
from rayward.changes.timeline import Entry, Recorded, Store, asking, read_timeline
from rayward.changes.timeline.reading import ordered
from rayward.changes.timeline.stats import TEAM, Stats, Subject, by_team, stats_of
from rayward.changes.why import Diagnosis, Evidence, explain, gather
from rayward.changes.writing import Written
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.sdk.blocking.connection import Connection


class Records(Connection):
    """Verbs that read what happened, and ``undo``."""

    def why(self, ref: Ref | str) -> tuple[Diagnosis, Evidence]:
        """Why an object is not as it was asked for: one cause, and what it was read from.

        Raises:
            NotFound: The object is not there.

        Examples:
            >>> diagnosis, evidence = client.why("raycluster/c")
            >>> diagnosis.cause
            'raycluster/c is as its spec asks'
        """
        evidence = self._run(gather(self._ref(ref)), ref)
        return explain(evidence), evidence

    def history(self, ref: Ref | str) -> tuple[Revision, ...]:
        """Every recorded generation, the oldest first; those not recorded are marked gaps.

        Changes by kubectl and GitOps tools are in it too: the live generation is recorded by whoever looks first.

        Examples:
            >>> scaled = client.scale("raycluster/c", "small", 3, cause="a busy day")
            >>> [(one.revision, one.cause) for one in client.history("raycluster/c")]
            [(1, ''), (2, 'a busy day')]
        """
        return self._run(revisions.history(self._ref(ref)), ref)

    def recorded(self, ref: Ref | str, recorder: str = asking.DEFAULT) -> Recorded:
        """What the operator of a cluster recorded about an object, asked for through the API server.

        Args:
            ref: The object; it may be gone.
            recorder: ``NAMESPACE:PORT`` of the operator that leads, or ``NAMESPACE/POD:PORT``.

        Raises:
            NotFound, Forbidden, Unavailable: Nobody records there, or the user may not ask.

        Examples:
            >>> client.recorded("raycluster/c", "rayward-system:8080")
            Traceback (most recent call last):
            rayward.changes.outcomes.NotFound: ...
        """
        return self._run(asking.ask_recorder(self._ref(ref), asking.parse_place(recorder)), ref)

    def timeline(self, ref: Ref | str, store: Store | Recorded | None = None) -> tuple[Entry, ...]:
        """What happened to an object and what belongs to it, the oldest first.

        Args:
            ref: The object; with a store it may be gone.
            store: What the operator's process recorded, or what ``recorded`` gave; without one, what the API server
                still knows.

        Raises:
            NotFound: The object is gone, and nothing was recorded.

        Examples:
            >>> scaled = client.scale("raycluster/c", "small", 3)
            >>> [(one.name, one.what) for one in client.timeline("raycluster/c")]
            [('c', 'spec'), ('c', 'spec')]
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
        told = {(one.kind, one.name, one.text) for one in kept}
        earlier = [
            one
            for one in known
            if not kept or one.at < kept[0].at or (one.what == "event" and (one.kind, one.name, one.text) not in told)
        ]
        return ordered((*earlier, *kept))

    def stats(self, *refs: Ref | str) -> Stats:
        """How the changes of these objects went, together; of every object of the namespace where none is named.

        Examples:
            >>> stats = client.stats("raycluster/c")
            >>> stats.changes, stats.failure_rate
            (1, 0.0)
        """
        named = [self._ref(ref) for ref in refs] or [ref for ref, _ in self._roots()]
        histories = [self._run(revisions.history(ref), ref) for ref in named]
        return stats_of(histories)

    def all_stats(self, team_label: str = TEAM) -> tuple[Subject, ...]:
        """How the changes of each object of the namespace went, then those of each team.

        Args:
            team_label: The label that names an object's team; objects without it count for their namespace.

        Examples:
            >>> found = {one.name: one.stats for one in client.all_stats(team_label="team")}
            >>> found["raycluster/c"].changes
            0
        """
        histories = {
            str(ref): (str(labels.get(team_label) or ""), self._run(revisions.history(ref), ref))
            for ref, labels in self._roots()
        }
        return by_team(histories, self.namespace)

    def _roots(self) -> list[tuple[Ref, Object]]:
        """The objects that somebody asked for, with their labels."""
        named: list[tuple[Ref, Object]] = []
        for resource in (RAY_SERVICES, RAY_CLUSTERS, RAY_JOBS):
            for found in self._run(leftovers.roots(resource, self.namespace)):
                metadata = section(found, "metadata")
                named.append((Ref(resource.kind, str(metadata["name"]), self.namespace), section(metadata, "labels")))
        return named

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

        Examples:
            >>> scaled = client.scale("raycluster/c", "small", 3)
            >>> undo, written = client.undo("raycluster/c")
            >>> undo.to.revision, written.object["spec"]["workerGroupSpecs"][0]["replicas"]
            (1, 1)
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
        """The difference between two revisions, or between one and the live object.

        Examples:
            >>> scaled = client.scale("raycluster/c", "small", 3)
            >>> text = client.diff_revisions("raycluster/c", 1)
            >>> [line.strip("- +") for line in text.splitlines() if "replicas" in line]
            ['replicas: 1', 'replicas: 3']
        """
        return self._run(revisions.compare_revisions(self._ref(ref), one, other), ref)
