"""Write docs/reference/sdk.md from the client's docstrings: ``python tools/sdk_page.py``."""

from __future__ import annotations

import inspect
from pathlib import Path

from rayward.changes import outcomes
from rayward.sdk import Client

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/sdk.md"
_HEAD = """# The Python client

The package has a `Client` and an `AsyncClient`, whose methods are the same and are awaited. Each verb of the command
line is a method; the command line prints what it returns. This page is written from the docstrings, which also have
examples, arguments and exceptions.

| method | what it does |
|---|---|
"""
_OUTCOMES = """
## Exceptions

Every failure is a `ChangeError` of `rayward.changes.outcomes`, with `what`, `why`, `following` (what to run next),
`object`, `field`, and `code`, the exit code of the command line.

| exception | code | when |
|---|---|---|
"""


def page() -> str:
    rows: list[str] = []
    for name, method in inspect.getmembers(Client, callable):
        if name.startswith("_"):
            continue
        parameters = [
            each.name if each.kind is not inspect.Parameter.KEYWORD_ONLY else f"{each.name}="
            for each in inspect.signature(method).parameters.values()
            if each.name not in ("self", "cls")
        ]
        rows.append(f"| `{name}({', '.join(parameters)})` | {_first(method.__doc__)} |")
    failures = [
        f"| `{kind.__name__}` | {kind.code} | {_first(kind.__doc__)} |"
        for kind in vars(outcomes).values()
        if inspect.isclass(kind) and issubclass(kind, outcomes.ChangeError) and kind is not outcomes.ChangeError
    ]
    return _HEAD + "\n".join(rows) + "\n" + _OUTCOMES + "\n".join(failures) + "\n"


def _first(text: str | None) -> str:
    return " ".join((text or "").strip().split("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
