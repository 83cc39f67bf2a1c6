"""``rayward delete``."""

from __future__ import annotations

import time
from dataclasses import dataclass

import click

from rayward.changes.deleting import propagation_of
from rayward.cli import fetch, manifests, naming
from rayward.cli.catalogue import Catalogue, Kind, read_catalogue
from rayward.cli.completion import complete_any
from rayward.cli.durations import DurationType
from rayward.cli.failure import Code, CommandError
from rayward.cli.fetch import Scope
from rayward.cli.output import answer, answer_json, output_option
from rayward.cli.target import Session, Target, target_options
from rayward.kinds.resources import GROUP
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import DeleteOptions, Propagation
from rayward.kube.machinery.jsonvalue import entries, section

_CASCADE: dict[str, Propagation] = {"background": "Background", "foreground": "Foreground", "orphan": "Orphan"}
_CASCADE_HELP = "What happens to dependents (default: foreground for Ray's kinds, background for others)."
_SHORTEST, _LONGEST = 0.05, 0.5


@dataclass(frozen=True, slots=True)
class _Doomed:
    kind: Kind
    name: str
    namespace: str | None
    uid: str = ""

    def document(self) -> dict[str, str]:
        """Which object it is, for programs."""
        resource = self.kind.resource
        known = {"namespace": self.namespace, "name": self.name, "uid": self.uid}
        said = {name: value for name, value in known.items() if value}
        return {"apiVersion": resource.api_version, "kind": resource.kind, **said}


@click.command("delete")
@click.argument("words", nargs=-1, metavar="[KIND NAME... | KIND/NAME...]", shell_complete=complete_any)
@click.option("-f", "--filename", "files", multiple=True, help="Objects of a file, folder, or - for stdin.")
@click.option("-R", "--recursive", is_flag=True, help="Also read subfolders.")
@click.option("-l", "--selector", "labels", default="", help="All objects with these labels.")
@click.option("--all", "every", is_flag=True, help="All objects of the kind in the namespace.")
@click.option("--wait/--no-wait", default=True, help="Wait until they are gone (default).")
@click.option("--timeout", type=DurationType(), default=0.0, help="How long to wait, such as 5m (default 0: forever).")
@click.option("--grace-period", "grace", type=click.IntRange(0), help="Seconds that a pod gets to terminate.")
@click.option("--force", is_flag=True, help="Delete pods from the API at once, with a grace period of 0.")
@click.option("--cascade", type=click.Choice(list(_CASCADE)), help=_CASCADE_HELP)
@click.option("--ignore-not-found", is_flag=True, help="Objects that do not exist are no error.")
@output_option
@target_options
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    recursive: bool,
    labels: str,
    every: bool,
    wait: bool,
    timeout: float,
    grace: int | None,
    force: bool,
    cascade: str | None,
    ignore_not_found: bool,
    form: str,
    target: Target,
) -> None:
    """Delete objects, and wait until they are gone.

    \b
    Examples:
      rayward delete rayservice/shop
      rayward delete -f service.yaml --ignore-not-found
      rayward delete pods -l app=web --no-wait
    """  # noqa: D301
    options = DeleteOptions()
    if grace is not None or force:
        options["grace_period_seconds"] = 0 if force else grace or 0
    with target.open() as session:
        catalogue = read_catalogue(session.client)
        if files:
            doomed = _written(session, catalogue, files, recursive=recursive)
        else:
            doomed = _named(session, catalogue, words, labels, every=every)
        session.say_where()
        missing: NotFound | None = None
        gone: list[_Doomed] = []
        absent: list[_Doomed] = []
        for one in doomed:
            try:
                options["propagation_policy"] = _CASCADE[cascade] if cascade else _propagation(session, one)
                session.client.delete(one.kind.resource, one.name, one.namespace, **options)
            except NotFound as error:
                missing = missing or error
                absent.append(one)
                continue
            gone.append(one)
            if form != "json":
                answer(told(one.kind, one.name, one.namespace, force=force))
        if form == "json":
            _answer_json(gone, absent)
        if wait:
            _until_gone(session, gone, timeout)
        if missing is not None and not ignore_not_found:
            raise missing


