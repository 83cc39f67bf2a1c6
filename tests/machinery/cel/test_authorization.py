"""Questions that expressions put to ``authorizer``."""

from __future__ import annotations

import pytest

from rayward.kube.machinery import cel
from rayward.kube.machinery.cel.authorization import (
    VARIABLES,
    Account,
    Authorizer,
    PathCheck,
    ResourceCheck,
    Verdict,
)


def _asked(expression: str) -> tuple[object, list[tuple[object, ...]]]:
    """The value of an expression, and what it asked; whatever has an even number of letters is allowed."""
    seen: list[tuple[object, ...]] = []

    def ask(account: Account | None, verb: str, asked: PathCheck | ResourceCheck) -> Verdict:
        if isinstance(asked, PathCheck):
            what: tuple[object, ...] = (asked.path,)
        else:
            what = (asked.group, asked.resource, asked.subresource, asked.namespace, asked.name)
        seen.append((account, verb, *what))
        return Verdict(len(verb) % 2 == 0, f"{verb} has {len(verb)} letters")

    authorizer = Authorizer(ask)
    request = ResourceCheck(authorizer, "apps", "deployments", "scale", "n", "d")
    program = cel.compile_expression(expression, VARIABLES)
    value, _cost = program.evaluate({"authorizer": authorizer, "authorizer.requestResource": request})
    return value, seen


@pytest.mark.parametrize(
    ("expression", "value", "asked"),
    [
        ("authorizer.group('').resource('pods').check('list').allowed()", True, (None, "list", "", "pods", "", "", "")),
        ("authorizer.path('/healthz').check('get').allowed()", False, (None, "get", "/healthz")),
        ("authorizer.path('/healthz').check('get').reason()", "get has 3 letters", (None, "get", "/healthz")),
        ("authorizer.path('/healthz').check('get').errored()", False, (None, "get", "/healthz")),
        ("authorizer.path('/healthz').check('get').error()", "", (None, "get", "/healthz")),
        (
            (
                "authorizer.group('ray.io').resource('r').subresource('s').namespace('a').name('b').fieldSelector('x=y')"
                "\n.labelSelector('z').check('list').allowed()"
            ),
            True,
            (None, "list", "ray.io", "r", "s", "a", "b"),
        ),
        (
            "authorizer.requestResource.check('list').allowed()",
            True,
            (None, "list", "apps", "deployments", "scale", "n", "d"),
        ),
        ("authorizer.serviceAccount('n', 'sa').path('/x').check('list').allowed()", True, (("n", "sa"), "list", "/x")),
    ],
)
def test_what_is_asked_and_answered(expression: str, value: object, asked: tuple[object, ...]) -> None:
    assert _asked(expression) == (value, [asked])


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("authorizer.serviceAccount('n', 'S A').path('/').check('x').allowed()", "Invalid service account name"),
        ("authorizer.serviceAccount('n.m', 'sa').path('/').check('x').allowed()", "Invalid service account namespace"),
        ("authorizer.group('').resource(' ').check('x').allowed()", "resource must not be empty"),
    ],
)
def test_questions_about_nothing_fail(expression: str, problem: str) -> None:
    with pytest.raises(cel.EvaluationError, match=problem):
        _asked(expression)


@pytest.mark.parametrize(
    "expression", ["authorizer.resource('pods')", "authorizer.path('/x').allowed()", "authorizer.x"]
)
def test_a_question_has_its_order(expression: str) -> None:
    with pytest.raises(cel.CompileError):
        cel.compile_expression(expression, VARIABLES)


def test_two_checks_fit_into_the_budget_and_three_do_not() -> None:
    check = "authorizer.path('/x').check('list').allowed()"
    assert _asked(f"{check} && {check}")[0] is True
    with pytest.raises(cel.BudgetExceededError):
        _asked(f"{check} && {check} && {check}")
