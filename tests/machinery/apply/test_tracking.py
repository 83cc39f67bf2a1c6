from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.apply import (
    NOBODY,
    RESET_ALL_BUT_STATUS,
    RESET_STATUS,
    encode,
    owners_of,
    track_update,
)
from tests.machinery.apply.kinds import WIDGET, built_in, pod_type, service_type
from tests.machinery.apply.story import LATER, NOW, Story, widget
from tests.machinery.apply.strategies import MANAGERS, OBJECTS


def entry(manager: str, fields: Any, **more: Any) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "example.com/v1",
        "time": NOW,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def managed(obj: dict[str, Any] | None) -> Any:
    assert obj
    return obj["metadata"].get("managedFields")


_IMAGE = {"f:spec": {".": {}, "f:image": {}}}


class TestCreating:
    def test_the_creator_owns_all_that_it_sent(self) -> None:
        story = Story().update("me", widget({"labels": {"a": "b"}}, image="x"))
        assert managed(story.live) == [
            entry("me", {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {".": {}, "f:image": {}}})
        ]

    def test_what_identifies_an_object_is_never_owned(self) -> None:
        server = ("namespace", "uid", "creationTimestamp", "selfLink", "clusterName", "resourceVersion")
        story = Story().update("me", widget({**dict.fromkeys(server, "x"), "generation": 1}))
        assert managed(story.live) is None

    def test_an_unnamed_writer_is_unknown(self) -> None:
        assert set(Story().update("", widget(image="x")).managed) == {"unknown"}

    def test_managed_fields_may_be_brought_along(self) -> None:
        brought = [entry("you", {"f:status": {}}, operation="Apply")]
        story = Story().update("me", widget({"managedFields": brought}, image="x"))
        assert set(story.managed) == {"me", "you"}

    @pytest.mark.parametrize("brought", [[], [{}], None, [{"manager": "broken"}], "text"])
    def test_others_are_as_good_as_none(self, brought: Any) -> None:
        story = Story().update("me", widget({"managedFields": brought}, image="x"))
        assert managed(story.live) == [entry("me", _IMAGE)]


class TestBuiltInKinds:
    """What a structure always shows is not owned for being there; recorded from kube-apiserver."""

    def test_a_pod(self) -> None:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "labels": {"a": "1"}},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "busybox",
                        "resources": {},
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    }
                ],
                "volumes": [{"name": "v", "emptyDir": {}}],
                "securityContext": {},
                "tolerations": [{"key": "a"}],
            },
            "status": {"phase": "Pending"},
        }
        story = Story(pod_type(), reset=RESET_STATUS).update("me", pod)
        assert story.managed["me"] == {
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"main"}': {
                        ".": {},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {
                            ".": {},
                            'k:{"containerPort":80,"protocol":"TCP"}': {
                                ".": {},
                                "f:containerPort": {},
                                "f:protocol": {},
                            },
                        },
                        "f:resources": {},
                    }
                },
                "f:volumes": {".": {}, 'k:{"name":"v"}': {".": {}, "f:emptyDir": {}, "f:name": {}}},
                "f:securityContext": {},
                "f:tolerations": {},
            },
        }

    def test_a_deployment(self) -> None:
        template = {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "c"}]}}
        obj = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d"},
            "spec": {"selector": {"matchLabels": {"a": "1"}}, "template": template, "strategy": {"type": "Recreate"}},
            "status": {},
        }
        story = Story(built_in("io.k8s.api.apps.v1.Deployment"), reset=RESET_STATUS).update("me", obj)
        assert story.managed["me"] == {
            "f:spec": {
                "f:selector": {},
                "f:strategy": {"f:type": {}},
                "f:template": {
                    "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                    "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}}}},
                },
            }
        }

    def test_an_event(self) -> None:
        obj = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod"},
            "source": {"component": "x"},
            "reportingComponent": "",
            "eventTime": None,
            "count": 1,
        }
        story = Story(built_in("io.k8s.api.core.v1.Event")).update("me", obj)
        assert story.managed["me"] == {"f:count": {}, "f:involvedObject": {}, "f:source": {"f:component": {}}}

    def test_a_service(self) -> None:
        obj = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s"},
            "spec": {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "selector": {"a": "1"}},
        }
        story = Story(service_type(), reset=RESET_STATUS).update("me", obj)
        port = {".": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}}
        assert story.managed["me"] == {
            "f:spec": {"f:ports": {".": {}, 'k:{"port":80,"protocol":"TCP"}': port}, "f:selector": {}}
        }


