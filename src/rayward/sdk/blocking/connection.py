# Written by tools/twins.py from the module of the same name in rayward.sdk.asynchronous, never edited.
"""The connection of a client: which server, which namespace, and how one operation of the playbook runs on it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from rayward.changes import history as revisions
from rayward.changes import writing
from rayward.changes.outcomes import outcome_of
from rayward.changes.refs import Ref, parse_ref
from rayward.changes.steps import Operation, run
from rayward.changes.writing import Written
from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient as ApiClient
from rayward.kube.machinery.jsonvalue import Object
from rayward.sdk import local
from rayward.sdk.local import LocalServer

T = TypeVar("T")


class Connection:
    """One API server and one namespace, with the name that writes are made by."""

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

        Examples:
            >>> with Client.local(namespace="default") as client:  # doctest: +SKIP
            ...     client.apply(manifest)
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

        Examples:
            >>> with Client.connect(access, namespace="shops") as shops:
            ...     str(shops.ref("rayservice/shop"))
            'rayservice/shop'
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
        """Close every connection, and end the server that ``local`` started.

        Examples:
            >>> client.close()
        """
        self.api.close()
        if self._server is not None:
            self._server.stop()

    def ref(self, *words: str) -> Ref:
        """The object that ``"rayservice/shop"`` or ``"rayservice", "shop"`` names, in this client's namespace.

        Examples:
            >>> client.ref("rayservice/shop") == client.ref("rayservice", "shop")
            True
            >>> str(client.ref("service", "shop"))
            'rayservice/shop'
        """
        return parse_ref(words, self.namespace)

    def get(self, ref: Ref | str) -> Object:
        """The object as the server has it.

        Raises:
            NotFound: It is not there.

        Examples:
            >>> (client.get("raycluster/c"))["spec"]["rayVersion"]
            '2.60.0'
            >>> client.get("raycluster/nobody")
            Traceback (most recent call last):
            rayward.changes.outcomes.NotFound: ...
        """
        return self._run(writing.read(self._ref(ref)), ref)

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
