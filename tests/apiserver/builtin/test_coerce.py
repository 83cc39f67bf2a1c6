"""The typed round trip: what is kept of a body, what is reported, and Go's words for what cannot be read."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.apiserver.behaviour import DecodeError
from rayward.local.apiserver.builtin.coerce import compile_kind
from tests.apiserver.builtin.judge import resource_named
from tests.apiserver.builtin.judgements import creations
from tests.apiserver.builtin.mutations import mutated

Object = dict[str, Any]

_POD = compile_kind("io.k8s.api.core.v1.Pod")
_ACCEPTED = [(name, line) for name, line in creations() if "object" in line["answer"]]


def _pod(**spec: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def _container(**fields: Any) -> Object:
    return _pod(containers=[{"name": "a", "image": "x", **fields}])


@pytest.mark.parametrize(
    ("obj", "unknown"),
    [
        pytest.param(_pod(foo=1), ["spec.foo"], id="in a struct"),
        pytest.param({**_pod(), "foo": None}, ["foo"], id="at the top, even null"),
        pytest.param(_container(foo=1), ["spec.containers[0].foo"], id="in a list"),
        pytest.param(_container(Image="y"), ["spec.containers[0].Image"], id="in another case"),
        pytest.param(
            _pod(containers=[{"env": [{}, {"a": 1}]}, {"b": {}}]),
            ["spec.containers[0].env[1].a", "spec.containers[1].b"],
            id="several, in the order of the body",
        ),
        pytest.param(
            _pod(volumes=[{"secret": {"items": [{"x": 1}]}}]),
            ["spec.volumes[0].secret.items[0].x"],
            id="below a struct that Go embeds",
        ),
        pytest.param({**_pod(), "metadata": {"labels": {"anything": "goes"}}}, [], id="not the keys of a map"),
    ],
)
def test_unknown_fields_go_and_are_reported(obj: Object, unknown: list[str]) -> None:
    assert _POD(obj) == unknown
    assert _POD(obj) == []


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({"hostname": ""}, {}, id="an empty text"),
        pytest.param({"hostname": None}, {}, id="null"),
        pytest.param({"nodeSelector": {}}, {}, id="an empty map"),
        pytest.param({"tolerations": []}, {}, id="an empty list"),
        pytest.param({"hostNetwork": False}, {}, id="false"),
        pytest.param({"enableServiceLinks": False}, {"enableServiceLinks": False}, id="false behind a pointer"),
        pytest.param({"activeDeadlineSeconds": 0}, {"activeDeadlineSeconds": 0}, id="zero behind a pointer"),
        pytest.param({"securityContext": {}}, {"securityContext": {}}, id="an empty struct behind a pointer"),
        pytest.param({"runtimeClassName": ""}, {"runtimeClassName": ""}, id="an empty text behind a pointer"),
        pytest.param({"tolerations": [None]}, {"tolerations": [{}]}, id="null in a list of structs"),
        pytest.param({"nodeSelector": {"a": None}}, {"nodeSelector": {"a": ""}}, id="null in a map of texts"),
    ],
)
def test_empty_values_go_where_go_omits_them(given: Object, kept: Object) -> None:
    obj = _pod(**given)
    _POD(obj)
    assert obj["spec"] == {"containers": None, **kept}


def test_what_go_always_writes_is_filled_in() -> None:
    obj: Object = {"apiVersion": "v1", "kind": "Pod"}
    _POD(obj)
    assert obj == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {},
        "spec": {"containers": None},
        "status": {},
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({"resources": {"limits": {"cpu": "1000m"}}}, {"limits": {"cpu": "1"}}, id="a quantity"),
        pytest.param({"resources": {"limits": {"cpu": 0.5}}}, {"limits": {"cpu": "500m"}}, id="a number as a quantity"),
        pytest.param({"resources": {"limits": {"memory": "1024Mi"}}}, {"limits": {"memory": "1Gi"}}, id="binary"),
    ],
)
def test_quantities_are_brought_into_form(given: Object, kept: Object) -> None:
    obj = _container(**given)
    _POD(obj)
    assert obj["spec"]["containers"][0]["resources"] == kept


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00.9Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T01:30:00+01:30", "2020-01-01T00:00:00Z"),
        ("0001-02-03T04:05:06Z", "0001-02-03T04:05:06Z"),
    ],
)
def test_times_are_whole_seconds_in_utc(given: str, kept: str) -> None:
    obj = {**_pod(), "metadata": {"creationTimestamp": given}}
    _POD(obj)
    assert obj["metadata"] == {"creationTimestamp": kept}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2020-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"),
        ("2020-01-01T02:00:00.123456+02:00", "2020-01-01T00:00:00.123456Z"),
    ],
)
def test_exact_times_keep_six_digits(given: str, kept: str) -> None:
    lease: Object = {"metadata": {"name": "a"}, "spec": {"renewTime": given}}
    resource_named("leases.coordination.k8s.io").behaviour.coerce(lease)
    assert lease["spec"] == {"renewTime": kept}


@pytest.mark.parametrize(
    ("given", "kept"), [("eA==", "eA=="), ("eHh4\neHh4", "eHh4eHh4"), ("eB==", "eA=="), ("", "")], ids=repr
)
def test_bytes_are_brought_into_form(given: str, kept: str) -> None:
    secret: Object = {"metadata": {"name": "a"}, "data": {"k": given}}
    resource_named("secrets").behaviour.coerce(secret)
    assert secret["data"] == {"k": kept}


def _into(what: str, field: str, go: str) -> str:
    return f"json: cannot unmarshal {what} into Go struct field {field} of type {go}"


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        pytest.param({"spec": []}, _into("array", "Pod.spec", "v1.PodSpec"), id="a list for a struct"),
        pytest.param({"metadata": "x"}, _into("string", "Pod.metadata", "v1.ObjectMeta"), id="a text for a struct"),
        pytest.param(
            _pod(containers={}), _into("object", "PodSpec.spec.containers", "[]v1.Container"), id="a struct for a list"
        ),
        pytest.param(
            _pod(containers=["a"]), _into("string", "PodSpec.spec.containers", "v1.Container"), id="a text in a list"
        ),
        pytest.param(
            _pod(nodeSelector={"a": 1}), _into("number", "PodSpec.spec.nodeSelector", "string"), id="a number in a map"
        ),
        pytest.param(
            _pod(hostNetwork="x"), _into("string", "PodSpec.spec.hostNetwork", "bool"), id="a text for a bool"
        ),
        pytest.param(
            _pod(terminationGracePeriodSeconds=1.5),
            _into("number 1.5", "PodSpec.spec.terminationGracePeriodSeconds", "int64"),
            id="a fraction for an integer",
        ),
        pytest.param(
            _pod(priority=2**40), _into("number 1099511627776", "PodSpec.spec.priority", "int32"), id="beyond 32 bits"
        ),
        pytest.param(
            _pod(volumes=[{"secret": {"defaultMode": "x"}}]),
            _into("string", "SecretVolumeSource.spec.volumes.VolumeSource.secret.defaultMode", "int32"),
            id="a struct that Go embeds shows",
        ),
        pytest.param(
            _container(livenessProbe={"httpGet": {"port": True}}),
            _into("bool", "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port", "int32"),
            id="a bool for a number or a text",
        ),
        pytest.param(
            _container(resources={"limits": {"cpu": "abc"}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="no quantity",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "x"}},
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
            id="no time",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "2020-13-01T00:00:00Z"}},
            'parsing time "2020-13-01T00:00:00Z": month out of range',
            id="no such month",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "2020-02-30T00:00:00Z"}},
            'parsing time "2020-02-30T00:00:00Z": day out of range',
            id="no such day",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "2020-02-03T00:00:00"}},
            'parsing time "2020-02-03T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
            id="a time without a zone",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "2020-02-03T00:00:00Z!"}},
            'parsing time "2020-02-03T00:00:00Z!": extra text: "!"',
            id="a time and more",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_gos_words(obj: Object, text: str) -> None:
    with pytest.raises(DecodeError) as refusal:
        _POD(copy.deepcopy(obj))
    assert str(refusal.value) == text


@pytest.mark.parametrize(
    ("value", "place"), [("eA", 0), ("e A=", 1), ("eA=", 3), ("=", 0), ("eHh4é", 4), ("eHh4eA==eA==", 8)]
)
def test_broken_bytes_are_refused_where_go_stops(value: str, place: int) -> None:
    with pytest.raises(DecodeError, match=f"^illegal base64 data at input byte {place}$"):
        resource_named("secrets").behaviour.coerce({"data": {"k": value}})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2020-01-01T00:00:00Z", 'cannot parse "Z" as ".000000"'),
        ("2020-01-01T00:00:00.000000", 'cannot parse "" as "Z07:00"'),
    ],
)
def test_exact_times_need_six_digits(value: str, text: str) -> None:
    with pytest.raises(DecodeError) as refusal:
        resource_named("leases.coordination.k8s.io").behaviour.coerce({"spec": {"renewTime": value}})
    assert str(refusal.value) == f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": {text}'


@pytest.mark.parametrize(("name", "line"), _ACCEPTED, ids=[f"{name}: {line['id']}" for name, line in _ACCEPTED])
def test_what_a_real_server_answers_comes_back_unchanged(name: str, line: Object) -> None:
    obj = copy.deepcopy(line["answer"]["object"])
    assert resource_named(name).behaviour.coerce(obj) == []
    assert obj == line["answer"]["object"]


@given(st.data())
def test_any_body_is_read_once_and_for_all_or_refused(draws: st.DataObject) -> None:
    name, line = draws.draw(st.sampled_from(_ACCEPTED))
    obj = draws.draw(mutated(line["answer"]["object"]))
    try:
        resource_named(name).behaviour.coerce(obj)
    except DecodeError:
        return
    once = copy.deepcopy(obj)
    assert resource_named(name).behaviour.coerce(obj) == []
    assert obj == once
