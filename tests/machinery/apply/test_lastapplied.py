from __future__ import annotations

import json
from typing import Any

import pytest

from rayward.kube.machinery.apply.fieldset import set_of
from rayward.kube.machinery.apply.lastapplied import ANNOTATION, kept_up, taken_over
from tests.machinery.apply.kinds import WIDGET
from tests.machinery.apply.story import widget

_VERSION = "example.com/v1"


def annotated(obj: dict[str, Any], text: str) -> dict[str, Any]:
    metadata = {**obj["metadata"], "annotations": {**obj["metadata"].get("annotations", {}), ANNOTATION: text}}
    return {**obj, "metadata": metadata}


class TestTakingOver:
    def test_fields_that_are_as_they_were_applied(self) -> None:
        live = annotated(widget(image="a", replicas=2), json.dumps(widget(image="a", replicas=1)))
        found = taken_over(live, WIDGET, _VERSION)
        assert found == set_of(("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name"), ("f:spec", "f:image"))

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "not json",
            "[]",
            "null",
            json.dumps({**widget(image="a"), "apiVersion": "example.com/v2"}),
            json.dumps({**widget(image="a"), "kind": ""}),
            json.dumps(widget(image=1)),
            json.dumps(widget(hosts=["a", "a"])),
            "[" * 100_000,
        ],
    )
    def test_an_annotation_that_is_no_help(self, text: str) -> None:
        assert taken_over(annotated(widget(image="a"), text), WIDGET, _VERSION) == {}

    @pytest.mark.parametrize("annotations", [None, {}, {ANNOTATION: 1}, []])
    def test_no_annotation(self, annotations: Any) -> None:
        assert taken_over(widget({"annotations": annotations}, image="a"), WIDGET, _VERSION) == {}

    def test_a_live_object_that_can_not_be_compared(self) -> None:
        live = annotated(widget(parts=[{"size": 1}]), json.dumps(widget(image="a")))
        assert taken_over(live, WIDGET, _VERSION) == {}


class TestKeepingUp:
    def test_the_annotation_says_what_was_applied(self) -> None:
        config = widget({"annotations": {"a": "<b>"}}, image="x")
        got = kept_up(annotated(widget(), "old"), config)["metadata"]["annotations"][ANNOTATION]
        assert got == (
            '{"apiVersion":"example.com/v1","kind":"Widget",'
            '"metadata":{"annotations":{"a":"\\u003cb\\u003e"},"name":"w"},"spec":{"image":"x"}}\n'
        )

    def test_it_does_not_say_itself(self) -> None:
        config = annotated(widget(), "mine")
        got = kept_up(annotated(widget(), "old"), config)["metadata"]["annotations"][ANNOTATION]
        assert json.loads(got)["metadata"]["annotations"] == {}

    @pytest.mark.parametrize("live", [widget(), annotated(widget(), ""), widget({"annotations": {"a": "b"}})])
    def test_it_is_not_brought_back(self, live: dict[str, Any]) -> None:
        assert kept_up(live, widget(image="x")) is live

    def test_the_same_again_changes_nothing(self) -> None:
        once = kept_up(annotated(widget(), "old"), widget(image="x"))
        assert kept_up(once, widget(image="x")) is once

    def test_what_is_too_long_is_left_out(self) -> None:
        got = kept_up(annotated(widget({"annotations": {"a": "b"}}), "old"), widget(image="x" * 300_000))
        assert got["metadata"]["annotations"] == {"a": "b"}
