"""Strategic merge patch: every directive, retold on a small pod."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.machinery.patch.smallpod import Object, apply, named, refusal, spec


class TestObjects:
    @pytest.mark.parametrize(
        ("live", "patch", "result"),
        [
            ({"name": "a"}, {"labels": {"x": "1"}}, {"name": "a", "labels": {"x": "1"}}),
            ({"labels": {"x": "1", "y": "2"}}, {"labels": {"y": None, "z": "3"}}, {"labels": {"x": "1", "z": "3"}}),
            ({"labels": {"x": "1"}}, {"labels": None}, {}),
            ({"labels": {"x": "1"}}, {"labels": "text"}, {"labels": "text"}),
            ({}, {"labels": {"x": None, "y": "1"}}, {"labels": {"y": "1"}}),
            ({"name": "a"}, {"name": 5}, {"name": 5}),
        ],
        ids=["new member", "member by member", "null removes", "another type replaces", "nulls of new", "scalars"],
    )
    def test_members_merge(self, live: Object, patch: Object, result: Object):
        assert apply({"metadata": live}, {"metadata": patch}) == {"metadata": result}

    def test_a_member_may_be_declared_to_be_replaced(self):
        doc: Object = {"metadata": {"annotations": {"a": "1", "b": "2"}}}
        assert apply(doc, {"metadata": {"annotations": {"c": "3"}}}) == {"metadata": {"annotations": {"c": "3"}}}

    def test_the_patch_may_ask_for_replacement(self):
        doc: Object = {"metadata": {"labels": {"a": "1", "b": "2"}}}
        patch: Object = {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}
        assert apply(doc, patch) == {"metadata": {"labels": {"c": "3"}}}

    def test_the_patch_may_ask_for_deletion(self):
        doc: Object = {"metadata": {"labels": {"a": "1"}, "name": "n"}}
        assert apply(doc, {"metadata": {"labels": {"$patch": "delete"}}}) == {"metadata": {"labels": {}, "name": "n"}}
        assert apply(doc, {"metadata": {"annotations": {"$patch": "delete"}}}) == doc

    def test_the_whole_document_may_be_replaced(self):
        assert apply({"kind": "a", "spec": {}}, {"$patch": "replace", "kind": "b"}) == {"kind": "b"}

    @pytest.mark.parametrize("directive", ["merge", "explode"])
    def test_other_directives_are_refused(self, directive: str):
        error = refusal({"metadata": {"labels": {}}}, {"metadata": {"labels": {"$patch": directive, "a": "b"}}})
        assert error.message == f"unknown patch type: {directive} in map: map[$patch:{directive} a:b]"
        assert error.code == 400


ROLLING: Object = {"strategy": {"type": "Rolling", "rolling": {"max": 1}}}
TWO: Object = {"containers": [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "2"}]}


class TestRetainKeys:
    def test_only_listed_members_stay(self):
        patch: Object = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
        assert spec(ROLLING, patch) == {"strategy": {"type": "Recreate"}}

    def test_a_member_that_stays_need_not_be_in_the_patch(self):
        patch: Object = {"strategy": {"$retainKeys": ["rolling"]}}
        assert spec(ROLLING, patch) == {"strategy": {"rolling": {"max": 1}}}

    def test_items_of_a_list_take_it_too(self):
        live: Object = {"volumes": [{"name": "v", "emptyDir": {}}]}
        patch: Object = {"volumes": [{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]}
        assert spec(live, patch) == {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}

    @pytest.mark.parametrize(
        "directive", ["type", ["rolling"], [{"type": 1}]], ids=["no list", "a member of the patch missing", "no names"]
    )
    def test_it_must_list_what_the_patch_sets(self, directive: Any):
        error = refusal({"spec": ROLLING}, {"spec": {"strategy": {"$retainKeys": directive, "type": "x"}}})
        assert (error.code, error.message) == (400, "invalid patch format of retainKeys")


class TestListsOfObjects:
    @pytest.mark.parametrize(
        ("patch", "result"),
        [
            (
                [{"name": "b", "image": "3"}],
                [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "3"}],
            ),
            (
                [{"name": "a", "args": ["y"], "image": None}],
                [{"name": "a", "args": ["y"]}, {"name": "b", "image": "2"}],
            ),
            (
                [{"name": "c"}],
                [{"name": "c"}, {"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "2"}],
            ),
            ([{"name": "a", "$patch": "delete"}], [{"name": "b", "image": "2"}]),
            ([{"name": "z", "$patch": "delete"}], TWO["containers"]),
            ([{"$patch": "replace"}, {"name": "n"}], [{"name": "n"}]),
            ([{"$patch": "replace"}], []),
            ([], TWO["containers"]),
        ],
        ids=["merge", "inner fields", "add", "delete", "delete the missing", "replace", "empty", "nothing"],
    )
    def test_items_merge_by_key(self, patch: list[Object], result: list[Object]):
        assert spec(TWO, {"containers": patch}) == {"containers": result}

    def test_inner_lists_merge_by_their_own_key(self):
        live: Object = {"containers": [{"name": "a", "ports": [{"containerPort": 80}, {"containerPort": 81}]}]}
        patch: Object = {"containers": [{"name": "a", "ports": [{"containerPort": 81, "protocol": "UDP"}]}]}
        merged = [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}]
        assert spec(live, patch) == {"containers": [{"name": "a", "ports": merged}]}

    def test_a_key_is_not_equal_to_one_of_another_type(self):
        live: Object = {"containers": [{"name": "a", "ports": [{"containerPort": 1}]}]}
        patch: Object = {"containers": [{"name": "a", "ports": [{"containerPort": True}]}]}
        merged = spec(live, patch)["containers"][0]["ports"]
        assert [port["containerPort"] is True for port in merged] == [True, False]

    def test_lists_without_strategy_are_replaced(self):
        assert spec({"tolerations": named("a")}, {"tolerations": named("b")}) == {"tolerations": named("b")}

    @pytest.mark.parametrize(
        ("live", "patch", "text"),
        [
            (
                {"containers": named("a")},
                {"containers": [{"image": "x"}]},
                "map: map[image:x] does not contain declared merge key: name",
            ),
            (
                {"containers": named("a")},
                {"containers": [{"$patch": "delete", "image": "x"}]},
                "map: map[$patch:delete image:x] does not contain declared merge key: name",
            ),
            (
                {"containers": named("a")},
                {"containers": [{"$patch": "merge", "name": "a"}]},
                "merging lists cannot yet be specified in the patch",
            ),
            (
                {"containers": named("a")},
                {"containers": [{"$patch": "swap", "name": "a"}]},
                "unknown patch type: swap in map: map[$patch:swap name:a]",
            ),
            (
                {"containers": named("a")},
                {"containers": [{"name": "a"}, "b"]},
                "list element types are not identical: [[map[name:a]] [map[name:a] b]]",
            ),
            (
                {"containers": named("a")},
                {"containers": [{"name": {"not": "a key"}}]},
                "map[not:a key] cannot tell one item of a list from another",
            ),
            ({"keyless": named("a")}, {"keyless": named("b")}, "cannot merge lists without merge key for struct"),
        ],
        ids=["no key", "no key to delete", "merge", "unknown", "mixed", "key is no scalar", "type has no key"],
    )
    def test_items_that_cannot_merge_are_refused(self, live: Object, patch: Object, text: str):
        error = refusal({"spec": live}, {"spec": patch})
        assert (error.code, error.message) == (400, text)

    def test_lists_of_lists_are_refused(self):
        error = refusal({"spec": {"containers": [["a"]]}}, {"spec": {"containers": [["b"]]}})
        assert (error.code, error.detail) == (422, "lists of lists are not supported")


class TestListsOfScalars:
    @pytest.mark.parametrize(
        ("live", "patch", "result"),
        [
            (["a"], {"finalizers": ["b"]}, ["b", "a"]),
            (["a", "b"], {"finalizers": ["b"]}, ["a", "b"]),
            (["a", "b", "a"], {"finalizers": ["c", "c"]}, ["c", "a", "b"]),
            (["a", "b", "c"], {"$deleteFromPrimitiveList/finalizers": ["b", "x"]}, ["a", "c"]),
            (
                ["a", "b"],
                {
                    "$deleteFromPrimitiveList/finalizers": ["a"],
                    "$setElementOrder/finalizers": ["c", "b"],
                    "finalizers": ["c"],
                },
                ["c", "b"],
            ),
        ],
        ids=["add", "already there", "no doubles", "delete", "all at once"],
    )
    def test_values_merge(self, live: list[str], patch: Object, result: list[str]):
        assert apply({"metadata": {"finalizers": live}}, {"metadata": patch}) == {"metadata": {"finalizers": result}}

    def test_there_may_be_nothing_to_delete_from(self):
        doc: Object = {"metadata": {"name": "n"}}
        assert apply(doc, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}) == doc

    def test_types_may_not_mix(self):
        error = refusal({"spec": {"numbers": [1]}}, {"spec": {"numbers": [1.5]}})
        assert error.message == "list element types are not identical: [[1] [1.5]]"

    def test_the_directive_must_name_a_field(self):
        error = refusal({"metadata": {}}, {"metadata": {"$deleteFromPrimitiveList": ["a"]}})
        assert (error.code, error.message) == (400, "invalid patch format of primitive list")


class TestOrder:
    @pytest.mark.parametrize(
        ("live", "patch", "order", "result"),
        [
            (["a", "b", "c"], [], ["c", "a"], ["b", "c", "a"]),
            (["a", "b"], ["c"], ["a", "c", "b"], ["a", "c", "b"]),
            (["server", "a", "b"], ["c"], ["b", "c", "a"], ["server", "b", "c", "a"]),
            (["a", "server", "b"], [], ["b", "a"], ["server", "b", "a"]),
            ([], ["a", "b"], ["a", "b"], ["a", "b"]),
            (["a"], [], ["x", "a", "y"], ["a"]),
        ],
        ids=["reordered", "a new one placed", "others keep to theirs", "interleaved", "all new", "more than there is"],
    )
    def test_items_take_the_order_of_the_directive(
        self, live: list[str], patch: list[str], order: list[str], result: list[str]
    ):
        changes: Object = {"$setElementOrder/containers": named(*order)}
        if patch:
            changes["containers"] = named(*patch)
        before: Object = {"containers": named(*live)} if live else {}
        assert spec(before, changes) == {"containers": named(*result)}

    def test_deletions_need_no_place(self):
        changes: Object = {
            "$setElementOrder/containers": named("b"),
            "containers": [{"name": "a", "$patch": "delete"}, {"name": "b", "image": "1"}],
        }
        assert spec({"containers": named("a", "b")}, changes) == {"containers": [{"name": "b", "image": "1"}]}

    def test_a_new_item_takes_the_place_of_a_deleted_one(self):
        changes: Object = {
            "$setElementOrder/containers": named("new", "c"),
            "containers": [{"name": "gone", "$patch": "delete"}, {"name": "new"}],
        }
        assert spec({"containers": named("server", "gone", "c")}, changes) == {
            "containers": named("server", "new", "c")
        }

    def test_scalars_are_ordered_too(self):
        doc: Object = {"metadata": {"finalizers": ["a", "b", "c"]}}
        patch: Object = {"metadata": {"$setElementOrder/finalizers": ["c", "b", "a"]}}
        assert apply(doc, patch) == {"metadata": {"finalizers": ["c", "b", "a"]}}

    def test_an_order_of_nothing_is_no_change(self):
        assert spec({}, {"$setElementOrder/containers": named("a")}) == {}

    @pytest.mark.parametrize(
        ("patch", "text"),
        [
            (
                {"$setElementOrder/containers": named("b"), "containers": named("a")},
                "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
            ),
            (
                {"$setElementOrder/containers": named("b", "a"), "containers": named("a", "b")},
                (
                    "The order in patch list:\n[map[name:a] map[name:b]]\n"
                    " doesn't match $setElementOrder list:\n[map[name:b] map[name:a]]\n"
                ),
            ),
            ({"$setElementOrder/containers": "a"}, "expected a []interface {}, but received a string"),
            ({"$setElementOrder": []}, "invalid patch format of setElementOrder list"),
            (
                {"$setElementOrder/containers": [], "containers": {}},
                "expected a []interface {}, but received a map[string]interface {}",
            ),
            (
                {"$setElementOrder/containers": ["a"], "containers": named("a")},
                "expected a map[string]interface {}, but received a string",
            ),
        ],
        ids=["an item missing", "another order", "no list", "no field", "not for a list", "no keys"],
    )
    def test_an_order_that_contradicts_the_patch_is_refused(self, patch: Object, text: str):
        error = refusal({"spec": {"containers": named("z")}}, {"spec": patch})
        assert (error.code, error.message) == (400, text)


class TestStructure:
    def test_what_the_type_does_not_know_cannot_be_merged_into(self):
        error = refusal({"raw": {"a": {"b": 1}}}, {"raw": {"a": {"b": 2}}})
        assert error.message == 'unable to find api field in struct Raw for the json field "a"'

    def test_maps_of_maps_cannot_be_merged_into(self):
        error = refusal({"spec": {"nested": {"a": {"b": "1"}}}}, {"spec": {"nested": {"a": {"b": "2"}}}})
        assert error.message == "merging an object in json but data type is not struct, instead is: map"

    def test_what_is_new_needs_no_type(self):
        assert apply({}, {"raw": {"a": {"b": 1}}}) == {"raw": {"a": {"b": 1}}}

    @pytest.mark.parametrize(
        ("patch", "kind"),
        [([], "array"), ("x", "string"), (5, "number"), (False, "bool")],
        ids=lambda value: str(value),
    )
    def test_what_is_no_patch(self, patch: Any, kind: str):
        error = refusal({}, patch)
        text = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        assert (error.code, error.message) == (400, text)

    def test_null_and_an_empty_patch_change_nothing(self):
        doc: Object = {"metadata": {"name": "a"}}
        assert apply(doc, None) == doc
        assert apply(doc, {}) == doc

    def test_endless_nesting_is_refused(self):
        patch: Object = {}
        for _ in range(5000):
            patch = {"raw": patch}
        assert refusal({}, patch).message == "exceeded max depth"

    def test_what_the_patch_does_not_name_is_shared(self):
        doc: Object = {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": named("a", "b")}}
        patched = apply(doc, {"spec": {"containers": [{"name": "a", "image": "1"}]}})
        assert patched["metadata"] is doc["metadata"]
        assert patched["spec"]["containers"][1] is doc["spec"]["containers"][1]


names = st.sampled_from(["a", "b", "c", "d"])
texts = st.sampled_from(["1", "2", "3"])


def unique(items: st.SearchStrategy[Object], key: str) -> st.SearchStrategy[list[Object]]:
    return st.lists(items, max_size=4, unique_by=lambda item: item[key])


containers = st.fixed_dictionaries(
    {"name": names},
    optional={
        "image": texts,
        "args": st.lists(texts, max_size=2),
        "ports": unique(
            st.fixed_dictionaries({"containerPort": st.integers(1, 4)}, optional={"protocol": texts}), "containerPort"
        ),
    },
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(names, texts),
                "annotations": st.dictionaries(names, texts),
                "finalizers": st.lists(names, unique=True),
            },
        ),
        "spec": st.fixed_dictionaries({}, optional={"containers": unique(containers, "name")}),
    },
)


@given(documents, documents)
def test_inputs_stay_as_they_are(doc: Object, patch: Object):
    before = copy.deepcopy((doc, patch))
    apply(doc, patch)
    assert (doc, patch) == before


@given(documents, documents)
def test_a_patch_without_directives_is_stable(doc: Object, patch: Object):
    once = apply(doc, patch)
    assert apply(once, patch) == once


@given(documents)
def test_a_document_patched_with_itself_stays(doc: Object):
    assert apply(doc, doc) == doc


@given(documents, documents)
def test_patches_of_different_fields_commute(doc: Object, other: Object):
    of_metadata = {key: value for key, value in other.items() if key == "metadata"}
    of_spec = {key: value for key, value in other.items() if key == "spec"}
    one = apply(apply(doc, of_metadata), of_spec)
    assert one == apply(apply(doc, of_spec), of_metadata) == apply(doc, other)


@given(documents, documents)
def test_every_item_of_the_patch_is_in_the_result_once(doc: Object, patch: Object):
    merged = apply(doc, patch).get("spec", {}).get("containers", [])
    wanted = [item["name"] for item in patch.get("spec", {}).get("containers", [])]
    before = [item["name"] for item in doc.get("spec", {}).get("containers", [])]
    result = [item["name"] for item in merged]
    assert sorted(result) == sorted({*wanted, *before})
    assert [name for name in result if name in wanted] == wanted
    assert [name for name in result if name not in wanted] == [name for name in before if name not in wanted]
