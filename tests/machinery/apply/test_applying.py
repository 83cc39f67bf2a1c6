from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.apply import (
    NOBODY,
    RESET_ALL_BUT_STATUS,
    RESET_STATUS,
    ApplyConflict,
    ApplyError,
    apply_config,
    equal_ignoring_managed_times,
    owners_of,
)
from rayward.kube.machinery.apply.lastapplied import ANNOTATION
from tests.machinery.apply.kinds import WIDGET, pod_type, raycluster_type, service_type
from tests.machinery.apply.story import LATER, NOW, Story, widget
from tests.machinery.apply.strategies import CONFIGS, FULL_CONFIGS, MANAGERS

_V1: dict[str, Any] = {"type": WIDGET, "manager": "me", "api_version": "example.com/v1", "now": NOW}


def _request(**more: Any) -> dict[str, Any]:
    return {**_V1, **more}


class TestCreating:
    def test_the_applier_owns_what_it_mentions(self) -> None:
        story = Story().apply("me", widget({"labels": {"a": "1"}}, image="x", parts=[{"name": "p"}]))
        assert story.live
        assert story.live["metadata"]["managedFields"] == [
            {
                "manager": "me",
                "operation": "Apply",
                "apiVersion": "example.com/v1",
                "time": NOW,
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {"f:labels": {"f:a": {}}},
                    "f:spec": {"f:image": {}, "f:parts": {'k:{"name":"p"}': {".": {}, "f:name": {}}}},
                },
            }
        ]

    def test_what_identifies_an_object_is_never_owned(self) -> None:
        story = Story().apply("me", widget())
        assert story.owners == NOBODY
        assert story.live == widget({"uid": "u"})

    def test_the_configuration_is_left_as_it_is(self) -> None:
        config = widget(image="x", parts=[{"name": "p"}])
        before = repr(config)
        Story().apply("me", config)
        assert repr(config) == before


class TestApplyingAgain:
    def test_the_same_gives_the_live_object_itself(self) -> None:
        story = Story().apply("me", widget(image="x"))
        live = story.live
        obj, _ = apply_config(live, widget(image="x"), **_request(now=LATER))
        assert obj is live

    def test_a_change_gets_a_new_time(self) -> None:
        story = Story().apply("me", widget(image="x")).apply("me", widget(image="y"), now=LATER)
        assert story.times == {"me": LATER}

    def test_an_applier_that_changes_nothing_has_no_time(self) -> None:
        story = Story().apply("me", widget(image="x")).apply("you", widget(image="x"), now=LATER)
        assert story.times == {"me": NOW, "you": None}
        assert story.apply("me", widget(image="x"), now=LATER).times == {"me": NOW, "you": None}

    def test_giving_up_a_shared_field_changes_owners_but_not_the_object(self) -> None:
        story = Story().apply("me", widget(image="x", replicas=1)).apply("you", widget(image="x"))
        story.apply("me", widget(replicas=1), now=LATER)
        assert story.spec == {"image": "x", "replicas": 1}
        assert story.times == {"me": NOW, "you": None}

    def test_another_version_is_the_same_applier(self) -> None:
        story = Story().apply("me", widget(image="x", replicas=1))
        story.apply("me", {**widget(image="x"), "apiVersion": "example.com/v2"})
        assert story.spec == {"image": "x"}
        assert story.owners
        assert [(each.manager, each.api_version) for each in story.owners] == [("me", "example.com/v2")]

    def test_an_empty_configuration_gives_up_everything(self) -> None:
        story = Story().apply("me", widget(image="x")).apply("you", widget(replicas=1)).apply("me", widget())
        assert story.spec == {"replicas": 1}
        assert set(story.managed) == {"you"}


class TestConflicts:
    def test_with_an_applier(self) -> None:
        story = Story().apply("you", widget(image="x"))
        with pytest.raises(ApplyConflict) as caught:
            story.apply("me", widget(image="y"))
        assert caught.value.message == 'Apply failed with 1 conflict: conflict with "you": .spec.image'

    def test_with_an_updater_of_a_subresource(self) -> None:
        story = Story().update("you", {**widget(), "status": {"ready": 1}}, subresource="status")
        with pytest.raises(ApplyConflict, match='"you" with subresource "status" using example'):
            story.apply("me", {**widget(), "status": {"ready": 2}})

    def test_with_oneself_as_an_updater(self) -> None:
        story = Story().update("me", widget(image="x"))
        with pytest.raises(ApplyConflict):
            story.apply("me", widget(image="y"))

    def test_nothing_is_changed_by_one(self) -> None:
        story = Story().apply("you", widget(image="x"))
        before = repr((story.live, story.owners))
        with pytest.raises(ApplyConflict):
            story.apply("me", widget(image="y"))
        assert repr((story.live, story.owners)) == before

    def test_force_takes_the_field(self) -> None:
        story = Story().apply("you", widget(image="x", replicas=1)).apply("me", widget(image="y"), force=True)
        assert story.managed == {"you": {"f:spec": {"f:replicas": {}}}, "me": {"f:spec": {"f:image": {}}}}


