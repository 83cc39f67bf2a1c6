"""Findings for people, for programs, for SARIF readers and for GitHub's annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rayward.changes.lint.finding import ADVICE, CODES, Finding, Severity, page_of

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_GITHUB: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def as_text(findings: Sequence[Finding]) -> str:
    """One line per finding: ``file:line:column: severity CODE path: message``."""
    return "\n".join(
        f"{one.file}:{one.line}:{one.column}: {one.severity} {one.code} {_what(one)}"
        + (" [fixable]" if one.edit is not None else "")
        for one in findings
    )


def as_advice(findings: Sequence[Finding]) -> str:
    """One line per code that was found: what to do, and the page that has more."""
    used = sorted({one.code for one in findings})
    return "\n".join(f"{code}: {ADVICE[code].replace('`', '')} See {page_of(code)}" for code in used)


def as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """The document of ``-o json``."""
    return {
        "apiVersion": "cli.rayward/v1",
        "kind": "LintReport",
        "findings": [
            {
                "code": one.code,
                "severity": str(one.severity),
                "message": one.message,
                "path": one.path,
                "file": one.file,
                "line": one.line,
                "column": one.column,
                "fixable": one.edit is not None,
                "page": page_of(one.code),
            }
            for one in findings
        ],
    }


def as_sarif(findings: Sequence[Finding], version: str) -> dict[str, Any]:
    """A SARIF 2.1.0 log."""
    used = sorted({one.code for one in findings})
    rules = [_sarif_rule(code) for code in used]
    results = [
        {
            "ruleId": one.code,
            "ruleIndex": used.index(one.code),
            "level": str(one.severity),
            "message": {"text": _what(one)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": one.file},
                        "region": {"startLine": one.line, "startColumn": one.column},
                    }
                }
            ],
            **({"fixes": [_sarif_fix(one)]} if one.edit is not None else {}),
        }
        for one in findings
    ]
    driver = {"name": "rayward", "version": version, "rules": rules}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _sarif_rule(code: str) -> dict[str, Any]:
    # a helpUri would have to be absolute, and the page comes with the sources: its advice is here as text
    advice = f"{ADVICE[code]} See {page_of(code)}."
    return {
        "id": code,
        "shortDescription": {"text": CODES[code]},
        "help": {"text": advice.replace("`", ""), "markdown": advice},
    }


def _sarif_fix(one: Finding) -> dict[str, Any]:
    assert one.edit is not None
    region = {
        "startLine": one.edit.line,
        "startColumn": one.edit.column,
        "endLine": one.edit.end_line,
        "endColumn": one.edit.end_column,
    }
    replacement = {"deletedRegion": region, "insertedContent": {"text": one.edit.text}}
    changes = [{"artifactLocation": {"uri": one.file}, "replacements": [replacement]}]
    return {"description": {"text": CODES[one.code]}, "artifactChanges": changes}


def as_github(findings: Sequence[Finding]) -> str:
    """Workflow commands that GitHub shows beside the lines."""
    return "\n".join(
        f"::{_GITHUB[one.severity]} file={_property(one.file)},line={one.line},col={one.column},title={one.code}::"
        + _data(_what(one))
        for one in findings
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _what(one: Finding) -> str:
    return f"{one.path}: {one.message}" if one.path else one.message
