"""What a rule allows and covers; tests/contract/cases/rbac_rules.py holds the same against kube-apiserver."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.apiserver.rbac.access import Access
from rayward.local.apiserver.rbac.rule import Rule, compact, missing

_PODS = Rule(("get", "list"), ("",), ("pods",))
_GET = Rule(("get",), ("",), ("pods",))


def _path(path: str, verb: str = "get") -> Access:
    return Access(verb, path=path, of_resource=False)


@pytest.mark.parametrize(
    ("rule", "access", "allowed"),
    [
        (_PODS, Access("get", resource="pods"), True),
        (_PODS, Access("watch", resource="pods"), False),
        (_PODS, Access("get", "apps", "pods"), False),
        (_PODS, Access("get", resource="pods", subresource="log"), False),
        (_PODS, Access("get", resource="pods", namespace="n", name="p"), True),
        (Rule(("*",), ("*",), ("*",)), Access("x", "g", "r", "s"), True),
        (Rule(("*",), ("*",), ("*",)), _path("/x"), False),
        (Rule(("get",), ("",), ("*/log",)), Access("get", resource="pods", subresource="log"), True),
        (Rule(("get",), ("",), ("*/log",)), Access("get", resource="pods"), False),
        (Rule(("get",), ("",), ("pods/*",)), Access("get", resource="pods", subresource="log"), False),
        (Rule(("get",), ("",), ("pods",), ("a",)), Access("get", resource="pods", name="a"), True),
        (Rule(("get",), ("",), ("pods",), ("a",)), Access("get", resource="pods", name="b"), False),
        (Rule(("get",), ("",), ("pods",), ("a",)), Access("get", resource="pods"), False),
        (Rule(("get",), urls=("/a/*",)), _path("/a/b"), True),
        (Rule(("get",), urls=("/a/*",)), _path("/a"), False),
        (Rule(("get",), urls=("*",)), _path("/a"), True),
        (Rule(("get",), urls=("/a",)), _path("/a", "post"), False),
        (Rule(("get",), urls=("*",)), Access("get", resource="pods"), False),
    ],
)
def test_what_a_rule_allows(rule: Rule, access: Access, *, allowed: bool) -> None:
    assert rule.allows(access) is allowed


@pytest.mark.parametrize(
    ("owned", "wanted", "lacking"),
    [
        (_PODS, Rule(("get",), ("",), ("pods",)), []),
        (_PODS, Rule(("get",), ("",), ("pods",), ("a",)), []),
        (_PODS, Rule(("get", "delete"), ("",), ("pods",)), [Rule(("delete",), ("",), ("pods",))]),
        (
            Rule(("get",), ("",), ("pods",), ("a",)),
            Rule(("get",), ("",), ("pods",)),
            [Rule(("get",), ("",), ("pods",))],
        ),
        (Rule(("*",), ("*",), ("*/log",)), Rule(("get",), ("",), ("pods/log",)), []),
        (Rule(("*",), urls=("/a/*",)), Rule(("get",), urls=("/a/b/*",)), []),
        (Rule(("get",), urls=("/a/*",)), Rule(("get",), urls=("/a",)), [Rule(("get",), urls=("/a",))]),
    ],
)
def test_what_is_missing(owned: Rule, wanted: Rule, lacking: list[Rule]) -> None:
    assert missing([owned], [wanted]) == lacking


def test_missing_atoms_of_one_resource_are_shown_as_one_rule() -> None:
    wanted = Rule(("get", "delete"), ("",), ("pods", "secrets"))
    shown = sorted(str(rule) for rule in compact(wanted.atoms()))
    assert shown == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "delete"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}',
    ]


_WORDS = st.lists(st.sampled_from(["a", "b", "*", "a/x", "*/x", "/p", "/p/*"]), max_size=3).map(tuple)
_RULES = st.builds(Rule, _WORDS, _WORDS, _WORDS, st.lists(st.sampled_from(["n", "m"]), max_size=2).map(tuple), _WORDS)
_ACCESSES = st.one_of(
    st.builds(
        Access,
        st.sampled_from("ab"),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["", "x"]),
        name=st.sampled_from(["", "n", "m"]),
    ),
    st.builds(
        Access, st.sampled_from("ab"), path=st.sampled_from(["/p", "/p/q", "/r"]), of_resource=st.just(value=False)
    ),
)


@given(_RULES, _ACCESSES)
def test_the_atoms_of_a_rule_allow_what_it_allows(rule: Rule, access: Access) -> None:
    assert rule.allows(access) == any(atom.allows(access) for atom in rule.atoms())


@given(_RULES, _RULES, _ACCESSES)
def test_who_covers_a_rule_may_do_what_it_allows(owned: Rule, wanted: Rule, access: Access) -> None:
    if not missing([owned], [wanted]) and wanted.allows(access):
        assert owned.allows(access)


@given(_RULES)
def test_a_rule_survives_being_written(rule: Rule) -> None:
    assert Rule.from_object(rule.to_object()) == rule
