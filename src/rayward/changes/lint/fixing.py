"""Safe edits, applied to the text: everything that is not named by an edit stays as it is, comments included."""

from __future__ import annotations

from collections.abc import Iterable

from rayward.changes.lint.finding import Edit, Finding


def fixed(text: str, findings: Iterable[Finding]) -> tuple[str, int]:
    """The text with every safe edit made, and how many there were; of two that overlap the first counts."""
    lines = text.split("\n")
    done: list[Edit] = []
    for edit in sorted({one.edit for one in findings if one.edit is not None}, key=_start):
        if not done or _start(edit) >= (done[-1].end_line, done[-1].end_column):
            done.append(edit)
    for edit in reversed(done):
        # the end of a deletion may be the line after the last one
        last = lines[edit.end_line - 1] if edit.end_line <= len(lines) else ""
        joined = lines[edit.line - 1][: edit.column - 1] + edit.text + last[edit.end_column - 1 :]
        kept = [joined] if edit.end_line <= len(lines) or joined else []
        lines[edit.line - 1 : edit.end_line] = kept
    return "\n".join(lines), len(done)


def _start(edit: Edit) -> tuple[int, int]:
    return (edit.line, edit.column)
