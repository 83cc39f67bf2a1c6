"""`python -m tests.contract.kubectl run|record`: see --help."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.contract import recording, suite
from tests.contract.kubectl import targets, transcript
from tests.contract.kubectl.play import Output, play
from tests.contract.kubectl.session import Session
from tests.contract.server import Server


def main() -> int:
    """Runs the command line; without a kubeconfig it starts the server it needs."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract.kubectl", description=__doc__)
    parser.add_argument("command", choices=["run", "record", "show", "list"])
    parser.add_argument("--session", default="", help="only sessions whose name holds this text")
    parser.add_argument("--without", default="", help="no sessions whose name holds this text")
    parser.add_argument("--kubeconfig", type=Path, help="use the server of this file")
    parser.add_argument("--kubectl", type=Path, help="the kubectl binary; by default the one built for the tests")
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--real", action="store_true", help="expect the real server's own output everywhere")
    parser.add_argument("--all", action="store_true", help="record also what is current")
    arguments = parser.parse_args()
    chosen = [each for each in transcript.sessions() if arguments.session in each.name]
    if arguments.without:
        chosen = [each for each in chosen if arguments.without not in each.name]
    if arguments.command in ("list", "show"):
        for each in chosen:
            print(each.name if arguments.command == "list" else transcript.shown(each))
        return 0
    kubectl = arguments.kubectl or targets.kubectl()
    with _kubeconfig(arguments) as kubeconfig:
        suite.prepare(Server.from_kubeconfig(kubeconfig))
        act = _record if arguments.command == "record" else _run
        return act(chosen, kubectl, kubeconfig, arguments)


@contextlib.contextmanager
def _kubeconfig(arguments: argparse.Namespace) -> Generator[Path]:
    if arguments.kubeconfig:
        yield arguments.kubeconfig
        return
    real = arguments.command == "record" or arguments.real
    with targets.real() if real else targets.embedded() as kubeconfig:
        yield kubeconfig


def _run(chosen: list[Session], kubectl: Path, kubeconfig: Path, arguments: argparse.Namespace) -> int:
    recorded = recording.load(transcript.THEME)

    def check(session: Session) -> str:
        return transcript.problems(session, recorded, play(session, kubectl, kubeconfig), ours=not arguments.real)

    failed = 0
    with ThreadPoolExecutor(arguments.parallel) as pool:
        for report in pool.map(check, chosen):
            if report:
                failed += 1
                print(report, flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _record(chosen: list[Session], kubectl: Path, kubeconfig: Path, arguments: argparse.Namespace) -> int:
    recorded = recording.load(transcript.THEME)
    wanted = [s for s in chosen if arguments.all or recorded.get(s.name, {}).get("digest") != s.digest]

    def twice(session: Session) -> tuple[Session, list[Output], list[Output]]:
        return session, play(session, kubectl, kubeconfig), play(session, kubectl, kubeconfig)

    unsteady = 0
    with ThreadPoolExecutor(arguments.parallel) as pool:
        for session, first, second in pool.map(twice, wanted):
            entry = {"digest": session.digest, "outputs": first}
            if report := transcript.problems(session, {session.name: entry}, second, ours=False):
                unsteady += 1
                print(report, flush=True)
            else:
                recorded[session.name] = entry
    names = {session.name for session in transcript.sessions()}
    recording.save(transcript.THEME, {name: entry for name, entry in recorded.items() if name in names})
    print(f"{len(wanted) - unsteady} recorded, {len(chosen) - len(wanted)} current, {unsteady} not the same twice")
    return 1 if unsteady else 0


if __name__ == "__main__":
    sys.exit(main())
