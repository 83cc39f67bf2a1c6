"""Protobuf bodies become what the same objects are in JSON, or are refused as Kubernetes refuses them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.apiserver.protobuf import ProtobufError, decode, encode
from rayward.local.apiserver.protobuf.body import MAX_BYTES
from tests.apiserver.data import protobuf_pairs, protobuf_refusals


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    result = b""
    while value > 127:
        result += bytes([value & 127 | 128])
        value >>= 7
    return result + bytes([value])


def _body(raw: bytes, api_version: str = "v1", kind: str = "ConfigMap") -> bytes:
    return b"k8s\x00" + _field(1, _field(1, api_version.encode()) + _field(2, kind.encode())) + _field(2, raw)


def _named(raw: bytes = b"") -> bytes:
    return _field(1, _field(1, b"a")) + raw


_PAIRS = [pytest.param(each, id=each["name"]) for each in protobuf_pairs()]
_REFUSALS = [pytest.param(each, id=each["name"]) for each in protobuf_refusals()]


@pytest.mark.parametrize("pair", _PAIRS)
def test_an_object_is_what_go_reads_from_the_same_bytes(pair: dict[str, Any]) -> None:
    assert decode(base64.b64decode(pair["protobuf"])) == pair["json"]


@pytest.mark.parametrize("refusal", _REFUSALS)
def test_a_malformed_body_is_refused_in_kubernetes_words(refusal: dict[str, Any]) -> None:
    with pytest.raises(ProtobufError) as caught:
        decode(base64.b64decode(refusal["body"]))
    error, message = caught.value, refusal["message"]
    if error.kind:
        expected = f'{error.kind} in version "{error.api_version}" cannot be handled as a {refusal["kind"]}: {error}'
        assert message == expected
    else:
        assert message.startswith(f"the object provided is unrecognized (must be of type {refusal['kind']}): {error} (")


@pytest.mark.parametrize(
    ("api_version", "kind"), [("", "ConfigMap"), ("v1", ""), ("", "")], ids=["no version", "no kind", "neither"]
)
def test_what_the_envelope_does_not_say_is_taken_from_the_endpoint(api_version: str, kind: str) -> None:
    decoded = decode(_body(_named(), api_version, kind), "v1", "ConfigMap")
    assert decoded == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def test_an_unknown_kind_is_not_guessed() -> None:
    with pytest.raises(ProtobufError, match='no kind "" is registered for version ""') as caught:
        decode(_body(_named(), "", ""))
    assert (caught.value.kind, caught.value.api_version) == ("", "")


@pytest.mark.parametrize("api_version", ["v1", "apps/v1", "rbac.authorization.k8s.io/v1"])
def test_delete_options_go_by_the_name_of_any_group(api_version: str) -> None:
    raw = _number(1, 7) + _field(4, b"Foreground")
    assert decode(_body(raw, api_version, "DeleteOptions")) == {
        "apiVersion": api_version,
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 7,
        "propagationPolicy": "Foreground",
    }


def test_delete_options_of_a_group_that_is_not_served_are_refused() -> None:
    with pytest.raises(ProtobufError, match=r'"DeleteOptions" is registered for version "example\.com/v1"'):
        decode(_body(b"", "example.com/v1", "DeleteOptions"))


def test_fields_of_a_later_version_are_passed_over() -> None:
    later = _number(100, 1) + _field(101, b"x") + _varint(102 << 3 | 1) + b"12345678" + _varint(103 << 3 | 5) + b"1234"
    group = _varint(104 << 3 | 3) + _number(1, 1) + _varint(104 << 3 | 4)
    assert decode(_body(_named(later + group)))["metadata"] == {"name": "a"}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(_field(2, _field(1, b"k") + _field(2, b"v")), {"data": {"k": "v"}}, id="an entry"),
        pytest.param(_field(2, _field(1, b"k")), {"data": {"k": ""}}, id="an entry without value"),
        pytest.param(_field(2, _field(2, b"v")), {"data": {"": "v"}}, id="an entry without key"),
        pytest.param(_field(3, _field(1, b"k") + _field(2, b"\xff\x00")), {"binaryData": {"k": "/wA="}}, id="bytes"),
        pytest.param(_field(2, _field(1, b"k") + _field(2, b"a\xffb")), {"data": {"k": "a\ufffdb"}}, id="bad text"),
        pytest.param(_number(4, 0), {"immutable": False}, id="an explicit false"),
        pytest.param(_number(4, 1), {"immutable": True}, id="true"),
        pytest.param(b"", {}, id="nothing"),
    ],
)
def test_maps_and_empty_values(raw: bytes, expected: dict[str, Any]) -> None:
    decoded = decode(_body(_named(raw)))
    assert decoded == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **expected}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "1970-01-01T00:00:00Z"), (1700000000, "2023-11-14T22:13:20Z"), (2**64 - 62135596800, "0001-01-01T00:00:00Z")],
    ids=["epoch", "now", "the first"],
)
def test_times(seconds: int, shown: str) -> None:
    metadata = _field(1, b"a") + _field(8, _number(1, seconds))
    assert decode(_body(_field(1, metadata)))["metadata"]["creationTimestamp"] == shown


def test_a_time_outside_the_calendar_is_refused() -> None:
    with pytest.raises(ProtobufError, match="year outside of range"):
        decode(_body(_field(1, _field(8, _number(1, 1 << 62)))))


def test_negative_numbers() -> None:
    raw = _field(1, _field(1, b"a")) + _number(2, 2**64 - 7)
    assert decode(_body(raw, "scheduling.k8s.io/v1", "PriorityClass"))["value"] == -7


def test_json_inside_a_message_must_be_json() -> None:
    with pytest.raises(ProtobufError, match="cannot be read") as caught:
        decode(_body(_named(_field(2, _field(1, b"{bad"))), "apps/v1", "ControllerRevision"))
    assert caught.value.kind == "ControllerRevision"


def test_a_body_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(ProtobufError, match="larger than"):
        decode(_body(b"\x00" * MAX_BYTES))


def test_deep_nesting_is_refused() -> None:
    schema = b""
    for _ in range(5000):
        schema = _field(28, schema)  # JSONSchemaProps.not
    version = _field(1, b"v1") + _field(4, _field(1, schema))
    raw = _field(2, _field(7, version))
    with pytest.raises(ProtobufError, match="nested too deeply"):
        decode(_body(raw, "apiextensions.k8s.io/v1", "CustomResourceDefinition"))


@given(data=st.data())
def test_damaged_bodies_never_do_worse_than_be_refused(data: st.DataObject) -> None:
    pair = data.draw(st.sampled_from(protobuf_pairs()))
    body = bytearray(base64.b64decode(pair["protobuf"]))
    for position, value in data.draw(
        st.lists(st.tuples(st.integers(4, len(body) - 1), st.integers(0, 255)), min_size=1, max_size=4)
    ):
        body[position] = value
    try:
        decoded = decode(bytes(body[: data.draw(st.integers(4, len(body)))]))
    except ProtobufError:
        return
    assert isinstance(decoded, dict)


@given(raw=st.binary(max_size=200))
def test_random_bytes_never_do_worse_than_be_refused(raw: bytes) -> None:
    try:
        kind = decode(_body(raw, "v1", "Pod"))["kind"]
    except ProtobufError as error:
        kind = error.kind
    assert kind == "Pod"


def test_what_is_filled_in_is_never_shared_between_objects() -> None:
    pair = next(p for p in protobuf_pairs() if p["json"]["kind"] == "Job")
    before = decode(base64.b64decode(pair["protobuf"]))
    spoiled = decode(base64.b64decode(pair["protobuf"]))
    _spoil(spoiled)
    assert decode(base64.b64decode(pair["protobuf"])) == before


def _spoil(value: Any) -> None:
    if isinstance(value, dict):
        for child in list(value.values()):
            _spoil(child)
        value["spoiled"] = True
    elif isinstance(value, list):
        for child in value:
            _spoil(child)
        value.append("spoiled")


@pytest.mark.parametrize("pair", _PAIRS)
def test_what_is_written_is_read_as_the_same(pair: dict[str, Any]) -> None:
    assert decode(encode(pair["json"])) == pair["json"]
