"""``rayward stop``."""

from __future__ import annotations

import click

from rayward.changes.refs import Ref
from rayward.cli.changing import changing
from rayward.cli.completion import complete_jobs
from rayward.cli.durations import DurationType
from rayward.cli.output import answer, tell
from rayward.cli.target import Target, target_options
from rayward.kube.machinery.jsonvalue import section


@click.command("stop")
@click.argument("job", metavar="NAME", shell_complete=complete_jobs)
@click.option("--timeout", type=DurationType(), default="2m", help="How long to wait until the job has ended.")
@target_options
def command(job: str, timeout: float, target: Target) -> int:
    """Stop a RayJob. One that was not submitted to Ray yet is suspended; resume or delete it.

    \b
    Examples:
      rayward stop train-x7k2p
    """  # noqa: D301
    with changing(target) as (client, session):
        session.say_where()
        ref = Ref("RayJob", job.rpartition("/")[2], session.namespace)
        status = section(client.stop(ref, timeout=timeout), "status")
    title = f"rayjob.ray.io/{ref.name}"
    phase, outcome = str(status.get("jobDeploymentStatus")), str(status.get("jobStatus") or "")
    if phase == "Suspended":
        answer(f"{title} suspended before it ran")
        tell(f'run it after all: rayward patch {ref} --type merge -p \'{{"spec":{{"suspend":false}}}}\'')
        tell(f"or remove it: rayward delete {ref}")
    elif outcome == "STOPPED":
        answer(f"{title} stopped")
    else:
        answer(f"{title} had ended: {outcome or phase}")
    return 0
