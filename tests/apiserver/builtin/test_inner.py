"""The form that error texts quote: Go's own structs."""

from __future__ import annotations

import pytest

from rayward.local.apiserver.builtin.inner import difference, duplicated, go_json, inner, shown


def test_every_field_is_there_in_gos_order() -> None:
    toleration = inner("Toleration", {"key": "a", "tolerationSeconds": 5})
    assert list(toleration.items()) == [
        ("Key", "a"),
        ("Operator", ""),
        ("Value", ""),
        ("Effect", ""),
        ("TolerationSeconds", 5),
    ]


@pytest.mark.parametrize(
    ("kind", "value", "held"),
    [
        ("*string", None, None),
        ("string", None, ""),
        ("[]string", [], None),
        ("[]string", ["a"], ["a"]),
        ("mapstring", {"b": "2", "a": "1"}, {"a": "1", "b": "2"}),
        ("*int", 0, 0),
        ("Unknown", 5, 5),
    ],
    ids=str,
)
def test_values(kind: str, value: object, held: object) -> None:
    assert inner(kind, value) == held


@pytest.mark.parametrize(
    ("spec", "context"),
    [({}, None), ({"hostNetwork": True}, True), ({"securityContext": {}}, False)],
    ids=["nothing", "the host's network", "a context"],
)
def test_namespaces_of_the_host_lie_in_the_security_context(spec: dict[str, object], context: bool | None) -> None:
    found = inner("PodSpec", {"containers": [], **spec})["SecurityContext"]
    assert (found["HostNetwork"] if found else None) == context


def test_go_escapes_what_html_would_read() -> None:
    assert go_json({"a": "<&>é"}) == '{"a":"\\u003c\\u0026\\u003eé"}'


def test_errors_that_quote_a_struct() -> None:
    error = shown("LocalObjectReference", {"name": "x"}, "spec.a", "no")
    assert str(error) == 'spec.a: Invalid value: {"Name":"x"}: no'
    again = duplicated("LocalObjectReference", {"name": "x"}, "spec.a")
    assert str(again) == 'spec.a: Duplicate value: {"Name":"x"}'


def test_a_difference_shows_three_lines_around() -> None:
    old = {"key": "a", "operator": "Exists", "effect": "NoExecute"}
    assert difference("Toleration", old, {**old, "effect": "NoSchedule"}) == (
        "@@ -2,6 +2,6 @@\n"
        '  "Key": "a",\n'
        '  "Operator": "Exists",\n'
        '  "Value": "",\n'
        '- "Effect": "NoExecute",\n'
        '+ "Effect": "NoSchedule",\n'
        '  "TolerationSeconds": null\n'
        " }\n"
    )
    assert difference("Toleration", old, old) == ""
