"""Default roles and bindings at start: missing ones are made, missing rules and subjects added, more than that is kept.

An object whose annotation ``rbac.authorization.kubernetes.io/autoupdate`` is ``false`` is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.apiserver.rbac.rule import Rule, missing

AUTOUPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"


def reconciled(existing: Object, expected: Object) -> Object:
    """What a stored role or binding should become; the very same object where it is right already.

    A binding that names another role than expected becomes the expected one: its ``metadata.uid`` is missing then,
    since a binding never changes its role and has to be made anew.
    """
    if section(existing["metadata"], "annotations").get(AUTOUPDATE) == "false":
        return existing
    if "roleRef" in expected:
        if existing.get("roleRef") != expected["roleRef"]:
            return expected
        changed = _with_subjects(existing, entries(expected, "subjects"))
    else:
        changed = _with_rules(existing, expected)
    metadata = dict(changed["metadata"])
    for field in ("annotations", "labels"):
        merged = {**section(expected["metadata"], field), **section(metadata, field)}
        if merged:
            metadata[field] = merged
    return existing if (result := {**changed, "metadata": metadata}) == existing else result


def _with_rules(existing: Object, expected: Object) -> Object:
    owned = [Rule.from_object(rule) for rule in entries(existing, "rules")]
    lacking = missing(owned, (Rule.from_object(rule) for rule in entries(expected, "rules")))
    changed = dict(existing)
    if lacking:
        changed["rules"] = [*entries(existing, "rules"), *(rule.to_object() for rule in lacking)]
    if "aggregationRule" not in expected:
        changed.pop("aggregationRule", None)
        return changed
    selectors = entries(section(existing, "aggregationRule"), "clusterRoleSelectors")
    more = _lacking(selectors, entries(expected["aggregationRule"], "clusterRoleSelectors"))
    if more:
        changed["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *more]}
    return changed


def _with_subjects(existing: Object, expected: Iterable[Object]) -> Object:
    subjects = entries(existing, "subjects")
    more = _lacking(subjects, expected)
    return {**existing, "subjects": [*subjects, *more]} if more else existing


def _lacking(owned: Iterable[Object], expected: Iterable[Object]) -> list[Object]:
    known = list(owned)
    return [each for each in expected if each not in known]
