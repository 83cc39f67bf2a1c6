"""``rayward lint``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from rayward.changes.lint import Finding, Severity, as_advice, as_github, as_json, as_sarif, as_text, fixed, lint_text
from rayward.cli.failure import Code, CommandError
from rayward.cli.output import answer, answer_json, tell

_SUFFIXES: Final = (".json", ".yaml", ".yml")
_LARGEST: Final = 32 * 1024 * 1024


@click.command("lint")
@click.argument("sources", nargs=-1, metavar="FILE...")
@click.option("-f", "--filename", "files", multiple=True, help="File, folder, or - for stdin.")
@click.option("--fix", is_flag=True, help="Fix in the files what can be fixed safely.")
@click.option("--strict", is_flag=True, help="Exit with 1 when there are warnings.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    help="Output format.",
)
def command(sources: tuple[str, ...], files: tuple[str, ...], fix: bool, strict: bool, form: str) -> int:
    """Check manifests of Ray's kinds without a server.

    \b
    Examples:
      rayward lint service.yaml
      rayward lint -f manifests/ --fix
      rayward lint service.yaml -o sarif > lint.sarif
    """  # noqa: D301
    given = (*sources, *files)
    if not given:
        raise CommandError(Code.USAGE, "there is nothing to check", "no file was given", "rayward lint service.yaml")
    found: list[Finding] = []
    for name, text in _texts(given):
        of_file = lint_text(text, name)
        if fix and name != "stdin":
            after, count = fixed(text, of_file)
            if count:
                Path(name).write_text(after)
                tell(f"{name}: corrected {count}")
                of_file = lint_text(after, name)
        found += of_file
    _show(found, form)
    if any(one.severity is Severity.ERROR for one in found):
        return Code.INVALID
    return Code.NO if strict and any(one.severity is Severity.WARNING for one in found) else 0


def _show(found: list[Finding], form: str) -> None:
    if form == "json":
        answer_json(as_json(found))
    elif form == "sarif":
        from importlib.metadata import version

        answer_json(as_sarif(found, version("rayward")))
    elif form == "github" and found:
        answer(as_github(found))
    elif found:
        answer(as_text(found))
        tell(as_advice(found))


def _texts(sources: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for source in sources:
        if source == "-":
            yield "stdin", _decoded(sys.stdin.buffer.read(_LARGEST + 1), "stdin")
            continue
        path = Path(source)
        inside = sorted(one for one in path.rglob("*") if one.suffix in _SUFFIXES and one.is_file())
        for file in inside if path.is_dir() else [path]:
            try:
                with file.open("rb") as stream:
                    data = stream.read(_LARGEST + 1)
            except OSError as error:
                raise CommandError(
                    Code.USAGE, f"cannot read {file}", str(error.strerror), "rayward lint FILE"
                ) from error
            yield str(file), _decoded(data, str(file))


def _decoded(data: bytes, name: str) -> str:
    if len(data) > _LARGEST:
        raise CommandError(Code.INVALID, f"{name} is larger than {_LARGEST >> 20} MiB", "", "check it in parts")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CommandError(Code.INVALID, f"{name} is not UTF-8", str(error), "save it as UTF-8") from error
