"""One finding, and the codes that findings have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """The manifest is rejected, or does not do what it says."""
    WARNING = "warning"
    """It works otherwise than its author may think."""
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the text; lines and columns count from 1, and the end is not part of it."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where, and the edit that mends it where one is safe."""

    code: str
    severity: Severity
    message: str
    path: str
    file: str = ""
    line: int = 1
    column: int = 1
    edit: Edit | None = None


CODES: Final[dict[str, str]] = {
    "RW101": "The text is not YAML or JSON",
    "RW102": "The document is not a Kubernetes object",
    "RW103": "A field is written twice",
    "RW104": "The kind or its version is not one of ray.io/v1",
    "RW105": "The kind has no such field",
    "RW201": "A value does not fit the definition of its kind",
    "RW202": "The operator rejects the value",
    "RW203": "The value works otherwise than it seems",
    "RW301": "The serve config cannot be deployed",
    "RW302": "The serve config works otherwise than it seems",
    "RW303": "serveConfigV2 is an object and not a text",
    "RW304": "The runtime environment cannot be used",
    "RW401": "A merge patch of a list drops what it does not name",
    "RW402": "The field is not in KubeRay's definitions",
    "RW403": "A manifest has a status",
    "RW404": "replicas belong to the autoscaler",
    "RW405": "The image and rayVersion do not agree",
    "RW406": "The field has no effect",
    "RW407": "KubeRay does not suspend such a job",
    "RW408": "Every new cluster would read the state of the old one",
    "RW409": "An edit of serveConfigV2 alone is applied in place",
    "RW410": "What an edit of a pod template does to pods that run",
    "RW411": "The image has a name that cannot be pulled",
}
"""Every code and what it stands for; each has a section on the page ``docs/reference/lint.md``."""

ADVICE: Final[dict[str, str]] = {
    "RW101": "Correct the indentation, quotes or brackets at that place.",
    "RW102": "Write `apiVersion` and `kind` at its top.",
    "RW103": "Delete one.",
    "RW104": "Use the kind that the message names.",
    "RW105": "Use the name that the message suggests; `--fix` renames it.",
    "RW201": "Write a value that the message names.",
    "RW202": "Write what the message names.",
    "RW203": "Write what the message names.",
    "RW301": "Correct the line; it is the line of your file.",
    "RW302": "Use the word that the message suggests.",
    "RW303": "Write it as YAML in a string, after a `|`.",
    "RW304": "Use the word or the form that the message names.",
    "RW401": "Use `rayward scale` or `rayward set`.",
    "RW402": "Use the field that both operators read; `--fix` renames `rayResources`.",
    "RW403": "Delete it; `--fix` does.",
    "RW404": "Leave it out; `--fix` deletes it.",
    "RW405": "Write the same version in both.",
    "RW406": "Write both, or neither.",
    "RW407": "Add `shutdownAfterJobFinishes: true` and remove `clusterSelector`.",
    "RW408": "Delete `externalStorageNamespace`; `--fix` does.",
    "RW409": "No change is needed if this is intended.",
    "RW410": "No change is needed if this is intended.",
    "RW411": "Write `REPOSITORY:TAG`; the message says which was meant.",
}
"""What to do about a finding of each code, in the words of its section."""


def page_of(code: str) -> str:
    """The section of the documentation that a code has."""
    return f"docs/reference/lint.md#{code.lower()}"