def _propagation(session: Session, one: _Doomed) -> Propagation:
    resource = one.kind.resource
    if resource.group != GROUP:
        return "Background"
    return propagation_of({"kind": resource.kind, **session.client.get(resource, one.name, one.namespace)})


def _answer_json(gone: list[_Doomed], absent: list[_Doomed]) -> None:
    answer_json(
        {
            "apiVersion": "cli.rayward/v1",
            "kind": "Delete",
            "deleted": [one.document() for one in gone],
            "notFound": [one.document() for one in absent],
        }
    )


def told(kind: Kind, name: str, namespace: str | None, *, force: bool) -> str:
    """What kubectl says of a deleted object."""
    verb = "force deleted" if force else "deleted"
    return f'{kind.title} "{name}" {verb}' + (f" from {namespace} namespace" if namespace else "")


def _written(session: Session, catalogue: Catalogue, files: tuple[str, ...], *, recursive: bool) -> list[_Doomed]:
    """The objects of manifests, the last first: what was made later may need what was made before."""
    doomed: list[_Doomed] = []
    for manifest in reversed(manifests.read(files, recursive=recursive)):
        kind = catalogue.of(str(manifest.value["apiVersion"]), manifest.kind)
        if kind is None:
            # without its kind there can be no object of it
            continue
        own = section(manifest.value, "metadata").get("namespace") or session.namespace
        doomed.append(_found(session, kind, manifest.name, own if kind.resource.namespaced else None))
    return doomed


def _named(
    session: Session, catalogue: Catalogue, words: tuple[str, ...], labels: str, *, every: bool
) -> list[_Doomed]:
    asked = naming.parse(words, catalogue, verb="delete")
    scope = Scope(session.namespace, labels)
    if not any(one.names for one in asked) and not labels and not every:
        why = "no name, no selector and not --all"
        raise CommandError(Code.USAGE, "say which to delete", why, f"rayward delete {words[0]} NAME   # or --all")
    if any(one.names for one in asked) and (labels or every):
        raise CommandError(Code.USAGE, "names exclude --selector and --all", "", "leave one of them out")
    doomed: list[_Doomed] = []
    for one in asked:
        namespace = scope.place(one.kind)
        doomed += [_found(session, one.kind, name, namespace) for name in one.names]
        if not one.names:
            for item in fetch.objects(session.client, one, scope, []).items:
                metadata = item["metadata"]
                doomed.append(_Doomed(one.kind, metadata["name"], metadata.get("namespace"), metadata["uid"]))
    return doomed


def _found(session: Session, kind: Kind, name: str, namespace: str | None) -> _Doomed:
    try:
        uid = session.client.get(kind.resource, name, namespace)["metadata"]["uid"]
    except NotFound:
        uid = ""
    return _Doomed(kind, name, namespace, uid)


def _until_gone(session: Session, doomed: list[_Doomed], timeout: float) -> None:
    deadline = time.monotonic() + timeout if timeout else float("inf")
    for one in doomed:
        pause = _SHORTEST
        while True:
            try:
                left = session.client.get(one.kind.resource, one.name, one.namespace)
            except NotFound:
                break
            if left["metadata"]["uid"] != one.uid:
                break
            if time.monotonic() > deadline:
                raise _still_there(one, entries(left["metadata"], "finalizers"), timeout)
            time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(pause * 1.5, _LONGEST)


def _still_there(one: _Doomed, finalizers: list[str], timeout: float) -> CommandError:
    what = f"{naming.title(one.kind, one.name)} is still there after {timeout:g} s; it is being deleted"
    why = f"finalizers keep it: {', '.join(finalizers)}" if finalizers else "it has not ended yet"
    place = f" -n {one.namespace}" if one.namespace else ""
    return CommandError(Code.TIMEOUT, what, why, f"rayward describe {one.kind.title} {one.name}{place}")
