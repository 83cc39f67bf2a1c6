"""``rayward logs``."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import click

from rayward.cli import podfind, replicalogs
from rayward.cli.completion import complete_pods
from rayward.cli.durations import DurationType
from rayward.cli.failure import Code, CommandError
from rayward.cli.output import tell
from rayward.cli.target import Session, Target, target_options
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.errors import ApiError, BadRequest
from rayward.kube.client.paths import object_path
from rayward.kube.client.request import Request
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import NetworkError

_SELECTED_TAIL = 10
_MOST_FOLLOWED = 50
_POLL = 0.3


@dataclass(frozen=True, slots=True)
class Source:
    """One container whose log is wanted."""

    namespace: str
    pod: str
    container: str

    def request(self, options: Mapping[str, str], *, follow: bool) -> Request:
        """The request for its log."""
        query = urlencode({"container": self.container, **options})
        target = f"{object_path(PODS, self.namespace, self.pod, 'log')}?{query}"
        return Request("GET", target, accept="*/*", seconds=None if follow else 60.0)


@click.command("logs")
@click.argument("word", required=False, metavar="POD | KIND/NAME", shell_complete=complete_pods)
@click.option("-c", "--container", help="Container of a pod (default: the pod's default, or its first).")
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines until interrupted (pods, RayJobs).")
@click.option("-p", "--previous", is_flag=True, help="Print the log of the container before its last restart (pods).")
@click.option("--tail", type=click.IntRange(-1), help="Only so many lines from the end (pods, RayServices).")
@click.option("--since", type=DurationType(), help="Only lines of the last 90s, 5m, 1h... (pods).")
@click.option("--timestamps", is_flag=True, help="Print the time of each line (pods).")
@click.option("-l", "--selector", help="All pods with these labels.")
@click.option("--all-containers", is_flag=True, help="Print the logs of all containers (pods).")
@click.option("--prefix", is_flag=True, help="Print the pod and container, or the replica, before each line.")
@target_options
def command(
    word: str | None,
    container: str | None,
    follow: bool,
    previous: bool,
    tail: int | None,
    since: float | None,
    timestamps: bool,
    selector: str | None,
    all_containers: bool,
    prefix: bool,
    target: Target,
) -> int:
    """Print the logs of pods, by name, by label or by the object that owns them.

    `logs rayservice/NAME` prints the logs of all replicas: of the cluster that serves, and of the one that starts.
    Without --tail these are the last 1000 lines of each; --tail -1 prints all of them.
    `logs rayjob/NAME` prints the log of the job's driver, wherever it is now.
    Brackets say what an option applies to; with -c a KIND/NAME means one of its pods.

    \b
    Examples:
      rayward logs rayservice/shop --tail 20
      rayward logs rayjob/train -f
    """  # noqa: D301 -- click reads the backspace
    if (word is None) == (selector is None):
        why = "name one pod or KIND/NAME, or choose pods by labels"
        raise CommandError(Code.USAGE, "no pod or object is named", why, "rayward logs POD   # or -l app=web")
    if tail is None and selector is not None:
        tail = _SELECTED_TAIL
    options = {
        "follow": "true" if follow else "",
        "previous": "true" if previous else "",
        "timestamps": "true" if timestamps else "",
        "tailLines": str(tail) if tail is not None and tail >= 0 else "",
        "sinceSeconds": str(max(1, round(since))) if since is not None else "",
    }
    options = {name: value for name, value in options.items() if value}
    chosen = {
        "--follow": follow,
        "--previous": previous,
        "--tail": tail is not None,
        "--since": since is not None,
        "--timestamps": timestamps,
        "--all-containers": all_containers,
        "--prefix": prefix,
    }
    flags = {flag for flag, given in chosen.items() if given}
    if word is not None and is_job(word) and container is None:
        _refuse(word, flags - {"--follow"}, "a RayJob's log is the whole log of its driver, or the end that was kept")
        return _job_log(word.partition("/")[2], target, follow=follow)
    with target.open() as session:
        if word is not None and container is None and _print_replicas(session, word, tail, flags):
            return 0
        sources = _sources(session, word, selector, container, every=all_containers)
        speaking = _Speaking(session, options, prefix=prefix, follow=follow)
        if follow and len(sources) > 1:
            speaking.together(sources)
            return 0
        for source in sources:
            speaking.tell(source)
    return 0


def is_job(word: str) -> bool:
    """Whether a word names a RayJob, whose log is its driver's."""
    kind, slash, _ = word.partition("/")
    return bool(slash) and kind.lower().removesuffix(".ray.io") in ("rayjob", "rayjobs")


def _refuse(word: str, flags: set[str], why: str) -> None:
    """Refuse flags that only logs of pods have: who gave one must not think that it was heeded."""
    if flags:
        what = f"{word} cannot be printed with {', '.join(sorted(flags))}"
        raise CommandError(Code.USAGE, what, why, f"rayward logs {word}   # or a pod of it: rayward logs POD")


def _job_log(name: str, target: Target, *, follow: bool) -> int:
    from rayward.changes.refs import Ref
    from rayward.cli import following
    from rayward.cli.changing import changing

    with changing(target) as (client, session):
        ref = Ref("RayJob", name, session.namespace)
        if follow:
            return following.follow(client, ref)
        client.job_log(ref, following.write)
    return 0


