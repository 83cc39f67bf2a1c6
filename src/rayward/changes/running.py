"""A program as a RayJob: the manifest of a run, how its code gets there, and how it is stopped and run again."""

from __future__ import annotations

import copy
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from rayward.changes import codesecrets
from rayward.changes.codesecrets import MANAGER
from rayward.changes.compiler import compile_patch
from rayward.changes.intents import Intent
from rayward.changes.outcomes import Conflict, Invalid, NotFound, UsageError
from rayward.changes.packing import Package
from rayward.changes.refs import Ref
from rayward.changes.steps import Operation, Send
from rayward.kinds import labels, names, runtimeenv
from rayward.kinds.resources import RAY_JOBS
from rayward.kinds.serveconfig.finding import ServeConfigError
from rayward.kube.client import errors, verbs
from rayward.kube.client.options import WriteOptions
from rayward.kube.core.resource import SECRETS
from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.kube.machinery.patch import json_patch

_HEAD_CPUS: Final = "1"
_HEAD_MEMORY: Final = "2Gi"
_MOST_RERUNS: Final = 1000
_NOT_COPIED: Final = frozenset(
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        labels.ATTEMPT,
        labels.ATTEMPTS,
        labels.CONDITIONS,
        labels.SUSPENDED_BY,
        labels.TRANSACTION,
    )
)
_INTERPRETERS: Final = re.compile(r"(?:.*/)?(?:python[\d.]*|sh|bash|uv|env)$").match
_unwanted: Final = re.compile(r"[^a-z0-9]+").sub
_numbered: Final = re.compile(r"(.+)-(\d{1,4})$").match


@dataclass(frozen=True, slots=True)
class Run:
    """What somebody wants to run, and on what.

    Attributes:
        command: The program and its arguments.
        image: The image of every pod.
        ray_version: The version of Ray in it.
        cpus, gpus, memory: Of each pod that computes: of every worker, or of the head where there are no workers.
        workers: How many workers; with some, the head runs no tasks.
        runtime_env: Ray's runtime environment, as YAML.
        retries: How often a failed attempt is followed by another, on a new cluster.
    """

    command: tuple[str, ...]
    image: str
    ray_version: str
    cpus: str = _HEAD_CPUS
    gpus: int = 0
    memory: str = _HEAD_MEMORY
    workers: int = 0
    runtime_env: str = ""
    retries: int = 0


def suggest_name(command: tuple[str, ...], suffix: str) -> str:
    """A name from the program's, and a suffix that makes it a new one."""
    # what follows -c is a program, and no name of one
    named = command[: command.index("-c")] if "-c" in command else command
    words = [word for word in named if not word.startswith("-") and not _INTERPRETERS(word)]
    stem = words[0].rpartition("/")[2].partition(".")[0] if words else ""
    plain = _unwanted("-", stem.lower()).strip("-")
    plain = plain if plain[:1].isalpha() else f"job-{plain}".strip("-")
    return f"{plain[: names.JOB_MAX - len(suffix) - 1].strip('-')}-{suffix}"


def manifest(run: Run, ref: Ref, package: Package | None) -> Object:
    """The RayJob of a run.

    Raises:
        UsageError: There is nothing to run, or an amount is none.
        Invalid: Ray would refuse the runtime environment.
    """
    if not run.command:
        raise UsageError("there is nothing to run", "the program comes after --", "rayward run -- python train.py")
    for flag, text in (("--cpus", run.cpus), ("--memory", run.memory)):
        try:
            quantity.parse(text)
        except quantity.QuantityError as error:
            following = "rayward run --cpus 4 --memory 8Gi -- ..."
            raise UsageError(f"{flag} {text} is not a quantity", str(error), following) from error
    amounts: Object = {"cpu": run.cpus, "memory": run.memory, **({"nvidia.com/gpu": str(run.gpus)} if run.gpus else {})}
    own: Object = {"cpu": _HEAD_CPUS, "memory": _HEAD_MEMORY} if run.workers else amounts
    spec: Object = {
        "entrypoint": shlex.join(run.command),
        "submissionMode": "HTTPMode",
        "shutdownAfterJobFinishes": True,
        "backoffLimit": run.retries,
        "rayClusterSpec": {
            "rayVersion": run.ray_version,
            "authOptions": {"mode": "token"},
            "headGroupSpec": {
                "rayStartParams": {"num-cpus": "0"} if run.workers else {},
                "template": _template("ray-head", run, own, package),
            },
            "workerGroupSpecs": [_workers(run, amounts, package)] if run.workers else [],
        },
    }
    environment = _runtime_env(run, package)
    if environment:
        spec["runtimeEnvYAML"] = environment
    return {
        "apiVersion": RAY_JOBS.api_version,
        "kind": RAY_JOBS.kind,
        "metadata": {"name": ref.name, "namespace": ref.namespace},
        "spec": spec,
    }