class TestUpdating:
    def test_who_changes_a_field_owns_it(self) -> None:
        story = Story().update("me", widget(image="x", replicas=1)).update("you", widget(image="y", replicas=1))
        assert story.managed == {"me": {"f:spec": {".": {}, "f:replicas": {}}}, "you": {"f:spec": {"f:image": {}}}}

    def test_one_writer_has_one_entry_with_the_time_of_its_last_change(self) -> None:
        story = Story().update("me", widget(image="x")).update("me", widget(image="y", replicas=1), now=LATER)
        assert managed(story.live) == [entry("me", {"f:spec": {".": {}, "f:image": {}, "f:replicas": {}}}, time=LATER)]

    def test_a_change_of_nothing_keeps_the_times(self) -> None:
        story = Story().update("me", widget(image="x")).update("you", widget(image="x"), now=LATER)
        assert managed(story.live) == [entry("me", _IMAGE)]

    def test_taking_something_away_is_no_claim(self) -> None:
        story = Story().update("me", widget(image="x", replicas=1)).update("you", widget(image="x"), now=LATER)
        assert managed(story.live) == [entry("me", _IMAGE)]

    def test_whoever_owned_only_what_went_is_gone(self) -> None:
        story = Story().update("a", widget(image="x")).update("b", widget(image="x", replicas=1))
        assert set(story.update("c", widget(image="x")).managed) == {"a"}

    def test_versions_are_other_owners_and_stay_as_they_are(self) -> None:
        story = Story().update("me", widget(image="x"))
        story.update("me", {**widget(image="x", replicas=1), "apiVersion": "example.com/v2"})
        assert [(e["apiVersion"], e["fieldsV1"]) for e in managed(story.live)] == [
            ("example.com/v1", _IMAGE),
            ("example.com/v2", {"f:spec": {"f:replicas": {}}}),
        ]

    def test_more_than_ten_updaters_are_too_many(self) -> None:
        story = Story()
        for number in range(12):
            story.update(f"u{number:02d}", widget({"labels": {f"l{n}": "x" for n in range(number + 1)}}))
        assert len(story.managed) == 10
        assert story.managed["ancient-changes"]["f:metadata"]["f:labels"].keys() == {".", "f:l0", "f:l1", "f:l2"}


