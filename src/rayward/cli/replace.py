"""``rayward replace``."""

from __future__ import annotations

import click

from rayward.changes.outcomes import Conflict
from rayward.changes.refs import ref_of
from rayward.changes.writing import with_manifest
from rayward.cli import manifests
from rayward.cli.changing import Waits, changing, settle, show, waiting_options
from rayward.cli.forms import Form, FormType
from rayward.cli.servetext import with_serve_text
from rayward.cli.target import Target, target_options
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.machinery.jsonvalue import Object, section


@click.command("replace")
@click.option("-f", "--filename", "files", multiple=True, required=True, help="File, or - for stdin.")
@click.option(
    "--dry-run",
    type=click.Choice(["none", "server"]),
    default="none",
    help="server: the server checks the change and does not make it.",
)
@click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
@waiting_options
@target_options
def command(files: tuple[str, ...], dry_run: str, form: Form | None, waits: Waits | None, target: Target) -> int:
    """Replace an object with a manifest: fields that the manifest leaves out are removed, whoever set them.

    If the manifest has metadata.resourceVersion, as one from `rayward get -o yaml` has, and the object has changed
    since, nothing is written and the exit code is 5. Without it the object is replaced as it is at that time.

    \b
    Examples:
      rayward get raycluster train -o yaml > train.yaml   # edit it, then:
      rayward replace -f train.yaml --wait
    """  # noqa: D301
    wanted = manifests.of_ray(manifests.read(files, recursive=False), "replace")
    if len(wanted) != 1:
        raise click.UsageError("replace takes one object; rayward apply takes several")
    body = wanted[0].value
    with changing(target) as (client, session):
        ref = ref_of(body, session.namespace)
        session.say_where()
        if ref.resource == RAY_SERVICES:
            body = with_serve_text(body)
        read_at = section(body, "metadata").get("resourceVersion")

        def mutate(live: Object) -> Object:
            if read_at and read_at != live["metadata"]["resourceVersion"]:
                why = (
                    f"the manifest is of resourceVersion {read_at}, the object of {live['metadata']['resourceVersion']}"
                )
                following = f"rayward diff -f FILE, then take metadata.resourceVersion out or read {ref} again"
                raise Conflict(f"{ref} has changed since the manifest was read", why, following, object=str(ref))
            return with_manifest(live, body)

        dry = dry_run == "server"
        done = client.replace(ref, mutate, dry_run=dry)
        show(ref, done, form, dry=dry)
        settle(client, ref, done, None if dry else waits)
    return 0