def start(ref: Ref, wanted: Object, package: Package | None, *, strict: bool = False) -> Operation[Object]:
    """Create a RayJob, its code before it: a job that waits for code would wait for ever if nobody came back.

    ``strict`` has the server refuse fields that it does not know.

    Raises:
        Conflict: There is a RayJob of that name.
    """
    if package is not None:
        yield from codesecrets.upload(ref.namespace, package)
    options = WriteOptions(field_manager=MANAGER)
    if strict:
        options["field_validation"] = "Strict"
    try:
        made: Object = yield Send(verbs.create(RAY_JOBS, wanted, ref.namespace, **options))
    except errors.AlreadyExists as error:
        following = f"rayward rerun {ref.name}   # or choose another name: --name NAME"
        raise Conflict(f"{ref} exists already", "a run is a new object", following, object=str(ref)) from error
    for secret in codesecrets.used_by(made)[:1]:
        yield from codesecrets.own(secret, made)
    return made


def rerun(ref: Ref, name: str = "", intents: Iterable[Intent] = ()) -> Operation[Object]:
    """Create a RayJob like another one but for ``intents``, by a name of its own; the other one stays.

    Raises:
        NotFound: It, a group that an intent names, or the code that was uploaded for it, is not there.
        Conflict: There is a RayJob of that name.
        Invalid: RayJobs have no such field.
    """
    wishes = tuple(intents)
    found: Object = yield Send(verbs.get(RAY_JOBS, ref.name, ref.namespace))
    for secret in codesecrets.used_by(found):
        try:
            yield Send(verbs.get(SECRETS, secret, ref.namespace))
        except errors.NotFound as error:
            what = f"the code that was uploaded for {ref} is gone"
            raise NotFound(what, error.message, "rayward run --working-dir DIR -- ...", object=str(ref)) from error
    stem, number = _numbers(ref.name)
    for following in range(number + 1, number + _MOST_RERUNS):
        chosen = name or f"{stem[: names.JOB_MAX - len(str(following)) - 1].rstrip('-')}-{following}"
        try:
            wanted = changed(copied(found, chosen), wishes)
            made: Object = yield from start(Ref(ref.kind, chosen, ref.namespace), wanted, None, strict=bool(wishes))
        except Conflict:
            if name:
                raise
            continue
        return made
    raise Conflict(f"{ref} has been run again too often", "", f"rayward rerun {ref.name} --name NAME", object=str(ref))


def copied(found: Object, name: str) -> Object:
    """The manifest of a RayJob like ``found`` that starts from the beginning."""
    metadata = section(found, "metadata")
    annotations = {key: text for key, text in section(metadata, "annotations").items() if key not in _NOT_COPIED}
    spec = copy.deepcopy(section(found, "spec"))
    # An id is taken once, and a job that runs again is meant to run.
    spec.pop("jobId", None)
    spec.pop("suspend", None)
    return {
        "apiVersion": RAY_JOBS.api_version,
        "kind": RAY_JOBS.kind,
        "metadata": {
            "name": name,
            "namespace": metadata.get("namespace"),
            **({"labels": section(metadata, "labels")} if section(metadata, "labels") else {}),
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": spec,
    }


def changed(wanted: Object, intents: Iterable[Intent]) -> Object:
    """The manifest of a RayJob as the intents say."""
    made: Object = json_patch.apply(wanted, list(compile_patch(RAY_JOBS.kind, wanted, intents).writes))
    return made


def _template(container: str, run: Run, amounts: Object, package: Package | None) -> Object:
    made: Object = {"name": container, "image": run.image, "resources": {"requests": amounts, "limits": amounts}}
    pod: Object = {"containers": [made]}
    if package is not None:
        codesecrets.mounted(pod, package)
    return {"spec": pod}


def _workers(run: Run, amounts: Object, package: Package | None) -> Object:
    return {
        "groupName": "workers",
        "replicas": run.workers,
        "minReplicas": run.workers,
        "maxReplicas": run.workers,
        "rayStartParams": {},
        "template": _template("ray-worker", run, amounts, package),
    }


def _runtime_env(run: Run, package: Package | None) -> str:
    try:
        environment = runtimeenv.parse(run.runtime_env).value
    except ServeConfigError as error:
        why = "\n".join(map(str, error.findings))
        raise Invalid("Ray would refuse the runtime environment", why, "correct the file of --runtime-env") from error
    if package is None:
        return run.runtime_env
    if environment.get("working_dir"):
        why = "the runtime environment has a working_dir of its own"
        raise UsageError("the working directory is given twice", why, "keep one")
    combined = {**environment, "working_dir": f"file://{codesecrets.path_of(package)}"}
    return msgspec.json.encode(combined).decode()


def _numbers(name: str) -> tuple[str, int]:
    found = _numbered(name)
    return (found[1], int(found[2])) if found else (name, 1)