class TestSubresources:
    def test_writes_to_the_status_are_an_owner_of_their_own(self) -> None:
        story = Story().update("me", widget(image="x"))
        status = {**widget(image="x"), "status": {"ready": 1}}
        story.update("me", status, subresource="status", reset=RESET_ALL_BUT_STATUS)
        assert managed(story.live) == [
            entry("me", _IMAGE),
            entry("me", {"f:status": {".": {}, "f:ready": {}}}, subresource="status"),
        ]

    @pytest.mark.parametrize(
        ("reset", "owned"),
        [
            pytest.param(
                RESET_STATUS, {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:image": {}}}, id="main"
            ),
            pytest.param(RESET_ALL_BUT_STATUS, {"f:status": {".": {}, "f:ready": {}}}, id="status"),
        ],
    )
    def test_fields_that_the_endpoint_resets_are_not_owned(self, reset: Any, owned: Any) -> None:
        story = Story(reset=reset).update("a", widget(image="x"), reset={})
        story.update("b", {**widget({"labels": {"a": "1"}}, image="y"), "status": {"ready": 1}})
        assert story.managed["b"] == owned

    def test_managed_fields_can_not_be_set_through_one(self) -> None:
        story = Story().update("me", widget(image="x"))
        story.update("you", widget({"managedFields": []}, image="x"), subresource="status")
        assert managed(story.live) == [entry("me", _IMAGE)]


class TestManagedFieldsOfTheClient:
    """A client that sends managed fields has its way."""

    @pytest.mark.parametrize("sent", [[], [{}], [{"manager": "", "time": None}]])
    def test_empty_ones_clear_them(self, sent: list[Any]) -> None:
        story = Story().update("me", widget(image="x")).update("you", widget({"managedFields": sent}, image="y"))
        assert managed(story.live) is None
        assert story.owners == NOBODY

    def test_once_cleared_updates_are_not_tracked(self) -> None:
        story = Story().update("me", widget(image="x")).update("you", widget({"managedFields": []}, image="x"))
        assert managed(story.update("you", widget(image="y")).live) is None

    @pytest.mark.parametrize("sent", [None, [{"manager": "x"}], [{"fieldsV1": {}}], "text", [1]])
    def test_unreadable_ones_do_not_count(self, sent: Any) -> None:
        story = Story().update("me", widget(image="x"))
        assert managed(story.update("you", widget({"managedFields": sent}, image="x")).live) == [entry("me", _IMAGE)]

    def test_readable_ones_replace_what_was_there(self) -> None:
        story = Story().update("me", widget(image="x", replicas=1))
        sent = [entry("you", {"f:spec": {"f:replicas": {}}})]
        story.update("them", widget({"managedFields": sent}, image="y", replicas=1))
        assert story.managed == {"you": {"f:spec": {"f:replicas": {}}}, "them": {"f:spec": {"f:image": {}}}}

    def test_those_of_the_live_object_need_not_be_read_again(self) -> None:
        story = Story().update("me", widget(image="x"))
        assert story.live
        sent = {**story.live, "spec": {"image": "y"}}
        obj, owners = track_update(
            story.live, sent, type=WIDGET, manager="you", api_version="example.com/v1", now=NOW, owners=story.owners
        )
        assert {owner.manager: owner.fields for owner in owners} == {
            "me": {"f:spec": {}},
            "you": {"f:spec": {"f:image": {}}},
        }
        assert managed(obj) == encode(owners)


class TestObjectsThatCanNotBeTracked:
    def test_a_live_object_without_owners_stays_without(self) -> None:
        story = Story()
        story.live = widget({"uid": "u"}, image="x")
        assert managed(story.update("me", widget(image="y")).live) is None

    def test_unreadable_owners_are_no_owners(self) -> None:
        live = widget({"uid": "u", "managedFields": [{"manager": "x", "fieldsV1": 5}]}, image="x")
        obj, owners = track_update(
            live, widget(image="y"), type=WIDGET, manager="me", api_version="example.com/v1", now=NOW
        )
        assert (managed(obj), owners) == (None, NOBODY)

    def test_a_write_never_fails_for_its_owners(self) -> None:
        assert managed(Story().update("me", widget(parts=[{"size": 1}])).live) is None

    def test_nor_for_its_depth(self) -> None:
        deep: Any = {}
        for _ in range(5_000):
            deep = {"a": deep}
        obj, owners = track_update(
            None, widget(extra=deep), type=WIDGET, manager="me", api_version="example.com/v1", now=NOW
        )
        assert (managed(obj), owners) == (None, NOBODY)


def test_a_mutation_by_admission_is_a_further_update_by_the_same_manager() -> None:
    def tracked(live: Any, new: Any) -> Any:
        return track_update(live, new, type=WIDGET, manager="me", api_version="example.com/v1", now=NOW)[0]

    created = tracked(None, widget(image="x"))
    mutated = {**created, "spec": {**created["spec"], "replicas": 1}}
    assert managed(tracked(None, mutated)) == [entry("me", {"f:spec": {".": {}, "f:image": {}, "f:replicas": {}}})]

    live = {**created, "metadata": {**created["metadata"], "uid": "u"}}
    updated = tracked(live, {**live, "spec": {"image": "y"}})
    mutated = {**updated, "spec": {"image": "y", "paused": True}}
    assert managed(tracked(live, mutated)) == [entry("me", {"f:spec": {".": {}, "f:image": {}, "f:paused": {}}})]


def test_a_schema_that_made_a_list_atomic_is_followed() -> None:
    story = Story().update("me", widget(image="x"))
    assert story.live
    old = [entry("me", {"f:spec": {"f:args": {'v:"a"': {}}}}), entry("you", {"f:spec": {"f:image": {}}})]
    story.live = {**story.live, "metadata": {**story.live["metadata"], "managedFields": old}, "spec": {"args": ["a"]}}
    story.owners = None
    assert story.update("them", widget(args=["a"], replicas=1)).managed["me"] == {"f:spec": {"f:args": {}}}


@given(st.lists(st.tuples(MANAGERS, OBJECTS), min_size=1, max_size=5))
def test_whatever_is_written_is_owned_and_can_be_read_back(steps: list[tuple[str, Any]]) -> None:
    story = Story()
    for manager, body in steps:
        sent = {**widget(), **body}
        before = repr((story.live, sent))
        live = story.live
        story.update(manager, sent)
        assert repr((live, sent)) == before
    assert owners_of(story.live) == story.owners