def _print_replicas(session: Session, word: str, tail: int | None, flags: set[str]) -> bool:
    """Print the logs of Serve's replicas where a RayService is meant; whether one is.

    Raises:
        CommandError: A flag does not apply, or, once all others were printed, some of the logs cannot be read.
    """
    found = podfind.owner_of(session, word)
    if found is None or found[0].resource != RAY_SERVICES:
        return False
    why = "Serve's replicas write files, of which Ray's dashboard gives the last lines; each line has its time"
    _refuse(word, flags - {"--tail", "--prefix"}, why)
    replicas, troubles = replicalogs.replicas(session, found[1])
    for replica in replicas:
        try:
            log = replicalogs.text(session, replica, tail)
        except (ApiError, NetworkError) as error:
            troubles.append(f"{replica.name}: {error}")
            continue
        tell(f"==> {replica.name} <==")
        mark = f"[{replica.name}] ".encode() if "--prefix" in flags else b""
        sys.stdout.buffer.writelines(mark + line for line in log.splitlines(keepends=True))
        sys.stdout.buffer.flush()
    if troubles:
        why, following = "\n".join(troubles), f"rayward describe {word}"
        raise CommandError(Code.NO, "some logs of replicas cannot be read", why, following)
    return True


def _sources(
    session: Session, word: str | None, selector: str | None, container: str | None, *, every: bool
) -> list[Source]:
    if word is not None:
        pods = [podfind.one_pod(session, word)]
    else:
        pods = session.client.list(PODS, session.namespace, label_selector=selector or "").items
        if not pods:
            tell(f"No resources found in {session.namespace} namespace.")
    return [source for pod in pods for source in _containers(pod, container, every=every)]


def _containers(pod: Object, container: str | None, *, every: bool) -> Iterator[Source]:
    metadata = pod["metadata"]
    names = [podfind.container_of(pod, container)]
    if every and container is None:
        spec = section(pod, "spec")
        names = [str(one["name"]) for field in ("initContainers", "containers") for one in entries(spec, field)]
    for name in names:
        yield Source(metadata["namespace"], metadata["name"], name)


class _Speaking:
    """Prints logs; lines of several stay whole."""

    def __init__(self, session: Session, options: Mapping[str, str], *, prefix: bool, follow: bool) -> None:
        self._session = session
        self._options = options
        self._prefix = prefix
        self._follow = follow
        self._lock = threading.Lock()

    def tell(self, source: Source) -> None:
        """Print one log to its end."""
        mark = f"[pod/{source.pod}/{source.container}] ".encode() if self._prefix else b""
        rest = b""
        for part in self._parts(source):
            *lines, rest = (rest + part).split(b"\n")
            self._write([mark + line + b"\n" for line in lines])
        if rest:
            self._write([mark + rest])

    def together(self, sources: list[Source]) -> None:
        """Print several logs at once, until all have ended."""
        if len(sources) > _MOST_FOLLOWED:
            why = f"{len(sources)} containers match, at most {_MOST_FOLLOWED} can be followed"
            raise CommandError(Code.USAGE, "too many logs at once", why, "choose fewer with -l")
        threads = [threading.Thread(target=self._quietly, args=(source,), daemon=True) for source in sources]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _quietly(self, source: Source) -> None:
        try:
            self.tell(source)
        except (ApiError, CommandError, NetworkError) as error:
            tell(f"pod/{source.pod}/{source.container}: {error}")

    def _parts(self, source: Source) -> Iterator[bytes]:
        if self._follow:
            self._await_start(source)
        try:
            with self._session.client.stream(source.request(self._options, follow=self._follow)) as stream:
                yield from stream
        except BadRequest as error:
            following = f"rayward describe pod {source.pod} -n {source.namespace}"
            raise CommandError(Code.INVALID, error.message, "", following) from error

    def _await_start(self, source: Source) -> None:
        """Who follows a container that has said nothing yet wants its first word too."""
        said = ""
        while why := waiting(pod := self._session.client.get(PODS, source.pod, source.namespace), source.container):
            if (failure := never(pod, source)) is not None:
                raise failure
            if why != said:
                said = why
                tell(f'container "{source.container}" in pod "{source.pod}" is waiting to start: {why}')
            time.sleep(_POLL)

    def _write(self, lines: list[bytes]) -> None:
        with self._lock:
            sys.stdout.buffer.writelines(lines)
            sys.stdout.buffer.flush()


def waiting(pod: Object, container: str) -> str:
    """Why a container has not said a word yet; empty if it has run."""
    status = section(pod, "status")
    told = [
        one
        for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
        for one in entries(status, field)
        if one["name"] == container
    ]
    if not told:
        return str(status.get("reason") or status.get("phase") or "Pending")
    state = section(told[0], "state")
    if section(told[0], "lastState") or not state.keys() <= {"waiting"}:
        return ""
    return str(section(state, "waiting").get("reason") or "ContainerCreating")


def never(pod: Object, source: Source) -> CommandError | None:
    """Why a container that has not run yet never will; None if it may."""
    status = section(pod, "status")
    phase = status.get("phase")
    if phase not in ("Succeeded", "Failed"):
        return None
    reason = f": {status['reason']}" if status.get("reason") else ""
    what = f'container "{source.container}" in pod "{source.pod}" never ran: the pod is {phase}{reason}'
    place = f"-n {source.namespace}"
    # a sidecar ends with its pod, and is not why the pod ended
    sidecars = {one["name"] for one in entries(section(pod, "spec"), "initContainers") if one.get("restartPolicy")}
    for one in entries(status, "initContainerStatuses"):
        code = section(section(one, "state"), "terminated").get("exitCode", 0)
        if code and one["name"] not in sidecars:
            why = f'init container "{one["name"]}" ended with exit code {code}'
            return CommandError(Code.INVALID, what, why, f"rayward logs {source.pod} -c {one['name']} {place}")
    why = str(status.get("message") or "")
    return CommandError(Code.INVALID, what, why, f"rayward describe pod {source.pod} {place}")