class TestBeforeTheFirstApply:
    def test_what_was_there_gets_an_owner(self) -> None:
        story = Story()
        story.live = widget({"uid": "u", "labels": {"a": "1"}}, image="x")
        story.apply("me", widget(replicas=1))
        assert story.managed == {
            "before-first-apply": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {".": {}, "f:image": {}},
            },
            "me": {"f:spec": {"f:replicas": {}}},
        }

    def test_who_then_can_be_in_conflict(self) -> None:
        story = Story()
        story.live = widget({"uid": "u"}, image="x")
        with pytest.raises(ApplyConflict, match='conflict with "before-first-apply" using example'):
            story.apply("me", widget(image="y"))

    def test_unreadable_owners_count_as_none(self) -> None:
        story = Story()
        story.live = widget({"uid": "u", "managedFields": [{"manager": "x"}]}, image="x")
        assert set(story.apply("me", widget(replicas=1)).managed) == {"before-first-apply", "me"}

    def test_later_updates_are_tracked(self) -> None:
        story = Story()
        story.live = widget({"uid": "u"}, image="x")
        story.apply("me", widget(replicas=1)).update("you", widget(image="y", replicas=1))
        assert "you" in story.managed


class TestSubresources:
    def test_the_main_endpoint_does_not_own_the_status(self) -> None:
        story = Story(reset=RESET_STATUS).apply("me", {**widget(image="x"), "status": {"ready": 1}})
        assert story.managed == {"me": {"f:spec": {"f:image": {}}}}

    def test_the_status_endpoint_owns_only_that(self) -> None:
        story = Story().apply("me", widget(image="x"))
        story.apply(
            "me",
            {**widget({"labels": {"a": "1"}}, image="x"), "status": {"ready": 1}},
            subresource="status",
            reset=RESET_ALL_BUT_STATUS,
        )
        assert story.owners
        assert {(each.manager, each.subresource): each.fields for each in story.owners} == {
            ("me", ""): {"f:spec": {"f:image": {}}},
            ("me", "status"): {"f:status": {"f:ready": {}}},
        }


class TestConfigurationsThatAreRefused:
    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({**widget(), "apiVersion": "example.com/v2"}, "invalid object type: example.com/v2, Kind=Widget"),
            ({**widget(), "kind": "Gadget"}, "invalid object type: example.com/v1, Kind=Gadget"),
            ({"metadata": {}}, "invalid object type: /, Kind="),
            ({**widget(), "apiVersion": "v1"}, "invalid object type: /v1, Kind=Widget"),
            (widget({"managedFields": []}), "metadata.managedFields must be nil"),
            (widget({"managedFields": [{}]}), "metadata.managedFields must be nil"),
        ],
    )
    def test_bad_requests(self, config: dict[str, Any], message: str) -> None:
        with pytest.raises(ApplyError) as caught:
            apply_config(None, config, kind="Widget", **_V1)
        assert (caught.value.message, caught.value.bad_request) == (message, True)

    def test_managed_fields_of_null_are_none(self) -> None:
        assert Story().apply("me", widget({"managedFields": None}, image="x")).managed == {
            "me": {"f:spec": {"f:image": {}}}
        }

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            (widget(colour="red"), ".spec.colour: field not declared in schema"),
            (widget(hosts=["a", "a"]), '.spec.hosts: duplicate entries for key [="a"]'),
            (widget({"labels": ["a"]}), ".metadata.labels: expected map, got &{[a]}"),
        ],
    )
    def test_misfits(self, config: dict[str, Any], message: str) -> None:
        with pytest.raises(ApplyError) as caught:
            apply_config(None, config, **_V1)
        assert (
            caught.value.message == f"failed to create typed patch object (/w; example.com/v1, Kind=Widget): {message}"
        )
        assert not caught.value.bad_request

    @pytest.mark.parametrize(("namespace", "named"), [("n", "n/w"), ("", "/w"), (None, "/w")])
    def test_the_text_names_the_object_as_the_configuration_does(self, namespace: str | None, named: str) -> None:
        with pytest.raises(ApplyError, match=rf"\({named}; example.com/v1, Kind=Widget\)"):
            apply_config(None, widget({"namespace": namespace}, colour="red"), **_V1)

    def test_a_live_object_that_does_not_fit(self) -> None:
        live = widget({"uid": "u"}, parts=[{"size": 1}])
        with pytest.raises(
            ApplyError, match=r"^failed to create typed live object \(/w; example.com/v1, Kind=Widget\): "
        ):
            apply_config(live, widget(parts=[{"name": "x"}]), **_V1)

    def test_depth(self) -> None:
        deep: Any = {}
        for _ in range(5_000):
            deep = {"a": deep}
        with pytest.raises(ApplyError) as caught:
            apply_config(None, widget(extra=deep), **_V1)
        assert caught.value.bad_request


