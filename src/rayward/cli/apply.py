"""``rayward apply``."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Literal

import click
import orjson

from rayward.changes.judging import Verdict
from rayward.changes.outcomes import ChangeError
from rayward.changes.refs import RESOURCES
from rayward.changes.writing import Written
from rayward.cli import manifests, naming
from rayward.cli.catalogue import Catalogue, Kind, read_catalogue
from rayward.cli.changing import current_user
from rayward.cli.durations import DurationType
from rayward.cli.explain import explained
from rayward.cli.failure import Code, CommandError
from rayward.cli.forms import Form, FormType, as_list, rendered, without_managed
from rayward.cli.manifests import Manifest
from rayward.cli.output import answer, tell, tell_failure
from rayward.cli.quotacheck import check, is_queued, read_ledger
from rayward.cli.servetext import with_serve_text
from rayward.cli.target import Session, Target, target_options
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client import verbs
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.options import PatchOptions, PatchType
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.sdk import Client

MANAGER = "rayward"
_ESTABLISHED_SECONDS = 30.0
_warning = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"').findall


@click.command("apply")
@click.option("-f", "--filename", "files", multiple=True, help="File, folder, or - for stdin.")
@click.option("--plan", type=click.Path(path_type=Path, dir_okay=False), help="A plan that rayward plan saved.")
@click.option("-R", "--recursive", is_flag=True, help="Also folders inside folders.")
@click.option("--server-side", is_flag=True, expose_value=False, help="Always so; taken for kubectl's sake.")
@click.option("--force-conflicts", is_flag=True, help="Take over fields that others own.")
@click.option("--dry-run", type=click.Choice(["none", "server"]), default="none", help="Ask, and change nothing.")
@click.option("--wait/--no-wait", default=False, help="Wait until Ray's objects are as asked.")
@click.option("--timeout", type=DurationType(), default="10m", help="How long to wait; 0 waits for ever.")
@click.option("--on-failure", type=click.Choice(["rollback", "hold"]), help="What to do with a change that fails.")
@click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
@target_options
def command(
    files: tuple[str, ...],
    plan: Path | None,
    recursive: bool,
    force_conflicts: bool,
    dry_run: str,
    wait: bool,
    timeout: float,
    on_failure: Literal["rollback", "hold"] | None,
    form: Form | None,
    target: Target,
) -> int:
    """Make objects as manifests say, or change them to it (server-side apply)."""
    if plan is not None:
        return _apply_plan(plan, form, target)
    if not files:
        raise click.UsageError("Missing option '-f' / '--filename'.")
    wanted = manifests.read(files, recursive=recursive)
    with target.open() as session:
        session.say_where()
        flag = " ".join(f"-f {file}" for file in files)
        applying = _Applying(session, target.namespace, flag, force=force_conflicts, dry=dry_run == "server")
        for manifest in wanted:
            applying.one(manifest, form)
        if form is not None:
            _show(applying.done, form)
        if not applying.code and dry_run == "none":
            applying.code = _quota_code(session, applying.written)
        if wait and not applying.code and dry_run == "none":
            for written in applying.written:
                _settle(applying.sdk, written, timeout, on_failure)
        return applying.code


def _quota_code(session: Session, written: list[Written]) -> int:
    """7 where something that was applied can never fit in its queue; whatever ran before runs on."""
    queued = [one.object for one in written if is_queued(one.object)]
    ledger = read_ledger(session.client) if queued else None
    code = 0
    for one in queued:
        found = check(session.client, ledger, one, session.namespace, applied=True) if ledger is not None else None
        if found is not None and found.verdict.never_fits:
            what = f"{found.object} was applied and is blocked by quota; what ran before runs on"
            tell_failure(
                CommandError(Code.QUOTA, what, found.verdict.never_fits, "rayward quota", reason="QuotaBlocked")
            )
            code = Code.QUOTA
    return code


def _settle(client: Client, written: Written, timeout: float, on_failure: Literal["rollback", "hold"] | None) -> None:
    name = f"{str(written.object['kind']).lower()}/{written.object['metadata']['name']}"

    def say(verdict: Verdict) -> None:
        tell(f"{name}: {verdict}")

    waited = client.settle(written, timeout=timeout, on_failure=on_failure, tell=say)
    tell(f"{name}: done after {waited.seconds:.0f} s")


def _apply_plan(file: Path, form: Form | None, target: Target) -> int:
    from rayward.changes.refs import ref_of
    from rayward.cli.changing import changing, show

    try:
        document: Object = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        following = f"rayward plan -f FILE --out {file}"
        raise CommandError(Code.USAGE, f"{file} is not a plan", str(error), following) from error
    with changing(target) as (client, session):
        session.say_where()
        done = client.apply_plan(document)
        show(ref_of(done.object), done, form, dry=False)
    return 0


def _show(done: list[tuple[Kind, Object]], form: Form) -> None:
    if form.name == "name":
        for kind, made in done:
            answer(naming.title(kind, made["metadata"]["name"]))
        return
    objects = [without_managed(made) for _, made in done]
    if objects:
        answer(rendered(objects[0] if len(objects) == 1 else as_list(objects), form))


class _Applying:
    """Applies one manifest after the other; one that fails does not keep the others back."""

    def __init__(self, session: Session, namespace: str | None, flag: str, *, force: bool, dry: bool) -> None:
        self._session = session
        self._asked = namespace
        self._flag = flag
        self._force = force
        self._dry = dry
        self._catalogue: Catalogue | None = None
        self._unsettled: list[str] = []
        self.done: list[tuple[Kind, Object]] = []
        self.sdk = Client(session.client, namespace=session.namespace, user=current_user())
        self.written: list[Written] = []
        """What was applied of Ray's kinds."""
        self.code = 0

    def one(self, manifest: Manifest, form: Form | None) -> None:
        """Apply one manifest and say how it went."""
        try:
            kind, made, outcome = self._apply(manifest)
        except (ApiError, ChangeError, CommandError) as error:
            told = explained(error)
            assert told is not None
            what = f"{manifest.kind.lower()}/{manifest.name or '?'} in {manifest.source}: {told.what}"
            following = told.following.replace("-f ...", self._flag)
            failure = CommandError(told.code, what, told.why, following, reason=told.reason)
            tell_failure(failure, as_json=form is not None and form.name == "json")
            self.code = self.code or told.code
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
            written = self.sdk.apply(body, force_conflicts=self._force, dry_run=self._dry)
            self.written.append(written)
            for note in (*written.notes, *(f"took {one.field} from {one.manager}" for one in written.taken)):
                tell(note)
            return kind, written.object, outcome(written.before, written.object)
        name, namespace = manifest.name, section(body, "metadata").get("namespace")
        client = self._session.client
        try:
            before = client.get(kind.resource, name, namespace)
        except NotFound:
            before = None
        options = PatchOptions(field_manager=MANAGER, force=self._force, dry_run=self._dry, field_validation="Strict")
        response = client.answer(verbs.patch(kind.resource, name, body, PatchType.APPLY, namespace, **options))
        for warning in _warning(response.headers.get("warning", "")):
            tell(f"Warning: {warning}")
        made: Object = orjson.loads(response.body)
        return kind, made, outcome(before, made)

    def _kind(self, manifest: Manifest) -> Kind:
        if self._catalogue is None:
            self._catalogue = read_catalogue(self._session.client)
        version = str(manifest.value["apiVersion"])
        found = self._catalogue.of(version, manifest.kind)
        if found is None:
            what = f'the server has no kind "{manifest.kind}" in version "{version}"'
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
