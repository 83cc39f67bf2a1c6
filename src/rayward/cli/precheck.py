"""What can be known of a manifest before it is sent: the findings of ``rayward lint``, at their lines of the file."""

from __future__ import annotations

import difflib
from typing import Final

from rayward.changes.lint import lint_text
from rayward.changes.lint.finding import Finding, Severity
from rayward.cli.failure import Code, CommandError
from rayward.cli.manifests import Manifest
from rayward.cli.output import tell

_TEXTS: Final = ("RW301", "RW304")
"""Text inside a manifest, of which the API server knows nothing."""
_TOLD: Final = ("RW203", "RW302", "RW304", "RW405", "RW406", "RW411")
_FIELDS: Final = ("RW105", "RW201")
_REJECTED: Final = "RW202"
_RAY: Final = "ray.io/"


def check(manifest: Manifest) -> None:
    """Print what works otherwise than it seems.

    Raises:
        CommandError: The text inside the manifest cannot work, whatever the server says to the rest.
    """
    found = _findings(manifest)
    errors = [one for one in found if one.severity is Severity.ERROR and one.code in _TEXTS]
    if errors:
        why = "\n".join(map(_line, errors))
        raise CommandError(Code.INVALID, f"{errors[0].path} cannot be deployed", why, "correct it and apply again")
    for one in found:
        if one.severity is Severity.WARNING and one.code in _TOLD:
            tell(f"Warning: {_line(one)}")


def hints(manifest: Manifest) -> str:
    """Where the fields are written that a server refuses, and what may have been meant."""
    return "\n".join(_line(one) for one in _findings(manifest) if one.code in _FIELDS)


def placed(manifest: Manifest, why: str) -> str:
    """A reason with the file's place in each line that says why the operator rejects a value."""
    places = {f"{one.path}: {one.message}": _line(one) for one in _findings(manifest) if one.code == _REJECTED}
    return "\n".join(places.get(line, line) for line in why.splitlines())


def near_kind(kind: str, known: list[str]) -> str:
    """The kind that was meant; empty where none is near."""
    return next(iter(difflib.get_close_matches(kind, known, 1)), "")


def _findings(manifest: Manifest) -> list[Finding]:
    if not str(manifest.value.get("apiVersion")).startswith(_RAY) or not manifest.text:
        return []
    return lint_text("\n" * manifest.lines_before + manifest.text, manifest.file)


def _line(finding: Finding) -> str:
    return f"{finding.file}:{finding.line}:{finding.column}: {finding.message}"
