"""A refused patch says what to answer."""

from __future__ import annotations

from rayward.kube.machinery.patch import PatchError


def test_a_resource_without_this_patch_type_lists_those_it_has():
    error = PatchError.unsupported(["application/json-patch+json", "application/merge-patch+json"])
    assert (error.code, error.reason) == (415, "UnsupportedMediaType")
    assert error.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json"
    )


def test_the_text_of_the_exception_is_the_message_and_the_detail_says_more():
    error = PatchError.unprocessable("testing value /a failed: test failed")
    assert str(error) == error.message
    assert error.detail == "testing value /a failed: test failed"
    assert PatchError.bad_request("no").detail == "no"