class TestMovingFromKubectl:
    """``kubectl apply --server-side`` of what was applied client-side before."""

    def _client_side(self, **spec: Any) -> Story:
        story = Story()
        config = widget(**spec)
        text = json.dumps(config)
        return story.update("kubectl-client-side-apply", widget({"annotations": {ANNOTATION: text}}, **spec))

    def test_fields_applied_client_side_are_taken_over(self) -> None:
        story = self._client_side(image="x", replicas=1).apply("kubectl", widget(image="y", replicas=1))
        assert story.spec == {"image": "y", "replicas": 1}
        assert story.managed["kubectl"]["f:spec"] == {"f:image": {}, "f:replicas": {}}

    def test_others_are_in_conflict_all_the_same(self) -> None:
        story = self._client_side(image="x", replicas=1)
        assert story.live
        story.update("autoscaler", {**story.live, "spec": {"image": "x", "replicas": 5}})
        with pytest.raises(ApplyConflict) as caught:
            story.apply("kubectl", widget(image="y", replicas=1))
        assert [cause.field for cause in caught.value.causes] == [".spec.replicas"]

    def test_only_kubectl_takes_over(self) -> None:
        with pytest.raises(ApplyConflict):
            self._client_side(image="x").apply("me", widget(image="y"))

    def test_the_annotation_keeps_up(self) -> None:
        story = self._client_side(image="x").apply("kubectl", widget(image="y"))
        assert story.live
        assert json.loads(story.live["metadata"]["annotations"][ANNOTATION]) == widget(image="y")

    def test_without_the_annotation_there_is_nothing_to_take_over(self) -> None:
        with pytest.raises(ApplyConflict):
            Story().update("kubectl-client-side-apply", widget(image="x")).apply("kubectl", widget(image="y"))


class TestBuiltInKinds:
    def test_containers_are_merged_by_name(self) -> None:
        story = Story(pod_type(), reset=RESET_STATUS)
        story.apply("a", _pod({"name": "main", "image": "x"}))
        story.apply("b", _pod({"name": "main", "env": [{"name": "E", "value": "1"}]}, {"name": "side", "image": "y"}))
        assert story.spec["containers"] == [
            {"name": "main", "image": "x", "env": [{"name": "E", "value": "1"}]},
            {"name": "side", "image": "y"},
        ]

    def test_ports_of_one_number_and_two_protocols_are_two(self) -> None:
        story = Story(service_type(), reset=RESET_STATUS)
        story.apply("a", _service({"port": 53, "name": "tcp"}, {"port": 53, "protocol": "UDP", "name": "udp"}))
        story.apply("a", _service({"port": 53, "protocol": "UDP", "name": "udp"}))
        assert story.spec["ports"] == [{"port": 53, "protocol": "UDP", "name": "udp"}]


def _pod(*containers: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": list(containers)}}


def _service(*ports: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": list(ports)}}


def test_worker_groups_of_a_raycluster_are_owned_as_a_whole() -> None:
    def cluster(**spec: Any) -> dict[str, Any]:
        return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r"}, "spec": spec}

    group = {"groupName": "g", "replicas": 1}
    story = Story(raycluster_type(), reset=RESET_STATUS).apply("me", cluster(rayVersion="2", workerGroupSpecs=[group]))
    with pytest.raises(ApplyConflict) as caught:
        story.apply("you", cluster(workerGroupSpecs=[{**group, "replicas": 2}]))
    assert [cause.field for cause in caught.value.causes] == [".spec.workerGroupSpecs"]


_STEPS = st.lists(st.tuples(st.sampled_from(["apply", "update"]), MANAGERS, CONFIGS), max_size=4)


def _played(steps: list[tuple[str, str, Any]]) -> Story:
    story = Story()
    for verb, manager, body in steps:
        if verb == "apply":
            story.apply(manager, {**widget(), **body}, force=True)
        else:
            story.update(manager, {**widget(), **body})
    return story


# A null that an update left behind may still go with the next apply, so there are none here.
_FULL_STEPS = st.lists(st.tuples(st.sampled_from(["apply", "update"]), MANAGERS, FULL_CONFIGS), max_size=4)


@given(_FULL_STEPS, MANAGERS, FULL_CONFIGS)
def test_a_second_apply_has_nothing_to_write(steps: list[Any], manager: str, body: Any) -> None:
    config = {**widget(), **body}
    story = _played(steps).apply(manager, config, force=True)
    once = story.live
    assert once
    again, owners = apply_config(once, config, **_request(manager=manager, now=LATER))
    assert equal_ignoring_managed_times(once, again)
    assert owners == owners_of(again)


@given(_STEPS, MANAGERS, CONFIGS)
def test_cached_owners_give_the_same_as_decoded_ones(steps: list[Any], manager: str, body: Any) -> None:
    story = _played(steps)
    config = {**widget(), **body}
    request = _request(manager=manager, force=True)
    sent = json.loads(json.dumps(story.live))
    assert apply_config(story.live, config, owners=story.owners, **request) == apply_config(sent, config, **request)
