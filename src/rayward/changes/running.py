"""A program as a RayJob: the manifest of a run, how its code gets there, and how it is stopped and run again."""

from __future__ import annotations

import base64
import copy
import re
import shlex
from dataclasses import dataclass
from typing import Final

import msgspec

from rayward.changes.outcomes import Conflict, Invalid, NotFound, UsageError
from rayward.changes.packing import Package
from rayward.changes.refs import Ref
from rayward.changes.steps import Operation, Send
from rayward.kinds import labels, names, runtimeenv
from rayward.kinds.resources import RAY_JOBS
from rayward.kinds.serveconfig.finding import ServeConfigError
from rayward.kube.client import errors, verbs
from rayward.kube.client.options import PatchOptions, PatchType
from rayward.kube.core.resource import SECRETS
from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section

MANAGER: Final = "rayward"
_VOLUME: Final = "rayward-code"
_FOLDER: Final = "/rayward/code"
_KEY: Final = "working-dir.zip"
_TYPE: Final = labels.WORKING_DIR
_HEAD_CPUS: Final = "1"
_HEAD_MEMORY: Final = "2Gi"
_MOST_RERUNS: Final = 1000
_NOT_COPIED: Final = frozenset(
    (
        "kubectl.kubernetes.io/last-applied-configuration",
        labels.ATTEMPT,
        labels.ATTEMPTS,
        labels.CONDITIONS,
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


def start(ref: Ref, wanted: Object, package: Package | None) -> Operation[Object]:
    """Create a RayJob, its code before it: a job that waits for code would wait for ever if nobody came back.

    Raises:
        Conflict: There is a RayJob of that name.
    """
    if package is not None:
        yield from _upload(ref.namespace, package)
    try:
        made: Object = yield Send(verbs.create(RAY_JOBS, wanted, ref.namespace, field_manager=MANAGER))
    except errors.AlreadyExists as error:
        following = f"rayward rerun {ref.name}   # or choose another name: --name NAME"
        raise Conflict(f"{ref} exists already", "a run is a new object", following, object=str(ref)) from error
    for secret in code_secrets(made):
        yield from _own(secret, made)
    return made


def rerun(ref: Ref, name: str = "") -> Operation[Object]:
    """Create a RayJob like another one, by a name of its own; the other one stays.

    Raises:
        NotFound: It, or the code that was uploaded for it, is not there.
        Conflict: There is a RayJob of that name.
    """
    found: Object = yield Send(verbs.get(RAY_JOBS, ref.name, ref.namespace))
    for secret in code_secrets(found):
        try:
            yield Send(verbs.get(SECRETS, secret, ref.namespace))
        except errors.NotFound as error:
            what = f"the code that was uploaded for {ref} is gone"
            raise NotFound(what, error.message, "rayward run --working-dir DIR -- ...", object=str(ref)) from error
    stem, number = _numbers(ref.name)
    for following in range(number + 1, number + _MOST_RERUNS):
        chosen = name or f"{stem[: names.JOB_MAX - len(str(following)) - 1].rstrip('-')}-{following}"
        try:
            wanted = copied(found, chosen)
            made: Object = yield from start(Ref(ref.kind, chosen, ref.namespace), wanted, None)
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


def code_secrets(job: Object) -> tuple[str, ...]:
    """The Secrets that hold the code of a RayJob."""
    head = section(section(section(job, "spec"), "rayClusterSpec"), "headGroupSpec")
    volumes = entries(section(section(head, "template"), "spec"), "volumes")
    found = (section(one, "secret").get("secretName") for one in volumes if one.get("name") == _VOLUME)
    return tuple(str(name) for name in found if name)


def secret_name(package: Package) -> str:
    """The Secret of an archive: the same for the same content, so that it is uploaded once."""
    return f"rayward-code-{package.digest}"


def _upload(namespace: str, package: Package) -> Operation[None]:
    name = secret_name(package)
    data = base64.b64encode(package.data).decode()
    body: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": _TYPE,
        "immutable": True,
        "data": {_KEY: data},
    }
    try:
        yield Send(verbs.create(SECRETS, body, namespace, field_manager=MANAGER))
    except errors.AlreadyExists:
        there: Object = yield Send(verbs.get(SECRETS, name, namespace))
        if section(there, "data").get(_KEY) != data:
            what = f"Secret {namespace}/{name} has the name of this code and another content"
            raise Conflict(what, "", f"kubectl delete secret -n {namespace} {name}") from None


def _own(secret: str, job: Object) -> Operation[None]:
    """Have the code go with the last RayJob that uses it."""
    metadata = section(job, "metadata")
    owner: Object = {
        "apiVersion": RAY_JOBS.api_version,
        "kind": RAY_JOBS.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    change: Object = {"metadata": {"ownerReferences": [owner]}}
    options = PatchOptions(field_manager=MANAGER)
    yield Send(verbs.patch(SECRETS, secret, change, PatchType.STRATEGIC, metadata["namespace"], **options))


def _template(container: str, run: Run, amounts: Object, package: Package | None) -> Object:
    made: Object = {"name": container, "image": run.image, "resources": {"requests": amounts, "limits": amounts}}
    pod: Object = {"containers": [made]}
    if package is not None:
        made["volumeMounts"] = [{"name": _VOLUME, "mountPath": _FOLDER, "readOnly": True}]
        item = {"key": _KEY, "path": f"{package.digest}.zip"}
        pod["volumes"] = [{"name": _VOLUME, "secret": {"secretName": secret_name(package), "items": [item]}}]
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
        raise UsageError("the working directory is given twice", why, "keep one of both")
    # Ray knows a package by its URI: other content must have another name.
    combined = {**environment, "working_dir": f"file://{_FOLDER}/{package.digest}.zip"}
    return msgspec.json.encode(combined).decode()


def _numbers(name: str) -> tuple[str, int]:
    found = _numbered(name)
    return (found[1], int(found[2])) if found else (name, 1)
