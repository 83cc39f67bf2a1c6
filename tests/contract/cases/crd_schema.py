"""Custom resource definitions: what their schemas do to objects."""

from __future__ import annotations

from tests.contract.case import case, create, get, json_patch, watch
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

_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


CASES = [
    case(
        "a schema is changed",
        install(),
        create(WIDGETS, widget(spec={"size": 1, "weight": 5})),
        json_patch(
            CRD,
            {
                "op": "replace",
                "path": "/spec/versions/0/schema/openAPIV3Schema",
                "value": of_spec(thing(size=INTEGER, weight=INTEGER)),
            },
        ).only_of("metadata.generation"),
        create(WIDGETS, widget("x", {"weight": 5}), dryRun="All").polled(**{"spec.weight": 5}),
        get(f"{WIDGETS}/w"),
    ),
    case(
        "unknown fields are pruned",
        install(),
        create(WIDGETS, {**widget(spec={"size": 1, "odd": 2, "deep": {"x": 1}}), "extra": True}),
        get(f"{WIDGETS}/w"),
    ),
    case(
        "metadata is never pruned of what it knows",
        install(),
        create(WIDGETS, widget(spec={}, labels={"a": "b"}, annotations={"c": "d"}, odd="x")),
    ),
    case(
        "unknown fields are preserved where allowed",
        install(
            version(
                of_spec(
                    {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                        "properties": {"known": thing(a=STRING)},
                    }
                )
            )
        ),
        create(WIDGETS, widget(spec={"odd": {"x": [1, None, {"y": 2}]}, "known": {"a": "1", "b": "2"}})),
        get(f"{WIDGETS}/w"),
    ),
    case(
        "preserveUnknownFields is refused", create("customresourcedefinitions", definition(preserveUnknownFields=True))
    ),
    case(
        "defaults are filled in, at every depth",
        install(
            version(
                of_spec(
                    {
                        "type": "object",
                        "default": {},
                        "properties": {
                            "size": {"type": "integer", "default": 5},
                            "inner": {
                                "type": "object",
                                "default": {"b": 2},
                                "properties": {"a": {"type": "string", "default": "x"}, "b": INTEGER},
                            },
                            "list": array(
                                {"type": "object", "properties": {"c": {"type": "boolean", "default": True}}}
                            ),
                        },
                    }
                )
            )
        ),
        create(WIDGETS, widget()),
        create(WIDGETS, widget("x", {"size": None, "inner": {}, "list": [{}, {"c": False}]})),
        create(WIDGETS, widget("y", {"inner": None})),
        get(f"{WIDGETS}/w"),
    ),
    case(
        "defaults appear on what was stored before them",
        install(),
        create(WIDGETS, widget(spec={})).only_of("spec"),
        json_patch(
            CRD,
            {
                "op": "replace",
                "path": "/spec/versions/0/schema/openAPIV3Schema",
                "value": of_spec(thing(size={"type": "integer", "default": 9})),
            },
        ).only_of("kind"),
        get(f"{WIDGETS}/w").polled(**{"spec.size": 9}),
    ),
    case(
        "nulls: nullable and not",
        install(
            version(
                of_spec(
                    thing(
                        a={"type": "string", "nullable": True},
                        b=STRING,
                        c={"type": "string", "default": "x"},
                        d={"type": "string", "nullable": True, "default": "y"},
                    )
                )
            )
        ),
        create(WIDGETS, widget(spec={"a": None})),
        create(WIDGETS, widget("x", {"b": None})),
        create(WIDGETS, widget("y", {"c": None, "d": None})),
    ),
    case(
        "embedded objects",
        install(
            version(
                of_spec(
                    thing(
                        template={
                            "type": "object",
                            "x-kubernetes-embedded-resource": True,
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    )
                )
            )
        ),
        create(
            WIDGETS,
            widget(
                spec={
                    "template": {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "metadata": {"name": "p", "odd": 1},
                        "spec": {"x": 1},
                    }
                }
            ),
        ),
        create(WIDGETS, widget("x", {"template": {"kind": "Pod"}})),
        create(
            WIDGETS, widget("y", {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Bad Name"}}})
        ),
    ),
    case(
        "int-or-string",
        install(version(of_spec(thing(port={"x-kubernetes-int-or-string": True})))),
        create(WIDGETS, widget(spec={"port": 80})),
        create(WIDGETS, widget("x", {"port": "http"})),
        create(WIDGETS, widget("y", {"port": True})),
    ),
    case(
        "printer columns",
        install(
            version(
                additionalPrinterColumns=[
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {
                        "name": "Colour",
                        "type": "string",
                        "jsonPath": ".spec.colour",
                        "priority": 1,
                        "description": "of paint",
                    },
                    {"name": "Ready", "type": "boolean", "jsonPath": ".status.ready"},
                    {"name": "Born", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ]
            )
        ),
        create(WIDGETS, widget(spec={"size": 3, "colour": "red"})).only_of("kind"),
        create(WIDGETS, widget("x", {})).only_of("kind"),
        get(WIDGETS, _TABLE).only_of(
            "columnDefinitions",
            "rows[0].cells[0]",
            "rows[0].cells[1]",
            "rows[0].cells[2]",
            "rows[0].cells[3]",
            "rows[1].cells[1]",
        ),
    ),
    case(
        "printer columns of lists and conditions",
        install(
            version(
                of_spec(
                    thing(names=array(STRING)),
                ),
                additionalPrinterColumns=[
                    {"name": "All", "type": "string", "jsonPath": ".spec.names[*]"},
                    {"name": "First", "type": "string", "jsonPath": ".spec.names[0]"},
                    {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"},
                    {"name": "Num", "type": "number", "jsonPath": ".status.n"},
                ],
            )
        ),
        create(
            WIDGETS,
            {
                **widget(spec={"names": ["a", "b"]}),
                "status": {"n": 1.5, "conditions": [{"type": "X", "status": "No"}, {"type": "Ready", "status": "Yes"}]},
            },
        ).only_of("kind"),
        get(f"{WIDGETS}/w", _TABLE).only_of("rows[0].cells"),
    ),
    case(
        "no printer columns: name and age",
        install(),
        create(WIDGETS, widget(spec={})).only_of("kind"),
        get(WIDGETS, _TABLE),
    ),
    case(
        "selectable fields",
        install(version(selectableFields=[{"jsonPath": ".spec.colour"}])),
        create(WIDGETS, widget("a", {"colour": "red"})).only_of("kind"),
        create(WIDGETS, widget("b", {"colour": "blue"})).only_of("kind"),
        get(WIDGETS, fieldSelector="spec.colour=red").only_of("items[0].metadata.name", "items[1]"),
        get(WIDGETS, fieldSelector="spec.size=1"),
    ),
    case(
        "a watch of objects sees the schema's defaults",
        install(version(of_spec(thing(size={"type": "integer", "default": 5})))),
        get(WIDGETS).keeping(rv="metadata.resourceVersion").only_of("kind"),
        create(WIDGETS, widget(spec={})).only_of("kind"),
        watch(f"{WIDGETS}?resourceVersion={{rv}}", 1),
    ),
]
