from __future__ import annotations

import pytest

from rayward.kube.client.lists import ObjectList, decode_list, in_one_go, next_page
from rayward.kube.client.options import ListOptions
from rayward.kube.core.resource import JOBS
from rayward.net.errors import ProtocolError


def test_items_get_back_what_the_list_says_of_them() -> None:
    body = b'{"kind":"JobList","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}]}'
    assert decode_list(body, JOBS) == ObjectList(
        [{"metadata": {"name": "a"}, "apiVersion": "batch/v1", "kind": "Job"}], "7"
    )


def test_a_page_says_what_remains() -> None:
    body = b'{"kind":"JobList","metadata":{"resourceVersion":"7","continue":"x","remainingItemCount":3},"items":[]}'
    assert decode_list(body, JOBS) == ObjectList([], "7", "x", 3)


def test_go_writes_an_empty_list_as_null() -> None:
    assert decode_list(b'{"kind":"JobList","metadata":{},"items":null}', JOBS).items == []


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b'{"kind":"Job"}'], ids=repr)
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_list(body, JOBS)


def test_the_next_page_is_asked_for_without_a_version() -> None:
    options = ListOptions(limit=2, resource_version="5", resource_version_match="Exact", label_selector="a")
    assert next_page(options, "t") == {"limit": 2, "label_selector": "a", "continue_token": "t"}


def test_after_compaction_all_is_asked_for_at_once() -> None:
    assert in_one_go(ListOptions(limit=2, continue_token="t", label_selector="a")) == {
        "limit": 0,
        "label_selector": "a",
    }
