"""Free-standing expressions: what they give, refuse and cost."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery import cel
from rayward.kube.machinery.cel.values import Uint

_VARIABLES = {"x": "dyn", "n": "int", "names": "list<string>", "labels": "map<string, string>"}
_VALUES: dict[str, Any] = {
    "x": {"a": {"b": [1, 2, 3]}, "none": None},
    "n": 7,
    "names": ["ray", "head"],
    "labels": {"app": "ray"},
}


def _value(text: str) -> Any:
    return cel.compile_expression(text, _VARIABLES).evaluate(_VALUES)[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n + 1", 8),
        ("-n / 2", -3),
        ("-n % 4", -3),
        ("n > 6.5 && n < 8u", True),
        ("x.a.b[1]", 2),
        ("has(x.a.b) && !has(x.c)", True),
        ("x.none == null", True),
        ("names.all(s, s.size() > 2)", True),
        ("names.map(s, s.upperAscii())", ["RAY", "HEAD"]),
        ("names.filter(s, s.startsWith('h'))", ["head"]),
        ("names.exists_one(s, s == 'ray')", True),
        ("names.all(i, s, i < s.size())", True),
        ("labels.transformMap(k, v, v + '!')", {"app": "ray!"}),
        ("'app' in labels && 'ray' in names", True),
        ("labels[?'zone'].orValue('none')", "none"),
        ("x.?c.?d.hasValue()", False),
        ("optional.of(n).optMap(v, v * 2).value()", 14),
        ("type(n) == int && type(x) == map", True),
        ("1u + 2u", Uint(3)),
        ("[1, 2, 3].sum() + [4, 5].max()", 11),
        ("lists.range(4).reverse()", [3, 2, 1, 0]),
        ("sets.equivalent([1, 2], [2, 1, 1])", True),
        ("'%s has %d'.format(['ray', n])", "ray has 7"),
        ("'a-b-c'.split('-')", ["a", "b", "c"]),
        ("'abc'.replace('b', 'x').substring(1)", "xc"),
        ("'k8s v1.36'.find('[0-9.]+')", "8"),
        ("quantity('1Gi').isGreaterThan(quantity('1G'))", True),
        ("ip('10.0.0.1').family()", 4),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", True),
        ("url('https://ray.io:8265/x').getPort()", "8265"),
        ("semver('v2.60', true).minor()", 60),
        ("format.dns1123Label().validate('Ray').hasValue()", True),
        ("string(duration('90m'))", "5400s"),
        ("timestamp('2026-01-31T00:00:00Z').getDayOfYear()", 30),
        ("false && 1 / 0 == 1", False),
        ("1 / 0 == 1 || true", True),
        ("[0, 1].exists(v, 1 / v == 1)", True),
    ],
)
def test_gives(text: str, value: Any) -> None:
    found = _value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n / 0", "division by zero"),
        ("n % 0", "modulus by zero"),
        ("x.c", "no such key: c"),
        ("names[9]", "index out of bounds: 9"),
        ("9223372036854775807 + n", "integer overflow"),
        ("x + 1", "no such overload"),
        ("x.a.startsWith('b')", "no such overload: startsWith"),
        ("optional.none().value()", "optional.none() dereference"),
        ("names.min() == '' || x", "no such overload"),
        ("quantity('many').isInteger()", "quantities must match the regular expression "),
    ],
)
def test_fails_in_cel_gos_words(text: str, said: str) -> None:
    with pytest.raises(cel.EvaluationError) as caught:
        _value(text)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n ==", "ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting "),
        ("nope", "ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^"),
        ("n + 'a'", "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n"),
        ("n.a", "ERROR: <input>:1:2: type 'int' does not support field selection\n | n.a\n | .^"),
        ("'a'.matches('(')", "ERROR: <input>:1:13: invalid matches argument\n"),
        ("[1, 'a']", "ERROR: <input>:1:5: expected type 'int' but found 'string'\n"),
        ("'%d'.format(['a'])", "ERROR: <input>:1:14: error during formatting: decimal clause can only be used on "),
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("names.foo(1)", "ERROR: <input>:1:10: undeclared reference to 'foo' (in container '')"),
        ("names.find('')", "ERROR: <input>:1:11: found no matching overload for 'find' applied to 'list(string).(s"),
        ("has(n)", "ERROR: <input>:1:5: invalid argument to has() macro"),
        ("names.all(1, true)", "ERROR: <input>:1:11: argument must be a simple name"),
        ("math.greatest(1, 2)", "ERROR: <input>:1:1: undeclared reference to 'math'"),
    ],
)  # fmt: skip
def test_does_not_compile(text: str, said: str) -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.compile_expression(text, _VARIABLES)
    assert str(caught.value).startswith(said)


def test_an_endless_expression_is_refused() -> None:
    with pytest.raises(cel.CompileError, match="expression code point size exceeds limit: size: 100001, limit 100000"):
        cel.compile_expression("1" * 100_001, {})


@pytest.mark.parametrize("depth", [40, 5000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(cel.CompileError, match="limit"):
        cel.compile_expression("(" * depth + "1" + ")" * depth, {})


@pytest.mark.parametrize(
    "text",
    [
        "big.all(a, big.all(b, big.all(c, a + b + c >= 0)))",
        "big.map(a, big.map(b, a + b)).size() > 0",
        "big.distinct().size() > 0",
        "sets.equivalent(big, big)",
        "lists.range(2000000).size() > 0",
        "big.map(a, text + text).join('').size() > 0",
        "text.contains(text) && big.all(a, text.matches(text))",
    ],
)
def test_an_expensive_evaluation_is_stopped(text: str) -> None:
    program = cel.compile_expression(text, {"big": "list<int>", "text": "string"})
    with pytest.raises(cel.BudgetExceededError, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate({"big": list(range(2000)), "text": "a" * 20_000}, 200_000)


def test_names_the_variables_it_uses() -> None:
    program = cel.compile_expression("n > 1 && names.all(x, x != '')", _VARIABLES)
    assert program.variables == {"n", "names", "x"}
    assert program.result == "bool"


def test_one_program_serves_many_threads() -> None:
    program = cel.compile_expression("names.map(s, s + s).filter(s, s != '')", _VARIABLES)
    wrong: list[Any] = []

    def run(word: str) -> None:
        for _ in range(300):
            found, _ = program.evaluate({**_VALUES, "names": [word, word]})
            if found != [word * 2, word * 2]:
                wrong.append(found)

    threads = [threading.Thread(target=run, args=(word,)) for word in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-100, 100), st.sampled_from("+-*/%"))
def test_whole_numbers_behave_as_64_bits_do(one: int, other: int, operator: str) -> None:
    program = cel.compile_expression(f"a {operator} b", {"a": "int", "b": "int"})
    exact = _exact(one, other, operator)
    if exact is None or not -(2**63) <= exact < 2**63:
        with pytest.raises(cel.EvaluationError, match=r"integer overflow|division by zero|modulus by zero"):
            program.evaluate({"a": one, "b": other})
    else:
        assert program.evaluate({"a": one, "b": other})[0] == exact


def _exact(one: int, other: int, operator: str) -> int | None:
    if operator in "/%" and not other:
        return None
    rest = abs(one) % abs(other or 1)
    rest = -rest if one < 0 else rest
    return {
        "+": one + other,
        "-": one - other,
        "*": one * other,
        "/": (one - rest) // (other or 1),
        "%": rest,
    }[operator]
