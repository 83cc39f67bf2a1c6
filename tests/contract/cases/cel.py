"""CEL rules in schemas."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Case, case, create, merge
from tests.contract.definitions import (
    CRD,
    INTEGER,
    STRING,
    WIDGETS,
    array,
    definition,
    install,
    of_spec,
    thing,
    version,
    widget,
)
from tests.contract.paths import ABSENT


def _rules(schema: dict[str, Any], *rules: str | dict[str, Any]) -> dict[str, Any]:
    known = [{"rule": rule, "message": "no"} if isinstance(rule, str) else rule for rule in rules]
    return {**schema, "x-kubernetes-validations": known}


_SPEC = thing(
    a=INTEGER,
    b=INTEGER,
    s={"type": "string", "maxLength": 20},
    l=array({"type": "string", "maxLength": 10}, maxItems=5),
    m={"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string", "maxLength": 10}},
)


def _checked(name: str, schema: dict[str, Any], *specs: Any) -> Case:
    asked = [create(WIDGETS, widget(f"w{n}", spec)).in_any_order() for n, spec in enumerate(specs)]
    return case(name, install(version(of_spec(schema))), asked)


def _evaluates(rule: str, *specs: Any) -> Case:
    return _checked(f"rule: {rule}", _rules(_SPEC, rule), *specs)


def _refused(name: str, schema: dict[str, Any]) -> Case:
    return case(f"refused: {name}", create("customresourcedefinitions", definition(version(of_spec(schema)))))


CASES = [
    _evaluates("self.a <= self.b", {"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 1}),
    _evaluates("!has(self.a) || self.a > 0", {}, {"a": 0}, {"a": 1}),
    _evaluates("self.s.startsWith('x') && self.s.size() < 5", {"s": "xa"}, {"s": "ya"}),
    _evaluates("self.s.matches('^[a-z]+$')", {"s": "abc"}, {"s": "A"}),
    _evaluates("self.l.all(x, x.size() > 1)", {"l": ["aa"]}, {"l": ["aa", "b"]}),
    _evaluates("self.l.exists_one(x, x == 'a')", {"l": ["a"]}, {"l": ["a", "a"]}),
    _evaluates("'k' in self.m && self.m['k'] == 'v'", {"m": {"k": "v"}}, {"m": {"k": "w"}}, {"m": {}}),
    _evaluates("self.l.isSorted() && self.l.indexOf('b') < 2", {"l": ["a", "b"]}, {"l": ["b", "a"]}),
    _evaluates("self.l.map(x, x.size()).sum() < 5", {"l": ["a", "b"]}, {"l": ["aaa", "bbb"]}),
    _evaluates("quantity(self.s).isLessThan(quantity('1Gi'))", {"s": "500Mi"}, {"s": "2Gi"}, {"s": "x"}),
    _evaluates(
        "isURL(self.s) && url(self.s).getScheme() == 'https'", {"s": "https://a.b"}, {"s": "http://a.b"}, {"s": "x"}
    ),
    _evaluates("isIP(self.s) || isCIDR(self.s)", {"s": "10.0.0.1"}, {"s": "10.0.0.0/8"}, {"s": "x"}),
    _evaluates("self.s.find('[0-9]+') == '12'", {"s": "a12b"}, {"s": "ab"}),
    _evaluates("sets.contains(['a', 'b'], self.l)", {"l": ["a"]}, {"l": ["c"]}),
    _evaluates("duration(self.s) < duration('1h')", {"s": "5m"}, {"s": "2h"}, {"s": "x"}),
    _evaluates("self.?s.orValue('none') != 'none'", {"s": "a"}, {}),
    _evaluates("self.s.split('-').size() == 2 && self.s.lowerAscii() == self.s", {"s": "a-b"}, {"s": "A-b"}),
    _evaluates("format.dns1123Label().validate(self.s).hasValue() == false", {"s": "abc"}, {"s": "A B"}),
    _evaluates("isSemver(self.s) && semver(self.s).major() == 1", {"s": "1.2.3"}, {"s": "2.0.0"}, {"s": "x"}),
    _evaluates("self.l.all(i, v, i < 2 || v != 'x')", {"l": ["x"]}, {"l": ["a", "b", "x"]}),
    _evaluates("self.a / self.b > 0", {"a": 4, "b": 2}, {"a": 1, "b": 0}),
    _checked(
        "a message of its own, reason and path",
        _rules(
            _SPEC,
            {"rule": "self.a > 0", "message": "a must be positive", "reason": "FieldValueForbidden", "fieldPath": ".a"},
            {"rule": "self.b > 0", "messageExpression": "'b is ' + (self.b < 0 ? 'negative' : 'zero')"},
        ),
        {"a": 0, "b": -5},
        {"a": 1, "b": 1},
    ),
    _checked("no message: the rule is told", _rules(_SPEC, {"rule": "self.a > 0"}), {"a": 0}),
    _checked(
        "reasons",
        _rules(
            _SPEC,
            *[
                {"rule": f"self.a != {n}", "message": "m", "reason": reason}
                for n, reason in enumerate(
                    ["FieldValueInvalid", "FieldValueRequired", "FieldValueDuplicate", "FieldValueForbidden"]
                )
            ],
        ),
        {"a": 0},
        {"a": 1},
        {"a": 2},
        {"a": 3},
    ),
    _checked(
        "rules at several depths",
        thing(
            a=_rules(INTEGER, "self > 0"),
            l=array(_rules({"type": "string", "maxLength": 5}, "self != 'x'"), maxItems=5),
            m={
                "type": "object",
                "maxProperties": 5,
                "additionalProperties": _rules({"type": "string", "maxLength": 5}, "self != 'y'"),
            },
        ),
        {"a": 0, "l": ["a", "x"], "m": {"k": "y"}},
        {"a": 1, "l": [], "m": {}},
    ),
    case(
        "a rule at the root sees metadata",
        install(
            version(
                of_spec(
                    _SPEC,
                    **{
                        "x-kubernetes-validations": [
                            {"rule": "self.metadata.name.startsWith('ok')", "message": "bad name"},
                            {"rule": "self.kind == 'Widget' && self.spec.a > 0", "message": "bad"},
                        ]
                    },
                )
            )
        ),
        create(WIDGETS, widget("ok", {"a": 1})).only_of("kind"),
        create(WIDGETS, widget("no", {"a": 0})),
    ),
    case(
        "transition rules",
        install(version(of_spec(_rules(_SPEC, "!has(oldSelf.a) || self.a >= oldSelf.a")))),
        create(WIDGETS, widget(spec={"a": 5})).only_of("kind"),
        merge(f"{WIDGETS}/w", {"spec": {"a": 4}}),
        merge(f"{WIDGETS}/w", {"spec": {"a": 6}}).only_of("spec"),
    ),
    case(
        "immutable fields",
        install(version(of_spec(thing(s=_rules({"type": "string", "maxLength": 9}, "self == oldSelf"))))),
        create(WIDGETS, widget(spec={"s": "a"})).only_of("kind"),
        merge(f"{WIDGETS}/w", {"spec": {"s": "b"}}),
        merge(f"{WIDGETS}/w", {"spec": {"s": None}}).only_of("spec"),
        merge(f"{WIDGETS}/w", {"spec": {"s": "c"}}).only_of("spec"),
    ),
    case(
        "optional old values",
        install(
            version(
                of_spec(
                    thing(
                        a=_rules(
                            INTEGER,
                            {
                                "rule": "oldSelf.hasValue() || self == 0",
                                "message": "starts at 0",
                                "optionalOldSelf": True,
                            },
                        )
                    )
                )
            )
        ),
        create(WIDGETS, widget(spec={"a": 1})),
        create(WIDGETS, widget(spec={"a": 0})).only_of("spec"),
        merge(f"{WIDGETS}/w", {"spec": {"a": 1}}).only_of("spec"),
    ),
    case(
        "transition rules in keyed lists",
        install(
            version(
                of_spec(
                    thing(
                        l=array(
                            _rules(
                                {
                                    "type": "object",
                                    "required": ["n"],
                                    "properties": {"n": {"type": "string", "maxLength": 5}, "v": INTEGER},
                                },
                                "self.v >= oldSelf.v",
                            ),
                            maxItems=5,
                            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]},
                        )
                    )
                )
            )
        ),
        create(WIDGETS, widget(spec={"l": [{"n": "a", "v": 1}, {"n": "b", "v": 5}]})).only_of("kind"),
        merge(f"{WIDGETS}/w", {"spec": {"l": [{"n": "b", "v": 4}, {"n": "a", "v": 2}]}}),
        merge(f"{WIDGETS}/w", {"spec": {"l": [{"n": "b", "v": 6}, {"n": "c", "v": 0}]}}).only_of("spec"),
    ),
    case(
        "ratcheting: a rule that failed before is not asked of what did not change",
        install(),
        create(WIDGETS, widget(spec={"size": 9, "colour": "a"})).only_of("kind"),
        merge(
            CRD, {"spec": {"versions": [version(of_spec(thing(size=_rules(INTEGER, "self < 5"), colour=STRING)))]}}
        ).only_of("kind"),
        create(WIDGETS, widget("x", {"size": 9}), dryRun="All").polled(code=422).only_of("message"),
        merge(f"{WIDGETS}/w", {"spec": {"colour": "b"}}).only_of("spec"),
        merge(f"{WIDGETS}/w", {"spec": {"size": 8}}),
        differs="ours says nothing of rules that an unchanged value breaks; the real server warns",
        ours={5: {"headers.Warning": ABSENT}},
    ),
    case(
        "rules are not asked of an object that breaks its schema",
        install(version(of_spec(_rules(_SPEC, "self.a > 0")))),
        create(WIDGETS, widget(spec={"a": "x"})),
        create(WIDGETS, widget("x", {"a": 0, "s": "s" * 21})),
    ),
    case(
        "names that need escaping",
        install(
            version(
                of_spec(
                    _rules(
                        {
                            "type": "object",
                            "properties": {"if": INTEGER, "a-b": INTEGER, "x.y": INTEGER, "__z__": INTEGER},
                        },
                        "self.__if__ > 0 && self.a__dash__b > 0 && self.x__dot__y > 0",
                    )
                )
            )
        ),
        create(WIDGETS, widget(spec={"if": 1, "a-b": 1, "x.y": 0})),
        create(WIDGETS, widget(spec={"if": 1, "a-b": 1, "x.y": 1})).only_of("spec"),
    ),
    case(
        "int-or-string in rules",
        install(
            version(
                of_spec(
                    thing(
                        p=_rules(
                            {"x-kubernetes-int-or-string": True}, "type(self) == string ? self.endsWith('%') : self > 0"
                        )
                    )
                )
            )
        ),
        create(WIDGETS, widget("a", {"p": 0})),
        create(WIDGETS, widget("b", {"p": "5"})),
        create(WIDGETS, widget("c", {"p": "5%"})).only_of("spec"),
    ),
    case(
        "dates and durations in rules",
        install(
            version(
                of_spec(
                    _rules(
                        thing(t={"type": "string", "format": "date-time"}, d={"type": "string", "format": "duration"}),
                        "self.t > timestamp('2020-01-01T00:00:00Z') && self.d < duration('1h')",
                    )
                )
            )
        ),
        create(WIDGETS, widget("a", {"t": "2021-01-01T00:00:00Z", "d": "5m"})).only_of("spec"),
        create(WIDGETS, widget("b", {"t": "2019-01-01T00:00:00Z", "d": "5m"})),
    ),
    _refused("a rule that does not parse", _rules(_SPEC, "self.a >")),
    _refused("a rule about a field that does not exist", _rules(_SPEC, "self.nothing > 0")),
    _refused("a rule that is no boolean", _rules(_SPEC, "self.a")),
    _refused("types that do not fit", _rules(_SPEC, "self.a > 'x'")),
    _refused("an unknown function", _rules(_SPEC, "self.a.frobnicate()")),
    _refused("bindings", _rules(_SPEC, "cel.bind(n, self.a + 1, n * n < 100)")),
    _refused("an empty rule", _rules(_SPEC, "")),
    _refused("a message with a line break", _rules(_SPEC, {"rule": "true", "message": "a\nb"})),
    _refused("a message expression that is no text", _rules(_SPEC, {"rule": "true", "messageExpression": "self.a"})),
    _refused("an unknown reason", _rules(_SPEC, {"rule": "true", "reason": "Odd"})),
    _refused("a field path that does not exist", _rules(_SPEC, {"rule": "true", "fieldPath": ".odd"})),
    _refused("old values where there are none", thing(l=array(_rules(thing(a=INTEGER), "self.a == oldSelf.a")))),
    _refused(
        "a rule that may cost too much",
        thing(
            l=array(
                array(STRING),
                **{"x-kubernetes-validations": [{"rule": "self.all(x, x.all(y, self.all(z, z.all(w, w == y))))"}]},
            )
        ),
    ),
    _refused("two rules, both broken", _rules(_SPEC, "self.a >", "self.zzz")),
]
