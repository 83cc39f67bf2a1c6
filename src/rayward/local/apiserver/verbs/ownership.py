"""Owner references as the server keeps them."""

from __future__ import annotations

from typing import Any

_DOUBLED = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def drop_doubled_owners(metadata: dict[str, Any], warnings: list[str]) -> None:
    """One reference per owner: equal ones are dropped with a warning."""
    references: list[dict[str, Any]] = metadata.get("ownerReferences") or []
    if len(references) < 2:
        return
    # Every reference was checked against the schema: texts and booleans only, so its fields tell it.
    kept: dict[frozenset[tuple[str, Any]], dict[str, Any]] = {}
    doubled = [
        str(reference.get("uid", ""))
        for reference in references
        if kept.setdefault(frozenset(reference.items()), reference) is not reference
    ]
    if doubled:
        warnings.append(_DOUBLED + ", ".join(doubled))
        metadata["ownerReferences"] = list(kept.values())
