"""What is wrong with a manifest before any server sees it, with file, line and column.

Read top down: ``source`` finds the place of every value, ``rules`` and ``schema`` find what is wrong, ``lint`` joins
them, ``fixing`` applies the safe edits and ``report`` writes findings for people, SARIF readers and GitHub.
"""

from rayward.changes.lint.finding import ADVICE, CODES, Edit, Finding, Severity
from rayward.changes.lint.fixing import fixed
from rayward.changes.lint.linting import lint_text
from rayward.changes.lint.report import as_advice, as_github, as_json, as_sarif, as_text

__all__ = [
    "ADVICE",
    "CODES",
    "Edit",
    "Finding",
    "Severity",
    "as_advice",
    "as_github",
    "as_json",
    "as_sarif",
    "as_text",
    "fixed",
    "lint_text",
]
