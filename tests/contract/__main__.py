"""`python -m tests.contract record|run|show|list`: see --help."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

from tests.contract import compare, recording, suite
from tests.contract.case import Case
from tests.contract.play import Answer, UnreachableError, play
from tests.contract.real import real_server
from tests.contract.server import Server
from tests.contract.target import embedded_server


def main() -> int:
    """Runs the command line; without an address it starts the server it needs."""
    arguments = _parser().parse_args()
    chosen = list(suite.select(arguments.theme, arguments.case))
    if arguments.command == "list":
        for theme, case in chosen:
            print(f"{theme}/{case.name}")
        print(f"{len(chosen)} cases")
        return 0
    if arguments.command == "show":
        for theme, case in chosen:
            _show(theme, case)
        return 0
    with _server(arguments) as server:
        suite.prepare(server)
        return (_record if arguments.command == "record" else _run)(server, chosen, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.contract", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in {
        "run": "compare a server's answers with the recorded ones",
        "record": "record a real server's answers for the cases that are new or were changed",
        "show": "print cases and their recorded answers",
        "list": "print the names of the cases",
    }.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--theme", default="", help="only these themes, comma-separated")
        command.add_argument("--case", default="", help="only cases whose theme/name holds this text")
        if name in ("run", "record"):
            command.add_argument("--kubeconfig", type=Path, help="take address, CA and token from this file")
            command.add_argument("--url")
            command.add_argument("--token", default="")
            command.add_argument("--ca", type=Path, help="PEM file; without it any certificate is trusted")
            command.add_argument("--parallel", type=int, default=6)
        if name == "run":
            command.add_argument(
                "--real", action="store_true", help="expect the real server's own answers, also where ours must differ"
            )
            command.add_argument("--lines", type=int, default=25, help="differing lines shown per step")
            command.add_argument("--every-step", action="store_true", help="show all differing steps of a case")
            command.add_argument("--brief", action="store_true", help="names of failed cases only")
        if name == "record":
            command.add_argument("--all", action="store_true", help="also cases whose recording is current")
    return parser


@contextlib.contextmanager
def _server(arguments: argparse.Namespace) -> Generator[Server]:
    if arguments.kubeconfig:
        yield Server.from_kubeconfig(arguments.kubeconfig)
    elif arguments.url:
        yield Server(arguments.url, arguments.token, arguments.ca.read_text() if arguments.ca else "")
    elif arguments.command == "record" or arguments.real:
        with real_server() as server:
            yield server
    else:
        with embedded_server() as server:
            yield server


def _run(server: Server, chosen: list[tuple[str, Case]], arguments: argparse.Namespace) -> int:
    recorded = {theme: recording.load(theme) for theme, _ in chosen}

    def check(theme: str, case: Case) -> tuple[str, str]:
        try:
            expected = recording.expected(case, recorded[theme], ours=not arguments.real)
            differing = compare.differences(expected, play(case, server))
        except (recording.StaleError, UnreachableError) as error:
            return theme, f"FAIL {theme}/{case.name}\n  {error}"
        if not differing:
            return theme, ""
        if arguments.brief:
            return theme, f"FAIL {theme}/{case.name}"
        return theme, compare.report(theme, case, differing, lines=arguments.lines, every_step=arguments.every_step)

    passed, failed = Counter[str](), Counter[str]()
    for theme, problem in suite.each(check, chosen, arguments.parallel):
        if problem:
            failed[theme] += 1
            print(problem, flush=True)
        else:
            passed[theme] += 1
    if failed and len(passed | failed) > 1:
        for theme in sorted(passed | failed):
            print(f"{theme:24} {passed[theme]:4} passed {failed[theme]:4} failed")
    print(f"{passed.total()} passed, {failed.total()} failed")
    return 1 if failed else 0


def _record(server: Server, chosen: list[tuple[str, Case]], arguments: argparse.Namespace) -> int:
    recordings = {theme: recording.load(theme) for theme, _ in chosen}
    wanted = [(t, c) for t, c in chosen if arguments.all or not recording.is_current(c, recordings[t])]

    def twice(theme: str, case: Case) -> tuple[str, Case, list[Answer], str]:
        try:
            answers = play(case, server)
            differing = compare.differences(answers, play(case, server))
        except UnreachableError as error:
            return theme, case, [], f"FAIL {theme}/{case.name}\n  {error}"
        report = compare.report(theme, case, differing, lines=20, every_step=True) if differing else ""
        return theme, case, answers, report

    unsteady = 0
    for theme, case, answers, problem in suite.each(twice, wanted, arguments.parallel):
        if problem:
            unsteady += 1
            print(problem, flush=True)
        else:
            recordings[theme][case.name] = recording.record(case, answers)
    known = suite.themes()
    for theme, entries in recordings.items():
        names = {case.name for case in known[theme]}
        recording.save(theme, {name: entry for name, entry in entries.items() if name in names})
    print(f"{len(wanted) - unsteady} recorded, {len(chosen) - len(wanted)} current, {unsteady} not the same twice")
    return 1 if unsteady else 0


def _show(theme: str, case: Case) -> None:
    print(f"# {theme}/{case.name}")
    answers = recording.load(theme).get(case.name, {}).get("answers", [])
    for index, step in enumerate(case.steps):
        print(f"## {index + 1}. {step.method} {step.path}")
        if step.headers:
            print(f"   headers {dict(step.headers)}")
        if step.body is not None:
            print(f"   sends {step.body if isinstance(step.body, str) else json.dumps(step.body, default=repr)[:2000]}")
        if index < len(answers):
            print(json.dumps(answers[index], indent=1, sort_keys=True))


if __name__ == "__main__":
    sys.exit(main())
