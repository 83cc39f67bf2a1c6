"""``rayward apply``."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import click
import orjson

from rayward.changes import outcomes
from rayward.changes.outcomes import ChangeError
from rayward.changes.refs import RESOURCES, ref_of
from rayward.changes.steps import run
from rayward.changes.strategies import Strategy
from rayward.changes.writing import Written
from rayward.cli import manifests, naming, precheck
from rayward.cli.catalogue import Catalogue, Kind, read_catalogue
from rayward.cli.changing import Waits, current_user, tell_taken
from rayward.cli.durations import DurationType
from rayward.cli.explain import explained
from rayward.cli.failure import Code, CommandError
from rayward.cli.forms import Form, FormType, as_list, rendered, without_managed
from rayward.cli.live import progress_of
from rayward.cli.manifests import Manifest
from rayward.cli.output import answer, tell, tell_failure
from rayward.cli.servetext import with_serve_text
from rayward.cli.target import Session, Target, target_options
from rayward.kinds.kueue import renames
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client import verbs
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.options import PatchOptions, PatchType
from rayward.kube.client.request import Response
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.sdk import Client
from rayward.sdk.queueing import UncountableError, check, is_queued, read_ledger

MANAGER = "rayward"
_ESTABLISHED_SECONDS = 30.0
_STRATEGIES = list(get_args(Strategy))
_warning = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"').findall


@click.command("apply")
@click.option("-f", "--filename", "files", multiple=True, help="File, folder, or - for stdin.")
@click.option("--plan", type=click.Path(path_type=Path, dir_okay=False), help="A plan that rayward plan saved.")
@click.option("-R", "--recursive", is_flag=True, help="Also read subfolders.")
@click.option(
    "--server-side",
    is_flag=True,
    expose_value=False,
    help="Accepted for compatibility with kubectl; apply is always server-side.",
)
@click.option("--force-conflicts", is_flag=True, help="Take over fields that others own.")
@click.option(
    "--dry-run",
    type=click.Choice(["none", "server"]),
    default="none",
    help="server: the server checks the change and does not make it.",
)
@click.option("--wait/--no-wait", default=False, help="Wait until the change is complete.")
@click.option("--strategy", type=click.Choice(_STRATEGIES), help="How the change is made, where the kind allows it.")
@click.option("--lint/--no-lint", default=True, help="Refuse what the operator would reject (default).")
@click.option("--cause", default="", envvar="RAYWARD_CAUSE", help="Reason for the change; recorded with the revision.")
@click.option("--timeout", type=DurationType(), default="10m", help="How long to wait, such as 10m; 0 waits forever.")
@click.option("--on-failure", type=click.Choice(["rollback", "hold"]), help="Roll a failed change back, or leave it.")
@click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
@target_options
def command(
    files: tuple[str, ...],
    plan: Path | None,
    recursive: bool,
    force_conflicts: bool,
    dry_run: str,
    wait: bool,
    strategy: Strategy | None,
    lint: bool,
    cause: str,
    timeout: float,
    on_failure: Literal["rollback", "hold"] | None,
    form: Form | None,
    target: Target,
) -> int:
    """Create or update objects from manifests (server-side apply).

    Several documents are one change: all are checked before any is written.

    \b
    Examples:
      rayward apply -f service.yaml --wait
      rayward apply -f service.yaml --strategy new-cluster --wait --on-failure rollback
      rayward apply --plan plan.json
    """  # noqa: D301
    if plan is not None:
        if files or strategy or force_conflicts:
            word = "-f" if files else "--strategy" if strategy else "--force-conflicts"
            raise click.UsageError(f"a plan says what is applied and how: give {word} to rayward plan")
        waits = Waits(timeout, on_failure) if wait and dry_run == "none" else None
        return _apply_plan(plan, form, target, waits, dry=dry_run == "server", cause=cause)
    if not files:
        raise click.UsageError("Missing option '-f' / '--filename'.")
    wanted = manifests.read(files, recursive=recursive)
    with target.open() as session:
        session.say_where()
        flag = " ".join(f"-f {file}" for file in files)
        how = _How(force=force_conflicts, dry=dry_run == "server", strategy=strategy, lint=lint, cause=cause)
        applying = _Applying(session, target.namespace, flag, how)
        applying.check(wanted, form)
        if applying.code:
            if len(wanted) > 1:
                tell("nothing was applied")
            return applying.code
        applying.all(wanted, form)
        if form is not None:
            _show(applying.done, form)
        if not applying.code and dry_run == "none":
            applying.code = _quota_code(session, applying.written)
        if wait and not applying.code and dry_run == "none" and applying.written:
            applying.code = _settle(applying.sdk, applying.written, Waits(timeout, on_failure), form)
        return applying.code


def _quota_code(session: Session, written: list[Written]) -> int:
    """7 where something that was applied can never fit in its queue, or has none; whatever ran before runs on."""
    queued = [one.object for one in written if is_queued(one.object)]
    ledger = run(session.client, read_ledger()) if queued else None
    code = 0
    for one in queued:
        if ledger is None:
            break
        try:
            found = run(session.client, check(ledger, one, session.namespace, applied=True))
        except UncountableError:
            # the operator rejects it, and says why
            continue
        if found is not None and found.verdict.is_blocked:
            what = f"{found.object} was applied and is blocked by quota; the previous revision keeps running"
            tell_failure(CommandError(Code.QUOTA, what, found.verdict.message, "rayward quota", reason="QuotaBlocked"))
            code = Code.QUOTA
    return code


def _settle(client: Client, written: Sequence[Written], waits: Waits, form: Form | None) -> int:
    """Wait for all objects and say how each ended; the code is that of the first that failed."""
    refs = [ref_of(one.object, client.namespace) for one in written]
    with progress_of(refs) as say:
        ends = client.settle_all(written, timeout=waits.timeout, on_failure=waits.on_failure, tell=say)
    code = 0
    for ref, end in zip(refs, ends, strict=True):
        if isinstance(end, ChangeError):
            told = explained(end)
            assert told is not None
            tell_failure(told, as_json=form is not None and form.name == "json")
            code = code or told.code
        else:
            tell(f"{ref}: done after {end.seconds:.0f} s")
    return code


def _apply_plan(file: Path, form: Form | None, target: Target, waits: Waits | None, *, dry: bool, cause: str) -> int:
    from rayward.cli.changing import changing, settle, show

    try:
        document: Object = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        following = f"rayward plan -f FILE --out {file}"
        raise CommandError(Code.USAGE, f"{file} is not a plan", str(error), following) from error
    with changing(target) as (client, session):
        session.say_where()
        done = client.apply_plan(document, dry_run=dry, cause=cause)
        ref = ref_of(done.object)
        show(ref, done, form, dry=dry)
        settle(client, ref, done, waits)
    return 0


def _show(done: list[tuple[Kind, Object]], form: Form) -> None:
    if form.name == "name":
        for kind, made in done:
            answer(naming.title(kind, made["metadata"]["name"]))
        return
    objects = [without_managed(made) for _, made in done]
    if objects:
        answer(rendered(objects[0] if len(objects) == 1 else as_list(objects), form))


@dataclass(frozen=True, slots=True)
class _How:
    """What the flags say."""

    force: bool = False
    dry: bool = False
    strategy: Strategy | None = None
    lint: bool = True
    cause: str = ""


class _Applying:
    """Checks all manifests, then applies one after the other."""

    def __init__(self, session: Session, namespace: str | None, flag: str, how: _How) -> None:
        self._session = session
        self._asked = namespace
        self._flag = flag
        self._how = how
        self._dry = how.dry
        self._catalogue: Catalogue | None = None
        self._unsettled: list[str] = []
        self.done: list[tuple[Kind, Object]] = []
        self.sdk = Client(session.client, namespace=session.namespace, user=current_user())
        self.written: list[Written] = []
        """What was applied of Ray's kinds."""
        self.code = 0

    def check(self, wanted: Sequence[Manifest], form: Form | None) -> None:
        """Ask about every manifest before any is written, and say what stands against each.

        What needs a namespace or a kind that comes with the same change cannot be asked about before that is there.
        """
        spaces = {one.name for one in wanted if one.kind == "Namespace"}
        for manifest in wanted:
            try:
                self._check(manifest, wanted, spaces)
            except (ApiError, ChangeError, CommandError) as error:
                self._failed(manifest, error, form)

    def _check(self, manifest: Manifest, wanted: Sequence[Manifest], spaces: set[str]) -> None:
        if self._is_defined_by(manifest, wanted):
            return
        kind = self._kind(manifest)
        if self._how.lint:
            precheck.check(manifest)
        body = self._placed(manifest, kind)
        is_ray = kind.resource in RESOURCES.values()
        if len(wanted) == 1 and not is_ray:
            # the write itself is the check
            return
        try:
            if is_ray:
                body = with_serve_text(body, quiet=True) if kind.resource == RAY_SERVICES else body
                how = self._how
                found = self.sdk.check(body, strategy=how.strategy, force_conflicts=how.force, lint=how.lint)
                for refusal in found:
                    raise refusal.error
            else:
                self._patch(kind, manifest.name, body, dry=True)
        except (NotFound, outcomes.NotFound):
            if section(body, "metadata").get("namespace") not in spaces:
                raise

    def _is_defined_by(self, manifest: Manifest, wanted: Sequence[Manifest]) -> bool:
        """Whether a definition in the same change makes the kind."""
        defined = (section(one.value, "spec") for one in wanted if one.kind == "CustomResourceDefinition")
        group = str(manifest.value["apiVersion"]).rpartition("/")[0]
        return any((one.get("group"), section(one, "names").get("kind")) == (group, manifest.kind) for one in defined)

    def _failed(self, manifest: Manifest, error: Exception, form: Form | None) -> None:
        told = explained(error)
        assert told is not None
        what = f"{manifest.kind.lower()}/{manifest.name or '?'} in {manifest.source}: {told.what}"
        following = told.following.replace("-f ...", self._flag)
        places = precheck.hints(manifest) if not isinstance(error, CommandError) and told.code == Code.INVALID else ""
        why = "\n".join(part for part in (places, told.why) if part)
        failure = CommandError(told.code, what, why, following, reason=told.reason)
        failure.object, failure.field = told.object, told.field
        tell_failure(failure, as_json=form is not None and form.name == "json")
        self.code = self.code or told.code

    def all(self, wanted: Sequence[Manifest], form: Form | None) -> None:
        """Apply one after the other, and say how far it came where it is interrupted."""
        for count, manifest in enumerate(wanted):
            try:
                self.one(manifest, form)
            except KeyboardInterrupt:
                tell(f"interrupted: {count} of {len(wanted)} objects were applied; the same command applies the rest")
                raise

    def one(self, manifest: Manifest, form: Form | None) -> None:
        """Apply one manifest and say how it went; one that fails does not keep the others back."""
        try:
            kind, made, outcome = self._apply(manifest)
        except (ApiError, ChangeError, CommandError) as error:
            self._failed(manifest, error, form)
            return
        self.done.append((kind, made))
        if kind.resource == CUSTOM_RESOURCE_DEFINITIONS and not self._dry:
            self._unsettled.append(manifest.name)
        if kind.resource == RAY_CLUSTERS and not self._dry:
            tell(f"dashboard and ray:// address: rayward get raycluster {manifest.name}")
            tell(f"its token, if it asks for one: rayward get token {manifest.name}")
        if form is None:
            answer(f"{naming.title(kind, manifest.name)} {outcome}{' (server dry run)' if self._dry else ''}")

    def _apply(self, manifest: Manifest) -> tuple[Kind, Object, str]:
        if not manifest.comes_first:
            self._settle()
        kind = self._kind(manifest)
        body = self._placed(manifest, kind)
        if kind.resource == RAY_SERVICES:
            body = with_serve_text(body)
        if kind.resource in RESOURCES.values():
            how = self._how
            written = self.sdk.apply(
                body, strategy=how.strategy, force_conflicts=how.force, dry_run=how.dry, cause=how.cause
            )
            self.written.append(written)
            for note in written.notes:
                tell(note)
            tell_taken(written)
            return kind, written.object, outcome(written.before, written.object)
        name, namespace = manifest.name, section(body, "metadata").get("namespace")
        client = self._session.client
        try:
            before = client.get(kind.resource, name, namespace)
        except NotFound:
            before = None
        response = self._patch(kind, name, body, dry=self._dry)
        for warning in _warning(response.headers.get("warning", "")):
            tell(f"Warning: {warning}")
        made: Object = orjson.loads(response.body)
        return kind, made, outcome(before, made)

    def _patch(self, kind: Kind, name: str, body: Object, *, dry: bool) -> Response:
        options = PatchOptions(field_manager=MANAGER, force=self._how.force, dry_run=dry, field_validation="Strict")
        namespace = section(body, "metadata").get("namespace")
        request = verbs.patch(kind.resource, name, body, PatchType.APPLY, namespace, **options)
        return self._session.client.answer(request)

    def _kind(self, manifest: Manifest) -> Kind:
        if self._catalogue is None:
            self._catalogue = read_catalogue(self._session.client)
        version = str(manifest.value["apiVersion"])
        found = self._catalogue.of(version, manifest.kind)
        if found is None:
            what = f'the server has no kind "{manifest.kind}" in version "{version}"'
            near = precheck.near_kind(manifest.kind, self._catalogue.kinds_of(version))
            if near:
                raise CommandError(Code.INVALID, what, f"did you mean {near}?", f"write kind: {near} and apply again")
            if renames.is_earlier(version) and self._catalogue.of(renames.VERSION, manifest.kind):
                remedy = "; ".join([*renames.rewrites(manifest.value), "apply again"])
                raise CommandError(Code.INVALID, what, f"it has {renames.VERSION}", remedy)
            raise CommandError(Code.NOT_FOUND, what, "its definition is not installed", "apply its CRD first")
        return found

    def _placed(self, manifest: Manifest, kind: Kind) -> Object:
        metadata = section(manifest.value, "metadata")
        if not manifest.name:
            why = "apply finds its object by metadata.name"
            raise CommandError(Code.INVALID, "it has no name", why, "write metadata.name; generateName is for create")
        if not kind.resource.namespaced:
            return manifest.value
        own = metadata.get("namespace")
        if own and self._asked and own != self._asked:
            what = f'it says namespace "{own}", the command says "{self._asked}"'
            raise CommandError(Code.USAGE, what, "", f"rayward apply -n {own} {self._flag}")
        return {**manifest.value, "metadata": {**metadata, "namespace": own or self._session.namespace}}

    def _settle(self) -> None:
        """Kinds that were just defined exist once their definition is established."""
        deadline = time.monotonic() + _ESTABLISHED_SECONDS
        while self._unsettled:
            found = self._session.client.get(CUSTOM_RESOURCE_DEFINITIONS, self._unsettled[-1])
            conditions = entries(section(found, "status"), "conditions")
            if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
                self._unsettled.pop()
                self._catalogue = None
                continue
            if time.monotonic() > deadline:
                why = "; ".join(str(one.get("message")) for one in conditions) or "it has no conditions yet"
                what = f"the definition {self._unsettled[-1]} is not established"
                raise CommandError(Code.TIMEOUT, what, why, f"rayward describe crd {self._unsettled[-1]}")
            time.sleep(0.05)


def outcome(before: Object | None, after: Object) -> str:
    """What an apply did, in kubectl's words."""
    if before is None:
        return "created"
    return "unchanged" if _essence(before) == _essence(after) else "configured"


def _essence(obj: Object) -> Object:
    """An object without what moves by itself; a dry run moves no version, so versions do not tell."""
    metadata = section(obj, "metadata")
    kept = {name: value for name, value in metadata.items() if name not in ("managedFields", "resourceVersion")}
    return {**obj, "metadata": kept}
