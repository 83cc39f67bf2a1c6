"""Media types."""

from __future__ import annotations

import pytest

from rayward.local.apiserver.media import Accept, Form, accept, essence, only_protobuf
from rayward.local.apiserver.status import ApiError

_KUBECTL = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("", Accept()),
        ("*/*", Accept()),
        ("application/json", Accept()),
        ("application/json, */*", Accept()),
        ("application/vnd.kubernetes.protobuf, */*", Accept()),
        ("application/vnd.kubernetes.protobuf,application/json", Accept()),
        ("application/vnd.kubernetes.protobuf", Accept(protobuf=True)),
        ("application/vnd.kubernetes.protobuf;stream=watch, text/html", Accept(protobuf=True)),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Accept(Form.METADATA, protobuf=True),
        ),
        ("application/yaml", Accept(yaml=True)),
        (_KUBECTL, Accept(Form.TABLE)),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Accept(Form.METADATA)),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Accept(Form.METADATA, listed=True)),
        ("application/json;as=Unknown;g=meta.k8s.io;v=v1,application/json", Accept()),
    ],
)
def test_the_first_form_the_server_can_give(header: str, wanted: Accept) -> None:
    assert accept(header) == wanted


@pytest.mark.parametrize(
    "header",
    [
        "text/html",
        "application/json;as=Table;g=meta.k8s.io;v=v9",
        "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1",
    ],
)
def test_forms_it_cannot_give_are_not_acceptable(header: str) -> None:
    with pytest.raises(ApiError) as caught:
        accept(header)
    assert caught.value.code == 406


@pytest.mark.parametrize(
    ("header", "only"),
    [
        (b"application/vnd.kubernetes.protobuf", True),
        (b"application/vnd.kubernetes.protobuf;stream=watch", True),
        (b"application/vnd.kubernetes.protobuf,application/json", False),
        (b"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", False),
        (b"application/json", False),
    ],
)
def test_who_reads_a_refusal_as_protobuf(header: bytes, only: bool) -> None:
    assert only_protobuf(header) is only


def test_parameters_are_no_part_of_a_type() -> None:
    assert essence("Application/JSON; charset=utf-8") == "application/json"
