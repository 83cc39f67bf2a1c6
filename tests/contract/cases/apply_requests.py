"""Server-side apply: which requests are understood and which are refused."""

from __future__ import annotations

from typing import Any

from tests.contract.case import (
    APPLY,
    NEVER_A_SERVER_ERROR,
    Case,
    Step,
    apply,
    bad_request_in,
    case,
    get,
)
from tests.contract.objects import container, pod


def _labels(**labels: str | None) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": labels}}


_POD = pod("p", container())
_START = apply("pods/p", _POD)

CASES: list[Case] = [
    case(
        "an unknown field is refused",
        apply("pods/p", {**_POD, "spec": {**_POD["spec"], "colour": "red"}}),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case(
        "an unknown field when validation is off",
        apply("pods/p", {**_POD, "spec": {**_POD["spec"], "colour": "red"}}, fieldValidation="Ignore"),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case(
        "a value of a wrong type is refused",
        apply("pods/p", pod("p", container(), hostNetwork="yes")),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case(
        "a list where a map belongs is refused",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": ["a"]}}),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case("a manager is needed", apply("pods/p", _POD, "")),
    case("an empty manager is refused", apply("pods/p?fieldManager=", _POD, "")),
    case(
        "a manager's name may be long but not too long",
        apply("pods/p", _POD, "m" * 128),
        apply("pods/q", pod("q"), "m" * 129),
    ),
    case("a manager's name must be printable", apply("pods/p?fieldManager=a%00b", _POD, "")),
    case("a force that is no boolean", apply("pods/p", _POD, force="maybe")),
    case("dry run stores nothing", apply("pods/p", _POD, dryRun="All"), get("pods/p")),
    case("dry run of a change", _START, apply("pods/p", _labels(a="1"), "bob", dryRun="All"), get("pods/p")),
    case(
        "managed fields may not be applied",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "managedFields": [{"manager": "x"}]}}),
        apply("pods/p", {**_POD, "metadata": {"name": "p", "managedFields": []}}),
        apply("pods/p", {**_POD, "metadata": {"name": "p", "managedFields": None}}),
    ),
    case(
        "kind and version are needed",
        apply("pods/p", {"metadata": {"name": "p"}, "spec": _POD["spec"]}),
        apply("pods/p", {"kind": "Pod", "metadata": {"name": "p"}, "spec": _POD["spec"]}),
    ),
    case("another kind is refused", apply("pods/p", {**_POD, "kind": "Service"})),
    case("another version is refused", apply("pods/p", {**_POD, "apiVersion": "v2"})),
    case("another name is refused", apply("pods/q", _POD)),
    case("the name is needed", apply("pods/p", {**_POD, "metadata": {}})),
    case("another namespace is refused", apply("pods/p", {**_POD, "metadata": {"name": "p", "namespace": "default"}})),
    case(
        "a configuration in YAML",
        Step(
            "PATCH",
            apply("pods/p", None).path,
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  automountServiceAccountToken: false\n"
            "  containers:\n  - name: main\n    image: busybox # plain\n",
            {"Content-Type": APPLY},
        ),
    ),
    case(
        "broken YAML is refused",
        Step("PATCH", apply("pods/p", None).path, "a: [", {"Content-Type": APPLY}),
        Step("PATCH", apply("pods/p", None).path, "a: b: c", {"Content-Type": APPLY}),
        Step("PATCH", apply("pods/p", None).path, "just text", {"Content-Type": APPLY}),
        Step("PATCH", apply("pods/p", None).path, "", {"Content-Type": APPLY}),
    ),
    case(
        "a resource version in the configuration",
        _START.keeping(rv="metadata.resourceVersion"),
        apply(
            "pods/p",
            {**_labels(a="1"), "metadata": {"name": "p", "resourceVersion": "{rv}", "labels": {"a": "1"}}},
            "bob",
        ),
        apply(
            "pods/p",
            {**_labels(a="2"), "metadata": {"name": "p", "resourceVersion": "{rv}", "labels": {"a": "2"}}},
            "bob",
        ),
    ),
    case(
        "a uid in the configuration of what does not exist",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "uid": "11111111-1111-1111-1111-111111111111"}}),
    ),
    case(
        "a resource version of what does not exist",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "resourceVersion": "5"}}),
    ),
    case("generateName cannot be applied", apply("pods/p", {**_POD, "metadata": {"generateName": "p-"}})),
    case("apply to a collection is not allowed", apply("pods", _POD)),
]
