"""What pages and help texts name exists: other pages, commands and their flags, make targets, files, annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from rayward.cli.main import commands

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted(
    [*ROOT.joinpath("docs").rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
)
LONGEST: Final = 150

_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_CODE: Final = re.compile(r"`([^`\n]+)`")
_FENCE: Final = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND: Final = re.compile(r"(?:^|[\s$(|])rayward ((?:[a-z-]+)(?: [^\n|#]*)?)")
_MAKE: Final = re.compile(r"(?:^|[\s$])make ([a-z][a-z.-]*[a-z]|\.venv/[a-z.]+)", re.MULTILINE)
_PATH: Final = re.compile(r"^(?:src|tests|tools|docs|samples|bench|demo|locks|charts)/[\w./-]+$")
_MODULE: Final = re.compile(r"python -m ((?:bench|tests|tools|rayward)[\w.]*)")
_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
_MARK: Final = re.compile(r"rayward\.dev/[a-z-]*[a-z]")
_QUOTED: Final = re.compile(r"""'[^']*'|"[^"]*\"""")
_FLAG: Final = re.compile(r"(?<![\w-])(--[a-z][a-z-]+)")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _code(text: str) -> Iterator[str]:
    """What is written as code: blocks, and words between single marks."""
    yield from _FENCE.findall(text)
    yield from _CODE.findall(_FENCE.sub("", text))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _flags(command: click.Command) -> set[str]:
    return {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}


def _helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """What a command and those inside it are called, and what each prints for --help."""
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _helps(inner, click.Context(inner, parent=context, info_name=name))


HELPS: Final = dict(_helps(commands, click.Context(commands, info_name="rayward")))


def _mistake(line: str) -> str:
    """What is wrong with a command as a page shows it, up to where its own words end."""
    words = _QUOTED.sub("VALUE", line.split(" -- ")[0]).split()
    found = commands.get_command(click.Context(commands), words[0])
    if found is None:
        return f"rayward has no command {words[0]}"
    known = _flags(found) | {"--help"}
    if isinstance(found, click.Group) and len(words) > 1 and not words[1].startswith("-"):
        inner = found.get_command(click.Context(found), words[1])
        if inner is None:
            return f"rayward {words[0]} has no command {words[1]}"
        known |= _flags(inner)
    unknown = set(_FLAG.findall(" ".join(words))) - known
    return f"rayward {words[0]} has no {', '.join(sorted(unknown))}" if unknown else ""


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    lost: list[str] = []
    for link in _LINK.findall(page.read_text()):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        headings = _HEADING.findall(target.read_text()) if target.suffix == ".md" and target.exists() else []
        if not target.exists() or (anchor and anchor not in map(_anchor, headings)):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_and_flags_exist(page: Path) -> None:
    shown = [line for code in _code(page.read_text()) for line in _COMMAND.findall(code)]
    assert [mistake for line in shown if (mistake := _mistake(line))] == []


@pytest.mark.parametrize("command", HELPS)
def test_help_names_commands_and_flags_that_exist(command: str) -> None:
    examples = HELPS[command].partition("\n  Examples:\n")[2].partition("\n\n")[0]
    lines = [line for part in examples.replace("&&", "\n").splitlines() for line in _COMMAND.findall(part)]
    assert [mistake for line in lines if (mistake := _mistake(line))] == []


@pytest.mark.parametrize("command", HELPS)
def test_help_keeps_its_examples_one_a_line(command: str) -> None:
    assert "\\b" not in HELPS[command]
    assert "Examples: " not in HELPS[command]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w./-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {target for code in _code(page.read_text()) for target in _MAKE.findall(code)}
    assert named - targets == set()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_files_and_modules_exist(page: Path) -> None:
    text = page.read_text()
    paths = {word for code in _code(text) for word in code.split() if _PATH.match(word)}
    modules = {found for code in _code(text) for found in _MODULE.findall(code)}
    places = {
        found: ROOT / ("src" if found.startswith("rayward") else ".") / found.replace(".", "/") for found in modules
    }
    missing = {path for path in paths if not (ROOT / path.rstrip("/")).exists()}
    missing |= {
        found for found, at in places.items() if not (at.with_suffix(".py").exists() or (at / "__main__.py").exists())
    }
    assert missing == set()


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != ROOT], ids=_name)
def test_a_page_has_one_job_and_is_short(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) <= LONGEST


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = ROOT / "docs" / "README.md"
    linked = {(contents.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(contents.read_text())}
    pages = {page.resolve() for page in ROOT.joinpath("docs").rglob("*.md")} - {contents.resolve()}
    assert pages - linked == set()


def test_every_command_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()
    assert [name for name in commands.list_commands(click.Context(commands)) if f"`rayward {name}" not in page] == []


def test_every_mark_of_ours_is_documented_and_none_is_invented() -> None:
    used = {mark for file in ROOT.joinpath("src").rglob("*.py") for mark in _MARK.findall(file.read_text())}
    written = {mark for page in PAGES for mark in _MARK.findall(page.read_text())}
    listed = set(_MARK.findall((ROOT / "docs" / "reference" / "annotations.md").read_text()))
    assert used - listed == set()
    assert written - used == set()


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("get pods -o wide", ""),
        ("fly", "rayward has no command fly"),
        ("up --fast", "rayward up has no --fast"),
        ("exec web -- ls --colour", ""),
        ("operator run --use-kubernetes-proxy", ""),
        ("operator run --namespace team", "rayward operator has no --namespace"),
        ("quota -o json", ""),
        ('edit rayjob/x "entrypoint=python --epochs=1"', ""),
        ("operator fly", "rayward operator has no command fly"),
    ],
)
def test_a_mistake_would_be_found(line: str, mistake: str) -> None:
    assert _mistake(line) == mistake


def test_the_walk_of_an_edit_names_each_module_once() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    walk = _FENCE.findall(text.split("## One edit of a RayService", 1)[1])[0]
    before, _, rest = walk.partition("operator/service/\n")
    named = sorted(re.findall(r"(?<![\w/])(\w+\.py)", rest))
    folder = ROOT / "src/rayward/operator/service"
    assert named == sorted(path.name for path in folder.glob("*.py") if path.name != "__init__.py")
    for elsewhere in re.findall(r"[a-z]+/\S+\.py", before + rest):
        assert (ROOT / "src/rayward" / elsewhere).exists(), elsewhere
