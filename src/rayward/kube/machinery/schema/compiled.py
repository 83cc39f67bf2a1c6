"""A schema that is ready to use."""

from __future__ import annotations

from typing import Final

from rayward.kube.machinery import fielderror
from rayward.kube.machinery.fielderror import FieldError, Reason
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.schema import embedded, findings, listtype, rules
from rayward.kube.machinery.schema.accept import acceptor
from rayward.kube.machinery.schema.correlation import Correlated
from rayward.kube.machinery.schema.explain import explain
from rayward.kube.machinery.schema.fill import filler
from rayward.kube.machinery.schema.metadata import MetadataError
from rayward.kube.machinery.schema.node import Raw, Resolve, Tree
from rayward.kube.machinery.schema.prune import prune

_BLOCKING: Final = frozenset(
    {Reason.NOT_SUPPORTED, Reason.REQUIRED, Reason.TOO_LONG, Reason.TOO_MANY, Reason.TYPE_INVALID}
)
_TOO_DEEP: Final = "exceeded max depth"
_RULES_SKIPPED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def compile(raw: Raw, *, resolve: Resolve | None = None) -> Schema:  # noqa: A001 the word for it
    """Makes a schema ready to use; cheap, since parts are compiled when a value first reaches them.

    Args:
        raw: An OpenAPI v3 schema, as in a CRD's ``openAPIV3Schema``. It must not be changed afterwards.
        resolve: Gives the schema behind a reference by its last path segment. With it, an object without declared
            fields keeps whatever it holds, as built-in kinds do.
    """
    return Schema(Tree(raw, resolve))


class Schema:
    """What a kind's objects must look like; safe to share, as it only ever learns."""

    def __init__(self, tree: Tree) -> None:
        self._root = tree.root
        self._fill = filler(tree.root)
        self._accepts = acceptor(tree.root)
        self._plan = None if tree.open else rules.plan(tree.root, resource_root=True)

    @property
    def raw(self) -> Raw:
        """The OpenAPI schema this was made from."""
        return self._root.raw

    def prune(self, obj: Object) -> list[str]:
        """Drops unknown fields, in place; gives their paths as Kubernetes names them (``spec.list[0].bar``).

        Metadata is read as ObjectMeta: unknown fields go, empty ones too.

        Raises:
            MetadataError: Metadata of the object or of an object inside it cannot be read, or the object is nested
                deeper than anyone can follow.
        """
        try:
            return prune(self._root, obj)
        except RecursionError:
            # Only a schema that refers to itself lets a value take us this deep.
            raise MetadataError(_TOO_DEEP) from None

    def default(self, obj: Object) -> None:
        """Sets defaults, in place, and drops nulls that stand for fields which are not set."""
        self._fill(obj)

    def validate(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """What is wrong with an object, metadata at its root aside.

        Args:
            obj: The object, pruned and defaulted.
            old: What it replaces. Then values that did not change are tolerated, and transition rules are checked.
        """
        try:
            return self._validate(obj, old)
        except RecursionError:
            return [fielderror.invalid(findings.NO_FIELD, "", _TOO_DEEP)]

    def _validate(self, obj: Object, old: Object | None) -> list[FieldError]:
        pair = None if old is None else Correlated(obj, old, self._root)
        errors: list[FieldError] = []
        if not self._accepts(obj):
            errors = findings.as_errors(explain(self._root, obj, "", pair).found, "")
            errors += embedded.check(self._root, obj)
            errors += self._check_lists(obj, old)
        return self._with_rules(errors, obj, old, pair)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        """What is wrong with an object whose status alone was replaced."""
        pair = Correlated(obj, old, self._root)
        errors: list[FieldError] = []
        status = self._root.child("status")
        if status is not None and "status" in obj:
            errors = findings.as_errors(explain(status, obj["status"], "", pair.key("status")).found, "status")
        errors += self._check_lists(obj, old)
        return self._with_rules(errors, obj, old, pair)

    def _check_lists(self, obj: Object, old: Object | None) -> list[FieldError]:
        errors = listtype.check(self._root, obj)
        # Who already had duplicates may keep them.
        return errors if not errors or old is None or not listtype.check(self._root, old) else []

    def _with_rules(
        self, errors: list[FieldError], obj: Object, old: Object | None, pair: Correlated | None
    ) -> list[FieldError]:
        if self._plan is None:
            return errors
        if any(error.reason in _BLOCKING for error in errors):
            return [*errors, fielderror.invalid(findings.NO_FIELD, None, _RULES_SKIPPED)]
        return errors + rules.check(self._plan, obj, old, pair)
