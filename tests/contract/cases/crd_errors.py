"""Definitions that are refused, and objects that break their schema."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Case, case, create, merge
from tests.contract.definitions import (
    CRD,
    GROUP,
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


def _refused(name: str, body: dict[str, Any]) -> Case:
    return case(f"definition: {name}", create("customresourcedefinitions", body))


def _schema(name: str, spec: Any) -> Case:
    return case(
        f"schema: {name}", create("customresourcedefinitions", definition(version(of_spec(spec)))).in_any_order()
    )


def _object(name: str, spec: dict[str, Any], *values: Any) -> Case:
    asked = [create(WIDGETS, widget(f"w{n}", {"x": value})).in_any_order() for n, value in enumerate(values)]
    return case(f"object: {name}", install(version(of_spec(thing(x=spec)))), asked)


_NAMED = {"type": "object", "required": ["name"], "properties": {"name": STRING, "n": INTEGER}}

CASES = [
    _refused("a name that is not plural and group", {**definition(), "metadata": {"name": "other"}}),
    _refused("no versions", {**definition(), "spec": {**definition()["spec"], "versions": []}}),
    _refused("no storage version", definition(version(storage=False))),
    _refused("two storage versions", definition(version(), version(name="v2"))),
    _refused("one version twice", definition(version(), version(storage=False))),
    _refused("no schema", definition({"name": "v1", "served": True, "storage": True})),
    _refused("a version's name", definition(version(name="V 1"))),
    _refused("a scope", definition(scope="Galaxy")),
    _refused("no spec", {"metadata": {"name": "widgets.{ns}.example.com"}}),
    _refused(
        "a group without a dot",
        {**definition(), "metadata": {"name": "widgets.short"}, "spec": {**definition()["spec"], "group": "short"}},
    ),
    _refused(
        "names",
        definition(
            names={
                "plural": "widgets",
                "kind": "not valid",
                "singular": "Up",
                "shortNames": ["a b"],
                "categories": ["C D"],
            }
        ),
    ),
    _refused("names without a kind", definition(names={"plural": "widgets", "kind": ""})),
    _refused("kind and list kind alike", definition(names={"listKind": "Widget"})),
    _refused("a webhook conversion without a webhook", definition(conversion={"strategy": "Webhook"})),
    _refused("a conversion of no kind", definition(conversion={"strategy": "Magic"})),
    _refused(
        "printer columns",
        definition(
            version(
                additionalPrinterColumns=[
                    {"name": "", "type": "odd", "jsonPath": "spec"},
                    {"name": "b", "type": "string", "jsonPath": ".spec[", "format": "odd"},
                ]
            )
        ),
    ),
    _refused("a scale without its paths", definition(version(subresources={"scale": {}}))),
    _refused(
        "a scale with wrong paths",
        definition(
            version(
                subresources={
                    "scale": {
                        "specReplicasPath": ".status.x",
                        "statusReplicasPath": ".spec.x[0]",
                        "labelSelectorPath": "x",
                    }
                }
            )
        ),
    ),
    _refused(
        "a selectable field that does not exist",
        definition(version(selectableFields=[{"jsonPath": ".spec.nothing"}, {"jsonPath": ".metadata.name"}])),
    ),
    _refused("a deprecation warning without deprecation", definition(version(deprecationWarning="x"))),
    _refused(
        "a protected group",
        {
            **definition(),
            "metadata": {"name": "widgets.{ns}.k8s.io"},
            "spec": {**definition()["spec"], "group": "{ns}.k8s.io"},
        },
    ),
    _schema("no type", {"properties": {"a": STRING}}),
    _schema("an unknown type", {"type": "thing"}),
    _schema("two types", {"type": ["string", "integer"]}),
    _schema(
        "properties and additional properties",
        {"type": "object", "properties": {"a": STRING}, "additionalProperties": STRING},
    ),
    _schema("additional properties forbidden", {"type": "object", "additionalProperties": False}),
    _schema("an array without items", {"type": "array"}),
    _schema("items that are a list", {"type": "array", "items": [STRING]}),
    _schema("a reference", thing(a={"$ref": "#/x"})),
    _schema("unique items", array(STRING, uniqueItems=True)),
    _schema("a broken pattern", thing(a={"type": "string", "pattern": "("})),
    _schema("a pattern of another dialect", thing(a={"type": "string", "pattern": "(?=x)"})),
    _schema("a default that does not fit", thing(a={"type": "integer", "default": "x"})),
    _schema(
        "a default that would be pruned",
        thing(a={"type": "object", "default": {"odd": 1}, "properties": {"b": STRING}}),
    ),
    _schema("a default outside of its enum", thing(a={"type": "string", "enum": ["x"], "default": "y"})),
    _schema("a list of type map without keys", array(_NAMED, **{"x-kubernetes-list-type": "map"})),
    _schema(
        "a list of type map with a key that does not exist",
        array(_NAMED, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["odd"]}),
    ),
    _schema(
        "a list of type map with a key that may be missing",
        array(_NAMED, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]}),
    ),
    _schema(
        "a list of type map of strings",
        array(STRING, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}),
    ),
    _schema("a list type that does not exist", array(STRING, **{"x-kubernetes-list-type": "odd"})),
    _schema("a list type on a string", {"type": "string", "x-kubernetes-list-type": "set"}),
    _schema("a set of objects", array(thing(a=STRING), **{"x-kubernetes-list-type": "set"})),
    _schema("a map type that does not exist", {"type": "object", "x-kubernetes-map-type": "odd"}),
    _schema("int-or-string with a type", {"type": "string", "x-kubernetes-int-or-string": True}),
    _schema("an embedded object that is pruned whole", {"type": "object", "x-kubernetes-embedded-resource": True}),
    _schema("preserved unknown fields set to false", {"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
    _schema(
        "a junction with types inside", {"type": "object", "anyOf": [{"type": "object", "properties": {"a": STRING}}]}
    ),
    _schema(
        "a junction about a field that is not described",
        {"type": "object", "properties": {"a": STRING}, "oneOf": [{"required": ["a"]}, {"properties": {"b": {}}}]},
    ),
    _schema(
        "negative limits",
        thing(a={"type": "string", "maxLength": -1}, b={"type": "array", "items": STRING, "minItems": -1}),
    ),
    _schema("an empty enum value", thing(a={"type": "string", "enum": []})),
    _schema("unknown keywords", thing(a={"type": "string", "odd": 1})),
    _schema("an unknown format", thing(a={"type": "string", "format": "odd"})),
    case(
        "schema: restrictions on metadata",
        create(
            "customresourcedefinitions",
            definition(
                version(
                    {
                        "type": "object",
                        "properties": {
                            "metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}}
                        },
                    }
                )
            ),
        ).only_of("spec.versions[0].schema"),
        create(
            "customresourcedefinitions",
            definition(
                version(
                    {
                        "type": "object",
                        "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
                    }
                )
            ),
        ),
    ),
    case(
        "schema: a root that is no object", create("customresourcedefinitions", definition(version({"type": "string"})))
    ),
    case(
        "schema: an update that breaks it",
        install(),
        merge(CRD, {"spec": {"versions": [version(of_spec({"type": "array"}))]}}),
    ),
    _object("types", INTEGER, "a", 1.5, True, [], {}, 2**63),
    _object(
        "strings",
        {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^a"},
        "a",
        "abcde",
        "bcd",
        "äää",
        5,
        "abc",
    ),
    _object("numbers", {"type": "number", "minimum": 1, "maximum": 5, "multipleOf": 0.5}, 0, 6, 1.25, "1", 2.5),
    _object(
        "exclusive limits",
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": True},
        1,
        5,
        3,
    ),
    _object("int32 and int64", {"type": "integer", "format": "int32"}, 2**31, -(2**31) - 1, 1),
    _object("enums", {"type": "string", "enum": ["a", "b"]}, "c", "", "a"),
    _object(
        "lists",
        {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer", "minimum": 0}},
        [],
        [1, 2, 3],
        [-1, "x"],
        {},
        [1],
    ),
    _object("sets", array(STRING, **{"x-kubernetes-list-type": "set"}), ["a", "b", "a"], ["a"]),
    _object(
        "keyed lists",
        array(_NAMED, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
        [{"name": "a"}, {"name": "a"}],
        [{"n": 1}],
        [{"name": "a"}, {"name": "b"}],
    ),
    _object(
        "required fields",
        {"type": "object", "required": ["a", "b"], "properties": {"a": STRING, "b": STRING}},
        {},
        {"a": "1"},
        {"a": None, "b": "1"},
        {"a": "", "b": ""},
    ),
    _object(
        "maps",
        {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2, "minProperties": 1},
        {"a": "x"},
        {},
        {"a": 1, "b": 2, "c": 3},
        {"a": 1},
    ),
    _object(
        "junctions",
        {
            "type": "object",
            "properties": {"a": STRING, "b": STRING},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {},
        {"a": "1", "b": "1"},
        {"a": "1"},
    ),
    _object(
        "any of and not",
        {"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": 1}], "not": {"enum": [0]}},
        5,
        0,
        11,
    ),
    _object("all of", {"type": "string", "allOf": [{"minLength": 2}, {"pattern": "x$"}]}, "x", "ab", "ax"),
    *[
        _object(f"format {form}", {"type": "string", "format": form}, *values)
        for form, values in {
            "date-time": ["yesterday", "2020-01-01T00:00:00Z"],
            "date": ["2020-13-01", "2020-01-01"],
            "byte": ["%%%", "YQ=="],
            "email": ["x", "a@example.com"],
            "ipv4": ["999.1.1.1", "10.0.0.1"],
            "ipv6": ["10.0.0.1", "::1"],
            "cidr": ["x", "10.0.0.0/8"],
            "uri": ["::", "https://example.com"],
            "hostname": ["-", "a.example.com"],
            "uuid": ["x", "11111111-1111-1111-1111-111111111111"],
            "duration": ["x", "5m"],
            "password": ["x"],
            "mac": ["x", "00:11:22:33:44:55"],
        }.items()
    ],
    case(
        "object: many errors at once",
        install(
            version(
                of_spec(
                    {
                        "type": "object",
                        "required": ["z"],
                        "properties": {
                            "a": {"type": "integer", "maximum": 1},
                            "b": {"type": "string", "enum": ["x"]},
                            "c": array({"type": "string", "maxLength": 1}),
                        },
                    }
                )
            )
        ),
        create(WIDGETS, widget(spec={"a": 5, "b": "y", "c": ["ok", "x", "no"]})).in_any_order(),
    ),
    case(
        "object: nothing of it is there",
        install(version(of_spec(thing(a=STRING), required=["spec"]))),
        create(WIDGETS, widget()),
    ),
    case(
        "object: ratcheting tolerates what was invalid before",
        install(),
        create(WIDGETS, widget(spec={"size": 9, "colour": "a"})).only_of("kind"),
        merge(
            CRD,
            {"spec": {"versions": [version(of_spec(thing(size={"type": "integer", "maximum": 5}, colour=STRING)))]}},
        ).only_of("kind"),
        create(WIDGETS, widget("x", {"size": 9}), dryRun="All").polled(code=422),
        merge(f"{WIDGETS}/w", {"spec": {"colour": "b"}}),
        merge(f"{WIDGETS}/w", {"spec": {"size": 8}}),
        merge(f"{WIDGETS}/w", {"spec": {"size": 4}}),
    ),
    case("object: a group that is not there yet", create(f"/apis/none.{GROUP}/v1/namespaces/{{ns}}/widgets", {})),
]
