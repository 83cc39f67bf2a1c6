"""Several manifests as one change: all are checked, by the server and by their kinds' rules, before any is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from rayward.changes import predicting, writing
from rayward.changes.lint.linting import judged
from rayward.changes.outcomes import ChangeError, Invalid, outcome_of
from rayward.changes.refs import Ref
from rayward.changes.steps import Operation
from rayward.changes.strategies import Strategy
from rayward.changes.writing import Written
from rayward.kinds.validation import FEATURE_MISSING
from rayward.kube.client.errors import ApiError
from rayward.kube.machinery.jsonvalue import Object


@dataclass(frozen=True, slots=True)
class Refusal:
    """A manifest that cannot be applied, and why."""

    ref: Ref
    error: ChangeError


def refuse_problems(ref: Ref, wanted: Object) -> None:
    """Raise where the operator would reject an object that the API server takes.

    Features that Rayward's operator lacks do not count: another operator may have them.

    Raises:
        Invalid: It has problems; the first is the error's field.
    """
    try:
        found = [one for one in judged(wanted, ref.kind)[0] if one.reason != FEATURE_MISSING]
    except msgspec.ValidationError as error:
        following = "rayward lint FILE shows the line"
        raise Invalid(
            f"{ref} does not have the structure of its kind", str(error), following, object=str(ref)
        ) from error
    if found:
        what = f"{ref} has {len(found)} problem{'s' if len(found) > 1 else ''}, so the operator would reject it"
        why = "\n".join(map(str, found))
        following = "rayward lint FILE shows the lines; --no-lint applies it anyway"
        raise Invalid(what, why, following, object=str(ref), field=found[0].path)


def check(
    wanted: Sequence[tuple[Ref, Object]],
    *,
    manager: str = writing.MANAGER,
    force: bool = False,
    lint: bool = True,
    strategy: Strategy | None = None,
) -> Operation[tuple[Refusal, ...]]:
    """What stands against applying each manifest; nothing is changed, and each one is asked about.

    The manifests say the strategy already; here it is whether the operator at work knows it.
    """
    found: list[Refusal] = []
    for ref, manifest in wanted:
        try:
            asked: Written = yield from writing.apply(ref, manifest, manager=manager, force=force, dry_run=True)
            if lint:
                refuse_problems(ref, asked.object)
            yield from predicting.check_strategy(ref, manifest, strategy, manager=manager, force=force)
        except (ApiError, ChangeError) as error:
            told = outcome_of(error, str(ref))
            assert told is not None
            found.append(Refusal(ref, told))
    return tuple(found)


def refusal_error(refusals: Sequence[Refusal], total: int) -> ChangeError:
    """One error for all that was refused; its type and code are those of the first."""
    first = refusals[0].error
    if total == 1:
        return first
    what = f"nothing was applied: {len(refusals)} of {total} objects cannot be applied"
    why = "\n".join(f"{one.ref}: {one.error.what}" for one in refusals)
    return type(first)(what, why, first.following, object=first.object, field=first.field)
