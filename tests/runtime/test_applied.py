"""What was applied and is no longer wanted is taken away; what others added stays."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.core.objects import KubeObject
from rayward.kube.machinery.patch import merge_patch
from rayward.kube.runtime.applied import AppliedMark

Object = dict[str, Any]

APPLIED: Final = "example.com/applied"
MARK: Final = AppliedMark(APPLIED)


def _body(annotations: Object | None = None, labels: Object | None = None, **spec: Any) -> Object:
    metadata = {"name": "x", "labels": labels or {"of": "x"}, "annotations": annotations, "ownerReferences": [{}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _found(body: Object) -> KubeObject:
    metadata = {**body["metadata"], "uid": "u", "ownerReferences": []}
    return msgspec.convert({"metadata": metadata}, KubeObject)


_CHANGES: Final[dict[str, tuple[Object, Object, Object, Object]]] = {
    "an annotation": (_body({"a": "1", "b": "2"}), _body({"b": "2"}), {"a": None, "b": "2"}, {}),
    "the last annotation": (_body({"a": "1"}), _body(), {"a": None}, {}),
    "a list": (_body(tls=[{"hosts": ["h"]}]), _body(), {}, {"tls": None}),
    "a field": (_body(ingressClassName="nginx"), _body(), {}, {"ingressClassName": None}),
    "one of a map": (
        _body(selector={"a": "1", "b": "2"}),
        _body(selector={"a": "1"}),
        {},
        {"selector": {"a": "1", "b": None}},
    ),
    "a whole map": (_body(config={"a": {"b": 1}}), _body(), {}, {"config": None}),
    "a map that becomes a list": (_body(config={"a": 1}), _body(config=[1]), {}, {"config": [1]}),
    "another value": (_body(type="NodePort"), _body(type="LoadBalancer"), {}, {"type": "LoadBalancer"}),
}


@pytest.mark.parametrize(("before", "after", "annotations", "spec"), _CHANGES.values(), ids=_CHANGES)
def test_what_is_taken_back_is_written_as_null(
    before: Object, after: Object, annotations: Object, spec: Object
) -> None:
    change = MARK.change(_found(MARK.marked(before)), after)
    assert change["metadata"] == {
        "uid": "u",
        "labels": {"of": "x"},
        "annotations": {**annotations, APPLIED: MARK.mark(after)},
    }
    assert change["spec"] == spec


@pytest.mark.parametrize("applied", ["", "0123456789abcdef", "1234567890123456", "{}", "[]", '{"hash":1}'])
def test_of_what_nobody_knows_nothing_is_taken_away(applied: str) -> None:
    found = _found(_body({APPLIED: applied, "a": "1"}))
    assert MARK.outline(found) is None
    change = MARK.change(found, _body(type="NodePort"))
    assert change["metadata"]["annotations"].keys() == {APPLIED}
    assert change["spec"] == {"type": "NodePort"}


def test_values_of_annotations_are_not_kept_twice() -> None:
    assert "long" not in MARK.mark(_body({"a": "long"}))
    assert MARK.mark(_body({"a": "long"})) != MARK.mark(_body({"a": "longer"}))


def test_a_record_that_is_too_long_is_a_hash() -> None:
    large = _body({f"{number:0300}": "" for number in range(100)})
    assert len(MARK.mark(large)) == 16
    assert MARK.outline(_found(MARK.marked(large))) is None


def test_an_owner_is_no_change() -> None:
    one, other = _body(), _body()
    other["metadata"]["ownerReferences"] = [{"uid": "another"}]
    assert MARK.mark(one) == MARK.mark(other)


_NAMES: Final = st.sampled_from("abc")
_VALUES: Final = st.recursive(
    st.text(max_size=2) | st.lists(st.integers(), max_size=2),
    lambda part: st.dictionaries(_NAMES, part, max_size=3),
    max_leaves=6,
)
_BODIES: Final = st.builds(
    lambda annotations, labels, spec: {
        "metadata": {"name": "x", "labels": {"of": "x", **labels}, "annotations": annotations},
        "spec": spec,
    },
    st.dictionaries(_NAMES, st.text(max_size=2)),
    st.dictionaries(_NAMES, st.text(max_size=2)),
    st.dictionaries(_NAMES, _VALUES),
)


@given(_BODIES, _BODIES)
def test_the_end_is_as_if_it_had_been_made_so_and_with_what_others_added(before: Object, after: Object) -> None:
    def with_strangers(body: Object) -> Object:
        metadata: Object = body["metadata"]
        annotations = {**metadata["annotations"], "others": "stays"}
        return {**body, "metadata": {**metadata, "annotations": annotations}, "spec": {**body["spec"], "others": [1]}}

    live = with_strangers(MARK.marked(before))
    change = MARK.change(_found(live), after)
    del change["metadata"]["uid"]
    assert merge_patch.apply(live, change) == with_strangers(MARK.marked(after))
